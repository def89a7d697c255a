//! A run that is based on another run, whose results it copies.

use planrun_core::run::{Copies, Outcome, Program, Until};
use planrun_runs::runs::{Base, Inputs};

use crate::generate::Dice;

/// What a run is based on.
pub struct Fork {
    base: Base,
    /// The step from which everything is done again.
    from: Option<String>,
    repeats_effects: bool,
}

impl Fork {
    /// Returns a fork of a run that has ended.
    pub fn new(outcome: &Outcome, program: &Program, dice: &mut Dice) -> Self {
        let steps: Vec<&str> = Until::steps(program).collect();
        let from = steps.get(dice.below(steps.len() * 2 + 1));
        Self {
            base: Base::new(
                "simulated".to_owned(),
                Inputs::default(),
                outcome,
                &program.plan,
            ),
            from: from.map(|step| (*step).to_owned()),
            repeats_effects: dice.one_in(2),
        }
    }

    /// Returns the results that a run of a plan copies. A patch may have removed the step.
    pub fn copies(&self, program: &Program) -> Copies {
        let from = self.from.as_deref();
        let from = from.filter(|from| Until::steps(program).any(|step| step == *from));
        let (copies, _) = self.base.copies(program, from).expect("a step of the plan");
        Copies {
            repeats_effects: self.repeats_effects,
            ..copies
        }
    }
}
