//! The two parsers that pest generates from the grammar: `parse` reads plans, `diagnose` explains damaged text.
//!
//! `grammar` is a symbolic link to the folder at the top level, so that a package of this crate includes the files.

/// Reads plans: produces few nodes and skips damaged text.
pub(super) mod parse {
    #[derive(pest_derive::Parser)]
    #[grammar = "grammar/plan.pest"]
    #[grammar = "grammar/parse.pest"]
    pub struct PlanParser;
}

/// Explains damaged text: every token is a rule, so that pest can report it as expected, and nothing is skipped.
pub(super) mod diagnose {
    #[derive(pest_derive::Parser)]
    #[grammar = "grammar/plan.pest"]
    #[grammar = "grammar/diagnose.pest"]
    pub struct PlanParser;
}
