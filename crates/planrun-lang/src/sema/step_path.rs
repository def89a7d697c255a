//! Checks that every step of a run has a path of its own. A path joins the names of steps with dots: `a.b` is the step
//! `b` in the block of `a`, and the steps of its clauses are below `a.undo`, `a.verify` and `a.recover`.

use std::sync::Arc;

use super::checker::PlanChecker;
use super::plan::{Block, BlockId, Call, Clauses, StepKind, Target};
use crate::diag::codes;
use crate::source::Span;
use crate::syntax::ast;

/// Reports names inside a step that its clauses also use.
pub(super) fn refuse_same_paths(
    checker: &mut PlanChecker<'_>,
    step: &ast::Step,
    kind: &StepKind,
    clauses: &Clauses,
) {
    let name = &step.name;
    let place = |word: &str| {
        let mut written = step.clauses.iter();
        written
            .find(|clause| clause.kind.word() == word)
            .map(|clause| clause.span)
    };
    let agent_check = clauses.agent_check.as_ref().map(|_| name.span);
    let used = [
        ("undo", place("undo")),
        ("verify", place("verify").or(agent_check)),
        ("recover", place("recover")),
    ];
    for (word, span) in used {
        let Some(span) = span else { continue };
        let Some((inner, of)) = named(checker, kind, word) else {
            continue;
        };
        let message = format!(
            "`{0}.{word}` is the path of the clause `{word}` of `{0}`, and also of {of} `{word}` inside it",
            name.text
        );
        let mut diagnostic = codes::names::AMBIGUOUS_PATH.at(span, message);
        if let Some(inner) = inner {
            diagnostic = diagnostic.label(inner, "this one has the name of the clause");
        }
        checker.report(diagnostic.help("rename the inner one"));
    }
}

/// Returns the place of a name directly below the path of a step, unless it is in another plan, and what has the name.
fn named(
    checker: &PlanChecker<'_>,
    kind: &StepKind,
    word: &str,
) -> Option<(Option<Span>, &'static str)> {
    let is_named = |name: &Option<Arc<str>>| name.as_deref() == Some(word);
    let in_block = |block: &Block| {
        let mut nodes = block.nodes.iter();
        nodes
            .find(|node| is_named(&node.name))
            .map(|node| node.span)
    };
    match kind {
        StepKind::Do(id) => {
            let block = checker.blocks.all.get(id.0 as usize)?;
            in_block(block).map(|span| (Some(span), "the step"))
        }
        StepKind::Call(Call {
            target: Target::Plan(index, _),
            ..
        }) => {
            let plan = checker.plans.get(*index)?;
            in_block(plan.block(BlockId(0))).map(|_| (None, "the step"))
        }
        StepKind::Race(arms) => {
            let mut arms = arms.iter();
            arms.find(|(name, _)| &**name == word)
                .map(|_| (None, "the branch"))
        }
        StepKind::Call(_)
        | StepKind::Each(_)
        | StepKind::Repeat(_)
        | StepKind::Match { .. }
        | StepKind::Input(_)
        | StepKind::Wait(_)
        | StepKind::Damaged => None,
    }
}
