//! Generates projects of plans from a seed: tools, and plans that use them correctly or almost correctly.
//!
//! The same seed gives the same text on every machine. A correct plan is well typed by construction: the generator has
//! its own, smaller type system, so that the generator and the checker can be compared with each other.
//!
//! Tests and benchmarks include this module by path, because neither can import from the other.

#![allow(dead_code, reason = "each user of the module needs a different part")]

mod calls;
mod catalog;
mod clauses;
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
#[allow(
    unused_imports,
    reason = "each user of the module needs a different part"
)]
pub use effects::{Effects, TOOLS, effects};
#[allow(
    unused_imports,
    reason = "each user of the module needs a different part"
)]
pub use marks::Limited;
#[allow(
    unused_imports,
    reason = "each user of the module needs a different part"
)]
pub use mutate::mutated;

use catalog::Catalog;
use plan::plan_file;

/// The size of a generated project.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Approximate number of statements of a plan, including those in blocks.
    pub statements: usize,
    /// Number of plans in the file.
    pub plans: usize,
    /// Whether to write the parts that need people or events: gates, forms that ask, tasks, listeners, states of steps.
    pub whole_language: bool,
    /// Whether to write network access, for plans that are not run.
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
    /// A plan of 30 to 60 lines, as a person would write it.
    pub const USUAL: Self = Self {
        statements: 16,
        plans: 1,
        whole_language: false,
        network: false,
    };

    /// A file with this number of plans of the usual size.
    pub const fn many(plans: usize) -> Self {
        Self {
            plans,
            ..Self::USUAL
        }
    }
}

/// A generated project.
#[derive(Clone, Debug)]
pub struct Project {
    /// Paths and texts of the app files.
    pub apps: Vec<(String, String)>,
    /// Paths and texts of the plan files. The first is the main one; it uses the others.
    pub plans: Vec<(String, String)>,
    /// Everything that can be called, except plans.
    pub tools: Vec<Tool>,
    /// The places in the main plan file that a contract constrains.
    pub limited: Vec<Limited>,
}

impl Project {
    /// Returns the text of the main plan file.
    pub fn main(&self) -> &str {
        &self.plans[0].1
    }
}

/// Generates a project without errors.
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
    // Sometimes the main plan calls other plans of its file.
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
