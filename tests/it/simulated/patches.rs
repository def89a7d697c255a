//! Patches of a simulated run: its plan is edited somewhere while no process drives it.

use std::collections::BTreeMap;
use std::sync::Arc;

use planrun_core::journal::ReplayState;
use planrun_core::run::Program;
use planrun_lang::source::SourceFile;
use planrun_lang::value::Value;
use planrun_runs::runs::{PatchText, accepts_patch};

use crate::generate::{Dice, Project};
use crate::generated::project_context::ProjectContext;

/// The indentation of the statements of a plan.
const MARGIN: &str = "    ";

/// Edits the plan of a run. Returns `None` if the new plan has errors, or would change what must not change.
pub fn patched(
    made: &Project,
    program: &Program,
    replay: &ReplayState,
    inputs: &BTreeMap<Arc<str>, Value>,
    dice: &mut Dice,
) -> Option<(Project, Arc<Program>)> {
    let mut edited = made.clone();
    edited.plans[0].1 = edited_text(made.main(), &program.plan.name, dice)?;
    let checked = ProjectContext::of(&edited).check(&edited);
    let mut diagnostics = checked.diagnostics.iter();
    if diagnostics.any(planrun_lang::diag::Diagnostic::is_error) {
        return None;
    }
    let mut plans = checked.plans.into_iter();
    let plan = plans.find(|plan| plan.name == program.plan.name)?;
    let was = SourceFile::new("main.plan", made.main());
    let is = SourceFile::new("main.plan", edited.main());
    let was = PatchText {
        plan: &program.plan,
        source: &was,
    };
    let is = PatchText {
        plan: &plan,
        source: &is,
    };
    accepts_patch(was, is, replay, inputs).ok()?;
    Some((edited, Arc::new(Program::new(plan))))
}

/// Inserts, copies, removes or changes a statement of a plan.
fn edited_text(text: &str, plan: &str, dice: &mut Dice) -> Option<String> {
    let begin = text.find(&format!("plan {plan}("))?;
    let end = begin + text[begin..].find("\n}\n")?;
    let mut lines: Vec<&str> = text[begin..end].lines().collect();
    let starts = |line: &&str| {
        let own = line.strip_prefix(MARGIN);
        own.is_some_and(|own| !own.starts_with([' ', '}', ']', ')']))
    };
    let statements: Vec<usize> = (1..lines.len())
        .filter(|line| starts(&lines[*line]))
        .collect();
    let place = *statements.get(dice.below(statements.len().max(1)))?;
    let name = format!("patched{}", dice.below(1_000));
    let is_one_line = lines.get(place + 1).is_none_or(starts);
    let new = match dice.below(6) {
        0 => format!("{MARGIN}step {name} = wait 1s"),
        1 => format!("{MARGIN}let {name} = {}", dice.below(9)),
        2 => format!("{MARGIN}ensure size(\"{name}\") > 1 else \"no\""),
        3 if is_one_line => {
            lines.remove(place);
            String::new()
        }
        4 => lines
            .remove(place)
            .replace("hello", "patched")
            .replace("red", "new"),
        _ if is_one_line => {
            let (_, call) = lines[place].split_once(" = ")?;
            format!("{MARGIN}step {name} = {call}")
        }
        _ => return None,
    };
    lines.insert(place, &new);
    Some([&text[..begin], &lines.join("\n"), &text[end..]].concat())
}
