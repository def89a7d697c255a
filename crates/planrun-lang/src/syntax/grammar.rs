//! The two parsers that pest makes of the one grammar: `parse` reads plans, `diagnose` explains damaged text.
//!
//! `grammar` is a link to the folder at the top level, so that a package of this crate has the files too.

/// Reads plans: few nodes, damaged text skipped.
pub(super) mod parse {
    #[derive(pest_derive::Parser)]
    #[grammar = "grammar/plan.pest"]
    #[grammar = "grammar/parse.pest"]
    pub struct PlanParser;
}

/// Explains damaged text: every token is a rule that can be missed, nothing is skipped.
pub(super) mod diagnose {
    #[derive(pest_derive::Parser)]
    #[grammar = "grammar/plan.pest"]
    #[grammar = "grammar/diagnose.pest"]
    pub struct PlanParser;
}
