//! Recorded signs that the plan of a run has ended, although the run has not: what is left follows from that end.

use std::collections::BTreeSet;

use planrun_core::journal::{RecordedStep, ReplayState};
use planrun_lang::diag::render::visible_line;
use planrun_lang::protocol::StepState;
use planrun_lang::sema::{Event, EventKind, Node, Plan, Target};

/// Returns why the plan has ended, as a clause; `None` if it has not.
pub fn reason(plan: &Plan, replay: &ReplayState) -> Option<String> {
    if replay.external_inputs.has_cancel() {
        return Some("the run was cancelled".to_owned());
    }
    if let Some(step) = undone(plan, replay) {
        let step = visible_line(step);
        return Some(format!("the plan has ended, so that `{step}` is undone"));
    }
    let nodes = || plan.body().nodes.iter();
    let name = |node: &Node| visible_line(node.name.as_deref().unwrap_or_default()).into_owned();
    if let Some(step) = nodes().find(|node| is_cancelled(node, replay)) {
        let step = name(step);
        return Some(format!(
            "the plan has ended, so that `{step}` was cancelled"
        ));
    }
    let listener = nodes().find(|node| has_fired_on_end(node, replay))?;
    let listener = name(listener);
    Some(format!(
        "the plan has ended, so that its listener `{listener}` has fired"
    ))
}

/// Returns a step of which an undo has begun, or whose result an undo needs, because the plan of the run has ended. A
/// called plan that has failed is undone by itself.
fn undone<'r>(plan: &Plan, replay: &'r ReplayState) -> Option<&'r str> {
    let plans = plan.with_called();
    let calls = plans.iter().flat_map(|plan| &plan.blocks);
    let calls = calls.flat_map(|block| &block.nodes).filter_map(called_plan);
    let names: BTreeSet<&str> = calls.collect();
    let is_failed_plan = |path: &str| {
        let step = replay.steps.get(path);
        step.is_some_and(|step| {
            let name = step.tool.as_deref();
            name.is_some_and(|name| names.contains(name)) && step.state != StepState::Completed
        })
    };
    let mut undone = replay.steps.iter().filter_map(|(path, step)| {
        let begun = path.split_once(".undo").map(|(step, _)| step);
        begun.or_else(|| is_asked_for_undo(step).then_some(&**path))
    });
    undone.find(|step| {
        let mut outer = step.match_indices(['.', '[']).map(|(end, _)| &step[..end]);
        !outer.any(is_failed_plan)
    })
}

fn is_asked_for_undo(step: &RecordedStep) -> bool {
    step.asked.iter().any(|asked| asked.after_end)
}

/// Returns the name by which a statement calls a plan.
fn called_plan(node: &Node) -> Option<&str> {
    match &node.step()?.call()?.target {
        Target::Plan(_, name) => Some(name),
        Target::Tool(_) => None,
    }
}

fn is_cancelled(node: &Node, replay: &ReplayState) -> bool {
    let recorded = node
        .step()
        .and_then(|_| replay.steps.get(node.name.as_deref()?));
    recorded.is_some_and(|step| step.state == StepState::Cancelled)
}

/// Returns true if a listener that only waits for the end of the plan has fired.
fn has_fired_on_end(node: &Node, replay: &ReplayState) -> bool {
    let Some(listener) = node.listener() else {
        return false;
    };
    let mut awaits_end = true;
    let is_end = |event: &Event| matches!(event.kind, EventKind::Plan(_));
    listener.on.leaves(&mut |event| awaits_end &= is_end(event));
    let firings = format!("{}[", node.name.as_deref().unwrap_or_default());
    awaits_end && replay.steps.keys().any(|path| path.starts_with(&firings))
}
