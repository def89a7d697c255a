//! Makes projects of plans from a seed: tools, and plans that use them well, or nearly so.
//!
//! The same seed makes the same text on every machine. A correct plan is well typed by construction: the generator
//! keeps its own, smaller idea of types, so that it and the checker can be held against each other.
//!
//! Included by path from tests and benchmarks, since neither can be seen by the other.

#![allow(dead_code, reason = "each of its users needs another part")]

mod asides;
mod calls;
mod catalog;
mod conditions;
pub mod contracts;
mod dice;
mod effects;
mod expressions;
mod functions;
mod language;
mod marks;
mod mutate;
mod plan;
mod readable;
mod scope;
mod statements;
mod steps;
mod ty;
mod words;

pub use catalog::Tool;
pub use dice::Dice;
#[allow(unused_imports, reason = "each of its users needs another part")]
pub use effects::{Effects, TOOLS, effects};
#[allow(unused_imports, reason = "each of its users needs another part")]
pub use marks::Limited;
#[allow(unused_imports, reason = "each of its users needs another part")]
pub use mutate::mutated;

use catalog::Catalog;
use plan::plan_file;

/// How much to make.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// About how many statements a plan has, those in blocks included.
    pub statements: usize,
    /// How many plans the file has.
    pub plans: usize,
    /// Whether to write what needs people, and what listens: gates, forms that ask, tasks, listeners, states of steps.
    pub whole_language: bool,
    /// Whether to write what reaches into the network, for plans that nobody runs.
    pub network: bool,
}

impl Size {
    /// A plan for a quick check and run.
    pub const SMALL: Self = Self {
        statements: 4,
        plans: 1,
        whole_language: false,
        network: false,
    };
    /// A plan of 30 to 60 lines, as somebody would write it.
    pub const USUAL: Self = Self {
        statements: 16,
        plans: 1,
        whole_language: false,
        network: false,
    };

    /// A file with so many plans of the usual size.
    pub const fn many(plans: usize) -> Self {
        Self {
            plans,
            ..Self::USUAL
        }
    }
}

/// What was made.
#[derive(Clone, Debug)]
pub struct Project {
    /// App files: their paths and texts.
    pub apps: Vec<(String, String)>,
    /// The plan files: their paths and texts. The first is the main one; it uses the others.
    pub plans: Vec<(String, String)>,
    /// Everything that can be called but other plans.
    pub tools: Vec<Tool>,
    /// What contracts limit in the main plan file.
    pub limited: Vec<Limited>,
}

impl Project {
    /// The text of the main plan file.
    pub fn main(&self) -> &str {
        &self.plans[0].1
    }
}

/// A project in which nothing is wrong.
pub fn project(seed: u64, size: Size) -> Project {
    let mut dice = Dice::new(seed);
    let catalog = Catalog::new(&mut dice);
    let mut plans = Vec::new();
    let other = dice.one_in(3).then(|| {
        plan_file(
            &mut dice,
            &catalog,
            &Size {
                statements: 5,
                plans: 1,
                ..size
            },
            false,
            None,
        )
    });
    // Now and then the main plan calls others of its file.
    let in_main = if size.plans == 1 && dice.one_in(3) {
        dice.between(2, 3)
    } else {
        size.plans
    };
    let main = plan_file(
        &mut dice,
        &catalog,
        &Size {
            plans: in_main,
            ..size
        },
        true,
        other.as_ref(),
    );
    plans.push(("main.plan".to_owned(), main.text));
    if let Some(other) = other {
        plans.push(("other.plan".to_owned(), other.text));
    }
    Project {
        apps: catalog.files(),
        plans,
        tools: catalog.tools(),
        limited: main.limited,
    }
}
