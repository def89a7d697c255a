//! The two parsers that pest makes of the one grammar: the quiet one reads plans, the told one explains damaged text.

/// Reads plans: few nodes, damaged text skipped.
pub(super) mod quiet {
    #[derive(pest_derive::Parser)]
    #[grammar = "grammar/plan.pest"]
    #[grammar = "grammar/quiet.pest"]
    pub struct PlanParser;
}

/// Explains damaged text: every token is a rule that can be missed, nothing is skipped.
pub(super) mod told {
    #[derive(pest_derive::Parser)]
    #[grammar = "grammar/plan.pest"]
    #[grammar = "grammar/told.pest"]
    pub struct PlanParser;
}
