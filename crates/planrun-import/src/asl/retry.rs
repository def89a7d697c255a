//! `Retry` of a task: one entry becomes the `retry` of the step.

use planrun_lang::syntax::ast::ClauseKind;
use planrun_lang::types::Effect;
use planrun_lang::yaml::Node;

use super::machine::State;
use super::task::classes;
use crate::control_flow::retry::Retry;
use crate::draft::Draft;
use crate::tree;

/// Returns the `retry` of a step that calls a tool; `None` if the tool is not retried by default and the state has no
/// `Retry`.
pub fn clause(
    state: &State<'_>,
    namespace: &str,
    tool: &str,
    draft: &mut Draft<'_>,
) -> Option<ClauseKind> {
    let rules = state.items("Retry");
    let Some(rule) = rules.first() else {
        // A task without `Retry` makes one attempt, but in a plan a repeatable call makes three by default.
        let effect = draft
            .signature(namespace, tool)
            .map(|signature| signature.effect);
        let repeats = effect.is_some_and(Effect::repeatable);
        let once = || ClauseKind::Retry(tree::object([("attempts", tree::int(1))]));
        return repeats.then(once);
    };
    for other in rules.iter().skip(1) {
        let what = format!("a further entry of `Retry` of state `{}`", state.name);
        let why = "a step has only one `retry`; the first entry is used";
        draft.lost(other.span, what, why);
    }
    let on = classes(rule).unwrap_or_else(|| {
        let what = format!("`Retry` of state `{}`", state.name);
        let why = "is on `transient` and `tool` in the plan: no other failure can be retried";
        draft.changed(rule.span, what, why);
        vec!["transient".to_owned(), "tool".to_owned()]
    });
    let mut number = |field: &str| number(state, rule, field, draft);
    let retries = number("MaxAttempts").unwrap_or(3.0);
    let mut retry = Retry {
        attempts: whole(retries) + 1,
        delay: number("IntervalSeconds").unwrap_or(1.0) * 1e9,
        factor: number("BackoffRate").unwrap_or(2.0),
        max_delay: number("MaxDelaySeconds").map(|seconds| seconds * 1e9),
        jitter: false,
        on,
    };
    if let Some(node) = rule.get("JitterStrategy") {
        match node.text() {
            Some("FULL") => retry.jitter = true,
            Some("NONE") => {}
            _ => {
                let what = format!("`JitterStrategy` of state `{}`", state.name);
                draft.lost(node.span, what, "is neither `FULL` nor `NONE`");
            }
        }
    }
    Some(retry.clause())
}

/// Returns a number of an entry; `None` if there is none, or if it is not constant, which is reported.
fn number(state: &State<'_>, rule: &Node, field: &str, draft: &mut Draft<'_>) -> Option<f64> {
    let node = rule.get(field)?;
    let number = node.scalar().and_then(|text| text.parse::<f64>().ok());
    let number = number.filter(|number| number.is_finite() && *number >= 0.0);
    if number.is_none() {
        let what = format!("`{field}` of state `{}`", state.name);
        let why = "is not a constant number, so the default is used";
        draft.lost(node.span, what, why);
    }
    number
}

fn whole(number: f64) -> i64 {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "clamped to the range of a retry"
    )]
    let whole = number.clamp(0.0, 1.0e9).round() as i64;
    whole
}
