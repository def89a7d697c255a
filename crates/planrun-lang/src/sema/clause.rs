//! Checks the clauses of a step: which are applicable, and what they mean.

use super::auxiliary::{check_verify, refused_in_undo};
use super::body::CheckedBody;
use super::checker::PlanChecker;
use super::expr::CheckedExpr;
use super::plan::{After, Clauses, Confirm, StepKind, Until, Verify};
use crate::diag::{Diagnostic, Edit, codes};
use crate::source::Span;
use crate::syntax::ast;
use crate::types::Effect;

/// Returns the steps that a step names in `after`.
pub(super) fn after_steps(checker: &mut PlanChecker<'_>, clauses: &[ast::Clause]) -> Vec<After> {
    let mut after = Vec::new();
    for clause in clauses {
        if let ast::ClauseKind::After(names) = &clause.kind {
            after.extend(names.iter().flat_map(|name| steps_above(checker, name)));
        }
    }
    after
}

/// Returns the steps with this name above in this block; there may be one in each branch of an `if`.
pub(super) fn steps_above(checker: &mut PlanChecker<'_>, name: &ast::Name) -> Vec<After> {
    checker.note_read(&name.text);
    if let Some(nodes) = checker
        .blocks
        .innermost()
        .and_then(|block| block.steps.get(&name.text))
    {
        return nodes
            .iter()
            .map(|node| After {
                node: *node,
                span: name.span,
            })
            .collect();
    }
    // The step that contains this block has already waited for steps of outer blocks.
    if checker
        .blocks
        .outwards()
        .skip(1)
        .any(|block| block.steps.contains_key(&name.text))
    {
        return Vec::new();
    }
    let diagnostic = match super::Scope::lookup(&checker.names, &name.text) {
        super::Lookup::Later(span) => {
            let message = format!("`{}` is defined later", name.text);
            codes::names::USE_BEFORE_DEFINITION
                .at(name.span, message)
                .label(span, "it is defined here")
                .help("move this statement below it: `after` can only name steps above")
        }
        super::Lookup::Found(_) => {
            let message = format!("`{}` is not a step, but `after` names steps", name.text);
            codes::names::UNKNOWN_NAME
                .at(name.span, message)
                .help("name the step to wait for")
        }
        super::Lookup::Namespace | super::Lookup::Missing => unknown_step(checker, name),
    };
    checker.report(diagnostic);
    Vec::new()
}

/// Creates the diagnostic for a name that is not a step.
fn unknown_step(checker: &PlanChecker<'_>, name: &ast::Name) -> Diagnostic {
    let blocks = checker.blocks.outwards();
    let steps = blocks.flat_map(|block| block.steps.keys()).cloned();
    let steps = steps.collect::<Vec<_>>();
    let unknown = super::finding::unknown(
        &codes::names::UNKNOWN_NAME,
        "step",
        &name.text,
        name.span,
        steps.iter().map(|name| &**name),
    );
    if &*name.text != "none" {
        return unknown;
    }
    unknown.help(
        "name the steps to wait for; put steps that wait for nothing above them in `parallel { … }`",
    )
}

/// Returns the word and span of each clause.
pub(super) fn places(clauses: &[ast::Clause]) -> Box<[(&'static str, Span)]> {
    let place = |clause: &ast::Clause| (clause.kind.word(), clause.span);
    clauses.iter().map(place).collect()
}

/// Returns true if a clause is applicable to a step; otherwise reports it.
pub(super) fn check_applicable(
    checker: &mut PlanChecker<'_>,
    step: &ast::Step,
    clause: &ast::Clause,
    subject: Subject,
) -> bool {
    let reason =
        not_applicable(&clause.kind, subject).or_else(|| refused_in_undo(checker, &clause.kind));
    if let Some(reason) = reason {
        refuse_clause(checker, step, clause, subject, reason);
    }
    reason.is_none()
}

/// Returns true if a clause is evaluated after the call, so that it may read the value of the step.
pub(super) fn reads_own_value(clause: &ast::ClauseKind) -> bool {
    match clause {
        ast::ClauseKind::Until { .. }
        | ast::ClauseKind::Verify { .. }
        | ast::ClauseKind::Undo(_) => true,
        ast::ClauseKind::When(_)
        | ast::ClauseKind::After(_)
        | ast::ClauseKind::Recover { .. }
        | ast::ClauseKind::By(_)
        | ast::ClauseKind::Expires(_)
        | ast::ClauseKind::Error
        | ast::ClauseKind::Timeout(_)
        | ast::ClauseKind::Within(_)
        | ast::ClauseKind::Retry(_)
        | ast::ClauseKind::Cache(_)
        | ast::ClauseKind::Confirm { .. } => false,
    }
}

/// Checks a clause that is evaluated before the call.
pub(super) fn check_clause(
    checker: &mut PlanChecker<'_>,
    clause: &ast::Clause,
    body: &CheckedBody,
    outcome: &mut Clauses,
) {
    match &clause.kind {
        // Checked elsewhere, with the step, the form or its value, or refused.
        ast::ClauseKind::When(_)
        | ast::ClauseKind::After(_)
        | ast::ClauseKind::Recover { .. }
        | ast::ClauseKind::Undo(_)
        | ast::ClauseKind::Until { .. }
        | ast::ClauseKind::Verify { .. }
        | ast::ClauseKind::By(_)
        | ast::ClauseKind::Expires(_)
        | ast::ClauseKind::Error => {}
        ast::ClauseKind::Timeout(duration) => {
            outcome.timeout = Some(checker.time_limit(duration, "`timeout`"));
        }
        ast::ClauseKind::Within(duration) => {
            outcome.within = Some(checker.time_limit(duration, "`within`"));
        }
        ast::ClauseKind::Retry(settings) => {
            outcome.retry = Some(checker.settings().retry(settings));
        }
        ast::ClauseKind::Cache(duration) => {
            outcome.cache = Some(checker.time_limit(duration, "`cache`"));
            if !body.does.effect.is_read_only() {
                let message = format!("a call of class `{}` cannot be cached", body.does.effect);
                checker.report(
                    codes::effects::CACHE_WITH_EFFECT
                        .at(clause.span, message)
                        .help("only `pure` and `read` calls may be answered from the cache")
                        .unsafe_fix("remove the clause", vec![Edit::removal(clause.span)]),
                );
            }
        }
        ast::ClauseKind::Confirm { text, by, expires } => {
            let text = checker.text(text, "the question of `confirm`");
            let (by, expires) = role_and_expiry(checker, by.as_deref(), expires.as_deref());
            let span = clause.span;
            outcome.confirm = Some(Box::new(Confirm {
                span,
                text,
                by,
                expires,
            }));
        }
    }
}

/// Checks `until CONDITION every PAUSE`, where the pause has been checked.
pub(super) fn check_until(
    checker: &mut PlanChecker<'_>,
    span: Span,
    condition: &ast::Expr,
    every: CheckedExpr,
    body: &CheckedBody,
) -> Box<Until> {
    let condition = checker.condition(condition);
    let effect = body.does.effect;
    if !effect.is_read_only() {
        let message = format!("`until` repeats the call, but this call is of class `{effect}`");
        checker.report(
            codes::failure::UNTIL_WITH_EFFECT
                .at(span, message)
                .help("start the effect in one step, and poll a read in the next"),
        );
    }
    Box::new(Until { condition, every })
}

/// Checks `verify`.
pub(super) fn check_verify_of(
    checker: &mut PlanChecker<'_>,
    step: &ast::Step,
    clause: &ast::Clause,
    body: &CheckedBody,
) -> Option<Verify> {
    without_value(checker, step, body, |checker| {
        check_verify(checker, clause, body)
    })
}

/// Checks a clause in which the step may have no value, since its answer may have been lost.
fn without_value<T>(
    checker: &mut PlanChecker<'_>,
    step: &ast::Step,
    body: &CheckedBody,
    check: impl FnOnce(&mut PlanChecker<'_>) -> T,
) -> T {
    let optional = checker.seen_type(&step.name.text, body.ty.clone().optional());
    checker.names.retype(&step.name.text, optional, None);
    let outcome = check(checker);
    let own = checker.seen_type(&step.name.text, body.ty.clone());
    checker.names.retype(&step.name.text, own, None);
    outcome
}

/// Checks `by "role"` and `expires d`.
pub(super) fn role_and_expiry(
    checker: &mut PlanChecker<'_>,
    by: Option<&ast::Expr>,
    expires: Option<&ast::Expr>,
) -> (Option<CheckedExpr>, Option<CheckedExpr>) {
    let by = by.map(|by| checker.text(by, "the role in `by`"));
    (
        by,
        expires.map(|expires| checker.time_limit(expires, "`expires`")),
    )
}

fn refuse_clause(
    checker: &mut PlanChecker<'_>,
    step: &ast::Step,
    clause: &ast::Clause,
    subject: Subject,
    reason: &str,
) {
    let word = clause.kind.word();
    let message = format!("`{word}` is not allowed here: {reason}");
    let diagnostic = codes::failure::CLAUSE_NOT_APPLICABLE.at(clause.span, message);
    // A waiting step has one time limit. If it has `within` already, it is unclear which of the two is intended.
    let bounded = step
        .clauses
        .iter()
        .any(|clause| matches!(clause.kind, ast::ClauseKind::Within(_)));
    let expires = matches!(clause.kind, ast::ClauseKind::Expires(_));
    let bounds = expires || matches!(clause.kind, ast::ClauseKind::Timeout(_));
    let waits = matches!(subject, Subject::Form | Subject::Event);
    let renamed = (expires && subject == Subject::Form) || (bounds && waits && !bounded);
    let limits_a_call = matches!(clause.kind, ast::ClauseKind::Timeout(_));
    let place = Span::from(clause.span.start..clause.span.start + Span::at(word.len()).start);
    checker.report(if renamed {
        diagnostic
            .help("write `within`, which limits how long a step waits")
            .fix("write `within`", place, "within")
    } else if limits_a_call && !bounded && subject != Subject::Wait {
        diagnostic
            .help(
                "write `within`, which limits the whole step, or set `timeout` at the calls in it",
            )
            .unsafe_fix("write `within`", vec![Edit::new(place, "within")])
    } else {
        let edit = Edit::removal(clause.span);
        diagnostic
            .help("remove the clause")
            .unsafe_fix("remove the clause", vec![edit])
    });
}

/// Checks the bounds of clauses against each other.
pub(super) fn check_bounds(checker: &mut PlanChecker<'_>, step: &ast::Step, outcome: &Clauses) {
    let clause = |word: &str| {
        step.clauses
            .iter()
            .find(|clause| clause.kind.word() == word)
    };
    if let Some(until) = clause("until")
        && outcome.within.is_none()
    {
        let end = until.span.end as usize;
        let diagnostic = codes::failure::POLL_WITHOUT_END
            .at(until.span, "this poll may never end")
            .help("limit how long to poll: `within 10m`")
            .unsafe_fix(
                "add `within 10m`",
                vec![Edit::new(Span::at(end), " within 10m")],
            );
        checker.report(diagnostic);
    }
    let constant = |code: &Option<CheckedExpr>| match code.as_ref()?.constant()? {
        crate::value::Value::Duration(nanos) => Some(*nanos),
        _ => None,
    };
    if let (Some(timeout), Some(within)) = (constant(&outcome.timeout), constant(&outcome.within))
        && timeout > within
        && let (Some(timeout), Some(within)) = (clause("timeout"), clause("within"))
    {
        let diagnostic = codes::failure::TIMEOUT_OVER_WITHIN
            .at(
                timeout.span,
                "one attempt may take longer than the whole step",
            )
            .label(within.span, "the whole step ends here")
            .help("make `within` longer than `timeout`: it limits all attempts together");
        checker.report(diagnostic);
    }
}

/// Kind of step to which a clause is attached.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Subject {
    Tool(Effect),
    SubPlan,
    /// `ask` or `infer`
    Model,
    /// `do`, `each` or `repeat`
    Block,
    /// `race` or `match`
    Poll,
    /// `wait` for a duration, or until a time
    Wait,
    /// `wait for`
    Event,
    /// `input`
    Form,
    Damaged,
}

impl Subject {
    pub(super) fn of(step: &ast::StepBody, body: &CheckedBody) -> Self {
        match step {
            ast::StepBody::Call(_) => match &body.kind {
                StepKind::Call(call) => match call.target {
                    super::plan::Target::Tool(_) => Self::Tool(body.does.effect),
                    super::plan::Target::Plan(..) => Self::SubPlan,
                },
                _ => Self::Damaged,
            },
            ast::StepBody::Ask(_) | ast::StepBody::Infer { .. } => Self::Model,
            ast::StepBody::Do(_) | ast::StepBody::Each { .. } | ast::StepBody::Repeat { .. } => {
                Self::Block
            }
            ast::StepBody::Race(_) | ast::StepBody::Match { .. } => Self::Poll,
            ast::StepBody::Wait(ast::WaitFor::Condition { .. }) => Self::Event,
            ast::StepBody::Input { .. } => Self::Form,
            ast::StepBody::Wait(_) => Self::Wait,
            ast::StepBody::Error => Self::Damaged,
        }
    }
}

/// Returns why a clause is not applicable to a step; `None` if it is.
fn not_applicable(clause: &ast::ClauseKind, subject: Subject) -> Option<&'static str> {
    use Subject::{Block, Damaged, Event, Form, Model, Poll, SubPlan, Tool, Wait};
    match clause {
        ast::ClauseKind::When(_)
        | ast::ClauseKind::After(_)
        | ast::ClauseKind::Recover { .. }
        | ast::ClauseKind::Error => None,
        ast::ClauseKind::Timeout(_) => match subject {
            Tool(_) | Model | Damaged => None,
            SubPlan | Block | Poll | Wait | Event | Form => {
                Some("it limits one attempt of one call; `within` limits the whole step")
            }
        },
        ast::ClauseKind::Within(_) => match subject {
            Wait => Some("a timer ends by itself"),
            Tool(_) | SubPlan | Model | Block | Poll | Event | Form | Damaged => None,
        },
        ast::ClauseKind::By(_) => match subject {
            Form | Damaged => None,
            Tool(_) | SubPlan | Model | Block | Poll | Wait | Event => Some(
                "it names who fills in an `input`; the approver is named directly after `confirm \"…\"`",
            ),
        },
        ast::ClauseKind::Expires(_) => match subject {
            Damaged => None,
            Form => Some("`within` limits how long a form waits"),
            Tool(_) | SubPlan | Model | Block | Poll | Wait | Event => {
                Some("it limits a question, directly after `confirm \"…\"`; `within` limits a step")
            }
        },
        ast::ClauseKind::Retry(_) => match subject {
            Tool(_) | Model | Damaged => None,
            SubPlan | Block | Poll => Some(
                "only single calls can be retried; put it on the calls inside, in an arm as `do { step one = … retry { … } yield one }`",
            ),
            Wait | Event | Form => Some("there is no call to retry"),
        },
        ast::ClauseKind::Until { .. } | ast::ClauseKind::Cache(_) => match subject {
            Tool(_) | Damaged => None,
            SubPlan | Model | Block | Poll | Wait | Event | Form => {
                Some("it applies only to a single call of a tool")
            }
        },
        ast::ClauseKind::Confirm { .. } => match subject {
            Wait | Event | Form => Some("this step already asks a person, or calls nothing"),
            Tool(_) | SubPlan | Model | Block | Poll | Damaged => None,
        },
        ast::ClauseKind::Verify { .. } | ast::ClauseKind::Undo(_) => match subject {
            Wait | Event | Form => Some("this step calls nothing that could be verified or undone"),
            Tool(_) | SubPlan | Model | Block | Poll | Damaged => None,
        },
    }
}
