//! The changes of a step are kept when the step is retried. The calls in it that have completed and changed something
//! are not made again with the same arguments, unless they were undone. The values that these calls have read are kept,
//! too, so that they get the same arguments.

use std::collections::BTreeSet;

use planrun_lang::graph::Edge;
use planrun_lang::protocol::StepState;
use planrun_lang::sema::StepKind;
use planrun_lang::value::Value;

use super::Compensation;
use crate::run::context::Context;
use crate::run::execution::Completed;
use crate::run::frame::{FrameId, NodeRef, Role, Undone};

impl Compensation {
    /// Records that another step has taken over the result or the execution of this one, and is responsible for undoing
    /// it. Steps that held this one need no undo any more if all that they have changed was taken over.
    pub(in crate::run) fn hand_over(&mut self, ctx: &mut Context, at: NodeRef) {
        ctx.tree.record_mut(at).details_mut().handed_over = true;
        self.forget(at);
        let mut frame = at.0;
        while let Some(owner) = ctx.tree[frame].owner {
            let outer = (owner.frame, owner.node);
            let is_part = matches!(
                owner.role,
                Role::Body | Role::Element(_) | Role::Round | Role::Branch(_)
            );
            if !is_part || !ctx.tree[owner.frame].auxiliary || has_kept(ctx, outer) {
                return;
            }
            self.forget(outer);
            frame = owner.frame;
        }
    }
}

/// Which completed steps keep their results.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keeps {
    /// The calls that have changed something, and what calls have read that have, or may have.
    Changes,
    /// All of them.
    Everything,
    /// None, because they were undone.
    Nothing,
}

/// Keeps what a step that is retried has changed.
pub(in crate::run) fn keep_changes(ctx: &mut Context, retried: NodeRef) {
    keep_inside(ctx, retried, Keeps::Changes);
}

/// Keeps what the steps in a frame have changed.
pub(super) fn keep_changes_in(ctx: &mut Context, frame: FrameId) {
    keep_in_frame(ctx, frame, Keeps::Changes);
}

/// Keeps results of the steps in a frame. Returns true if one of them may have changed something.
fn keep_in_frame(ctx: &mut Context, frame: FrameId, keeps: Keeps) -> bool {
    let changed: Vec<u32> = nodes(ctx, frame)
        .filter(|at| keep(ctx, *at, keeps))
        .map(|at| at.1)
        .collect();
    if keeps == Keeps::Changes {
        for node in read_by(ctx, frame, &changed) {
            keep(ctx, (frame, node), Keeps::Everything);
        }
    }
    !changed.is_empty()
}

/// Keeps the result of a step, and results of the steps in it. Returns true if it may have changed something.
fn keep(ctx: &mut Context, at: NodeRef, keeps: Keeps) -> bool {
    let details = ctx.tree.record(at).details();
    let is_undone = details.is_some_and(|own| matches!(own.undone, Some(Undone::Yes)));
    let keeps = if is_undone { Keeps::Nothing } else { keeps };
    let (changes, may_change) = (has_changed(ctx, at), may_have_changed(ctx, at));
    if keeps == Keeps::Nothing {
        ctx.executions.undone(&ctx.tree.own_path(at));
        ctx.tree.record_mut(at).end_execution();
    } else if changes || keeps == Keeps::Everything && has_result(ctx, at) {
        let arguments = details.and_then(|details| details.arguments.clone());
        let program = ctx.tree.program(at.0);
        let result = Completed {
            at,
            arguments: arguments.unwrap_or_else(|| ctx.no_arguments.clone()),
            output: ctx.tree.value_of(&program, at).unwrap_or(Value::Null),
        };
        ctx.executions.completed(ctx.tree.own_path(at), result);
    }
    keep_inside(ctx, at, keeps) || may_change && keeps != Keeps::Nothing
}

/// Keeps results of the steps inside of a step. Returns true if one of them may have changed something.
fn keep_inside(ctx: &mut Context, at: NodeRef, keeps: Keeps) -> bool {
    let (mut has_changed, mut has_later_round_changed) = (false, false);
    for frame in working_frames(ctx, at).into_iter().rev() {
        let is_round = ctx.tree[frame]
            .owner
            .is_some_and(|own| own.role == Role::Round);
        // The values that earlier rounds of a `repeat` have read decide whether there is a later one.
        let is_read = is_round && has_later_round_changed && keeps == Keeps::Changes;
        let keeps = if is_read { Keeps::Everything } else { keeps };
        let changes = keep_in_frame(ctx, frame, keeps);
        has_changed |= changes;
        has_later_round_changed |= changes && is_round;
    }
    has_changed
}

/// Returns the nodes of a frame whose values these nodes have read, directly or through others: in their arguments and
/// guards, and in what was decided above them, without which they would not have begun.
fn read_by(ctx: &Context, frame: FrameId, readers: &[u32]) -> BTreeSet<u32> {
    let program = ctx.tree.program(frame);
    let graph = ctx.tree.graph(&program, frame);
    let last = readers.iter().max().copied().unwrap_or(0);
    let nodes = (0..).zip(&ctx.tree.block(&program, frame).nodes);
    let above = nodes.take_while(|(node, _)| *node < last);
    let decided = above.filter_map(|(node, own)| own.decides().then_some(node));
    let mut open: Vec<u32> = readers.iter().copied().chain(decided).collect();
    let mut found = BTreeSet::new();
    while let Some(vertex) = open.pop() {
        for (source, edge) in graph.dependencies(vertex as usize) {
            let source = u32::try_from(source).unwrap_or(u32::MAX);
            if matches!(edge, Edge::Data | Edge::Guard) && found.insert(source) {
                open.push(source);
            }
        }
    }
    // The vertices behind the nodes only join edges.
    found.retain(|vertex| (*vertex as usize) < graph.nodes);
    found
}

/// Returns true if a call inside of a step may have changed something, and no other step has taken over its result.
fn has_kept(ctx: &Context, outer: NodeRef) -> bool {
    let mut frames = working_frames(ctx, outer);
    while let Some(frame) = frames.pop() {
        for at in nodes(ctx, frame) {
            let details = ctx.tree.record(at).details();
            if may_have_changed(ctx, at) && !details.is_some_and(|details| details.handed_over) {
                return true;
            }
            frames.extend(working_frames(ctx, at));
        }
    }
    false
}

/// Returns true if a step is a call that has completed by itself and has changed something.
pub(super) fn has_changed(ctx: &Context, at: NodeRef) -> bool {
    let program = ctx.tree.program(at.0);
    let call = ctx.tree.tool_call(&program, at);
    call.is_some_and(|(step, ..)| !step.effect.is_read_only())
        && ctx.tree.state_of(at) == StepState::Completed
        && !ctx.tree.record(at).recovered
}

/// Returns true if a step is a call that has, or may have, changed something.
fn may_have_changed(ctx: &Context, at: NodeRef) -> bool {
    has_changed(ctx, at) || ctx.tree.record(at).in_doubt
}

/// Returns true if a step has completed, and would get its result from outside again.
fn has_result(ctx: &Context, at: NodeRef) -> bool {
    let program = ctx.tree.program(at.0);
    let waits = |step: &planrun_lang::sema::Step| {
        matches!(step.kind, StepKind::Input(_) | StepKind::Wait(_))
    };
    let is_outer = ctx.tree.is_call(&program, at) || ctx.tree.step(&program, at).is_some_and(waits);
    is_outer && ctx.tree.state_of(at) == StepState::Completed
}

/// Returns the frames that do the work of a step.
fn working_frames(ctx: &Context, at: NodeRef) -> Vec<FrameId> {
    let works = |frame: &FrameId| {
        let owner = ctx.tree[*frame].owner;
        owner.is_none_or(|owner| !matches!(owner.role, Role::Undo | Role::Verify))
    };
    let frames = ctx.tree.inner_frames(at).iter().copied();
    frames.filter(works).collect()
}

pub(super) fn nodes(ctx: &Context, frame: FrameId) -> impl Iterator<Item = NodeRef> + use<> {
    let count = u32::try_from(ctx.tree[frame].records.len()).unwrap_or(u32::MAX);
    (0..count).map(move |node| (frame, node))
}
