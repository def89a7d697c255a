//! The tree of plan instances and frames, with queries over it.

use std::ops::{Index, IndexMut};
use std::sync::Arc;

use planrun_lang::builtins::FailureKind;
use planrun_lang::eval::{self, EvalError};
use planrun_lang::graph::BlockGraph;
use planrun_lang::protocol::StepState;
use planrun_lang::sema::expr::CheckedExpr;
use planrun_lang::sema::{Block, BlockId, Call, Node, Place, Step, StepKind, TaskId};
use planrun_lang::types::{ErrorClass, Signature};
use planrun_lang::value::Value;

use super::command::ScopeId;
use super::frame::{
    Ending, Frame, FrameId, NodeRef, Owner, Record, Role, TaskRef, View, WHOLE_RUN,
};
use super::program::Program;
use super::scope::Scope;
use crate::journal::StepError;

/// Maximum nesting of lists and maps in a run.
const MAX_VALUE_DEPTH: usize = 256;

/// All plan instances and frames of a run, by number. A frame is an instance of a block, a scope an instance of a plan.
#[derive(Default)]
pub(super) struct Tree {
    pub scopes: Vec<Scope>,
    pub frames: Vec<Frame>,
    /// Why the run is stalled: no event that its plans name can happen any more.
    pub stalled: Option<Arc<StepError>>,
}

/// The handler that catches the failure of an inner step, so that nothing around it fails.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Catcher {
    /// A `recover` arm.
    Arm,
    /// An `each` that settles its elements, or a race in which another branch may win.
    Others,
}

/// Changes the plan instance of a frame and those that called it, innermost first.
pub(in crate::run) fn each_scope_around(
    tree: &mut Tree,
    frame: FrameId,
    mut change: impl FnMut(&mut Scope),
) {
    let mut inner = Some(tree.frames[frame].scope);
    while let Some(scope) = inner {
        let scope = &mut tree.scopes[scope];
        change(scope);
        inner = scope.outer;
    }
}

impl Index<FrameId> for Tree {
    type Output = Frame;

    fn index(&self, frame: FrameId) -> &Frame {
        &self.frames[frame]
    }
}

impl IndexMut<FrameId> for Tree {
    fn index_mut(&mut self, frame: FrameId) -> &mut Frame {
        &mut self.frames[frame]
    }
}

impl Tree {
    /// Returns the plan of a frame, with its graph.
    pub(super) fn program(&self, frame: FrameId) -> Arc<Program> {
        self.scope(frame).program.clone()
    }

    /// Returns the plan instance that a frame belongs to.
    pub(super) fn scope(&self, frame: FrameId) -> &Scope {
        &self.scopes[self.frames[frame].scope]
    }

    pub(super) fn scope_mut(&mut self, frame: FrameId) -> &mut Scope {
        let scope = self.frames[frame].scope;
        &mut self.scopes[scope]
    }

    /// Returns the numbers of a plan instance and of those that called it, innermost first.
    pub(super) fn scopes_around(&self, scope: ScopeId) -> impl Iterator<Item = ScopeId> {
        std::iter::successors(Some(scope), |scope| self.scopes[*scope].outer)
    }

    pub(super) fn block<'p>(&self, program: &'p Program, frame: FrameId) -> &'p Block {
        program.plan.block(self.frames[frame].block)
    }

    pub(super) fn graph<'p>(&self, program: &'p Program, frame: FrameId) -> &'p BlockGraph {
        &program.graph.blocks[self.frames[frame].block.0 as usize]
    }

    pub(super) fn node<'p>(&self, program: &'p Program, (frame, node): NodeRef) -> &'p Node {
        &self.block(program, frame).nodes[node as usize]
    }

    /// Returns the step of a node; `None` if it is another statement, or a join of the graph.
    pub(super) fn step<'p>(
        &self,
        program: &'p Program,
        (frame, node): NodeRef,
    ) -> Option<&'p Step> {
        self.block(program, frame).nodes.get(node as usize)?.step()
    }

    /// Returns the step of a node that calls a tool.
    pub(super) fn tool_call<'p>(
        &self,
        program: &'p Program,
        at: NodeRef,
    ) -> Option<(&'p Step, &'p Call, &'p Arc<Signature>)> {
        let step = self.step(program, at)?;
        Some((step, step.call()?, step.tool()?))
    }

    /// Returns true if a node calls a tool.
    pub(super) fn is_call(&self, program: &Program, at: NodeRef) -> bool {
        self.tool_call(program, at).is_some()
    }

    /// Returns the path of a node.
    pub(super) fn path(&self, program: &Program, at: NodeRef) -> Arc<str> {
        let frame = &self.frames[at.0];
        if at == WHOLE_RUN {
            return frame.path.clone();
        }
        match &self.node(program, at).name {
            Some(name) => frame.path_of(name),
            None => frame.path.clone(),
        }
    }

    /// As [`Self::path`], for callers without the program of the node.
    pub(super) fn own_path(&self, at: NodeRef) -> Arc<str> {
        self.path(&self.program(at.0), at)
    }

    pub(super) fn state_of(&self, (frame, node): NodeRef) -> StepState {
        self.frames[frame].nodes[node as usize].state
    }

    /// Returns true if a step has begun and not settled. Between two attempts, a call may wait for a slot.
    pub(super) fn is_under_way(&self, at: NodeRef) -> bool {
        let state = self.state_of(at);
        matches!(
            state,
            StepState::Running | StepState::Waiting | StepState::Queued
        )
    }

    pub(super) fn set_state(&mut self, (frame, node): NodeRef, state: StepState) {
        if (frame, node) != WHOLE_RUN {
            self.frames[frame].node(node).state = state;
        }
    }

    /// Returns the state of a step as others see it; for a listener that of its firings.
    pub(super) fn visible_state(&self, at: NodeRef) -> StepState {
        let visible = self.frames[at.0].visible.get(&at.1).copied();
        visible.unwrap_or_else(|| self.state_of(at))
    }

    /// Returns the record of a step, which holds everything but its state.
    pub(super) fn record(&self, (frame, node): NodeRef) -> &Record {
        &self.frames[frame].records[node as usize]
    }

    pub(super) fn record_mut(&mut self, (frame, node): NodeRef) -> &mut Record {
        &mut self.frames[frame].records[node as usize]
    }

    /// Returns the value in the slot of a node.
    pub(super) fn value_of(&self, program: &Program, at: NodeRef) -> Option<Value> {
        let slot = self.node(program, at).slot?;
        self.frames[at.0].slots.get(slot as usize).cloned()
    }

    /// Creates a frame, in which nothing begins yet.
    pub(super) fn open_frame(
        &mut self,
        scope: ScopeId,
        block: BlockId,
        outer: Option<FrameId>,
        owner: Option<Owner>,
        path: Arc<str>,
    ) -> FrameId {
        let program = self.scopes[scope].program.clone();
        let slots = program.plan.block(block).slots;
        let graph = &program.graph.blocks[block.0 as usize];
        let id = self.frames.len();
        self.frames
            .push(Frame::new(scope, block, slots, graph, outer, owner, path));
        if let Some(owner) = owner {
            let auxiliary = matches!(owner.role, Role::Verify | Role::Undo);
            self.frames[id].auxiliary = auxiliary || self.frames[owner.frame].auxiliary;
            let record = self.record_mut((owner.frame, owner.node));
            record.details_mut().frames.push(id);
        }
        id
    }

    /// Creates the frame of a step's body, whose path is derived from that of the step.
    pub(super) fn open_body(
        &mut self,
        program: &Program,
        at: NodeRef,
        body: BlockId,
        role: Role,
        path: impl FnOnce(Arc<str>) -> Arc<str>,
    ) -> FrameId {
        let own = path(self.path(program, at));
        let path = match &program.plan.block(body).label {
            Some(label) => format!("{own}.{label}").into(),
            None => own,
        };
        let owner = Owner::of(at, role);
        let scope = self.frames[at.0].scope;
        self.open_frame(scope, body, Some(at.0), Some(owner), path)
    }

    /// Discards the frame that was created last and in which nothing has begun.
    pub(super) fn discard_frame(&mut self, frame: FrameId) {
        let owner = self.frames[frame].owner;
        self.frames.truncate(frame);
        if let Some(owner) = owner {
            let record = self.record_mut((owner.frame, owner.node));
            record.details_mut().frames.pop();
        }
    }

    /// Returns the frames that have worked for a node, in order.
    pub(super) fn inner_frames(&self, at: NodeRef) -> &[FrameId] {
        let details = self.record(at).details();
        details
            .map(|details| details.frames.as_slice())
            .unwrap_or_default()
    }

    /// Returns the frames that work for a node and have not ended.
    pub(super) fn live_frames(&self, at: NodeRef) -> Vec<FrameId> {
        let frames = self.inner_frames(at).iter().copied();
        frames
            .filter(|frame| self.frames[*frame].is_live())
            .collect()
    }

    /// Returns the steps whose failures are held back.
    pub(super) fn late_failures(&self) -> impl Iterator<Item = NodeRef> {
        let frames = self.frames.iter().enumerate();
        frames.flat_map(|(id, frame)| frame.late.keys().map(move |node| (id, *node)))
    }

    /// Returns true if a frame undoes a step, or works for a step of such a frame.
    pub(super) fn is_within_undo(&self, frame: FrameId) -> bool {
        let mut inner = Some(frame);
        while let Some(frame) = inner {
            let owner = self.frames[frame].owner;
            if owner.is_some_and(|owner| owner.role == Role::Undo) {
                return true;
            }
            inner = owner.map(|owner| owner.frame);
        }
        false
    }

    /// Returns the firing that a frame belongs to, if any.
    pub(super) fn firing_around(&self, frame: FrameId) -> Option<FrameId> {
        let mut inner = Some(frame);
        while let Some(frame) = inner {
            let owner = self.frames[frame].owner?;
            if matches!(owner.role, Role::Firing(_)) {
                return Some(frame);
            }
            inner = Some(owner.frame);
        }
        None
    }

    /// Returns the step that a name refers to in a frame.
    pub(super) fn step_at(&self, frame: FrameId, place: Place) -> Option<NodeRef> {
        let mut home = frame;
        for _ in 0..place.up {
            home = self.frames[home].outer?;
        }
        let owner = &self.frames[home];
        let graph = &self.scopes[owner.scope].program.graph.blocks[owner.block.0 as usize];
        owner.holder(graph, place.slot).map(|node| (home, node))
    }

    /// Returns the task that a statement of a frame names: that of the nearest frame which declares it.
    pub(super) fn task_at(&self, frame: FrameId, task: TaskId) -> TaskRef {
        let block = self.scope(frame).program.plan.task(task).block;
        let mut home = frame;
        while self.frames[home].block != block {
            match self.frames[home].outer {
                Some(outer) => home = outer,
                None => break,
            }
        }
        (home, task)
    }

    /// Returns the path of a task.
    pub(super) fn task_path(&self, (frame, id): TaskRef) -> Arc<str> {
        let plan = &self.scope(frame).program.plan;
        self.frames[frame].path_of(&plan.task(id).name)
    }

    /// Returns the current context of a task.
    pub(super) fn context_of(&self, (frame, id): TaskRef) -> Value {
        let slot = self.scope(frame).program.plan.task(id).slot;
        let context = self.frames[frame].slots.get(slot as usize);
        context.cloned().unwrap_or(Value::Null)
    }

    /// Returns why a plan instance failed.
    pub(super) fn error_of(&self, scope: ScopeId) -> Option<Arc<StepError>> {
        let is_body = |frame: &&Frame| frame.scope == scope && frame.block == BlockId(0);
        let body = self.frames.iter().find(is_body)?;
        match &body.ending {
            Some(Ending::Failed(error)) => Some(error.clone()),
            Some(Ending::Cancelled) => None,
            None => body.first_failure.clone(),
        }
    }

    /// Returns the number of the arm of a step that recovers from a failure of this class.
    pub(super) fn arm_for(
        &self,
        program: &Program,
        at: NodeRef,
        class: &ErrorClass,
    ) -> Option<usize> {
        // A strict run skips arms that only replace a result by a placeholder.
        let strict = self.scope(at.0).policy.strict;
        let step = self.step(program, at)?;
        let takes = |arm| !(strict && program.plan.is_placeholder(arm));
        step.recover
            .iter()
            .position(|arm| arm.catches(class) && takes(arm))
    }

    /// Returns the nearest construct around a step that catches a failure of this class.
    pub(super) fn catcher(&self, at: NodeRef, class: &ErrorClass) -> Option<Catcher> {
        let mut inner = at.0;
        while let Some(owner) = self.frames[inner].owner {
            let program = self.program(owner.frame);
            let outer = (owner.frame, owner.node);
            let step = self.step(&program, outer)?;
            let has_arms = match owner.role {
                Role::Firing(_) | Role::Verify | Role::Undo => return None,
                Role::Branch(_) => return Some(Catcher::Others),
                Role::Element(_) if matches!(&step.kind, StepKind::Each(each) if each.settle) => {
                    return Some(Catcher::Others);
                }
                Role::Body | Role::Element(_) | Role::Round => true,
                // A failure in an arm is not caught by the other arms.
                Role::Recover => false,
            };
            if has_arms && self.arm_for(&program, outer, class).is_some() {
                return Some(Catcher::Arm);
            }
            inner = owner.frame;
        }
        None
    }

    /// Returns the failure that the arm around a frame has caught.
    pub(super) fn caught_around(&self, mut frame: FrameId) -> Option<Arc<StepError>> {
        while let Some(owner) = self.frames[frame].owner {
            if owner.role == Role::Recover {
                let record = self.record((owner.frame, owner.node));
                return record.details()?.error.clone();
            }
            frame = owner.frame;
        }
        None
    }

    /// Evaluates an expression in a frame.
    pub(super) fn evaluate(&self, frame: FrameId, code: &CheckedExpr) -> Result<Value, EvalError> {
        if let Some(constant) = code.constant() {
            return Ok(constant.clone());
        }
        let by_slot = |frame: &Frame, slot: u32| {
            let graph = &self.scopes[frame.scope].program.graph.blocks[frame.block.0 as usize];
            frame.holder(graph, slot)
        };
        let value = eval::evaluate(
            code,
            &View {
                frames: &self.frames,
                frame,
                by_slot: &by_slot,
            },
        )?;
        // Later passes over a value recurse level by level, so its nesting must be bounded.
        if matches!(value, Value::List(_) | Value::Map(_)) && value.deeper_than(MAX_VALUE_DEPTH) {
            let message = format!("the value is nested more than {MAX_VALUE_DEPTH} levels deep");
            return Err(EvalError::plain(message, code.span));
        }
        Ok(value)
    }

    /// Evaluates a condition in a frame.
    pub(super) fn decide(&self, frame: FrameId, code: &CheckedExpr) -> Result<bool, EvalError> {
        match self.evaluate(frame, code)? {
            Value::Bool(truth) => Ok(truth),
            other => {
                let message = format!(
                    "a condition evaluated to {}, which is not a bool",
                    other.preview(80)
                );
                Err(EvalError::new(FailureKind::NoOverload, message, code.span))
            }
        }
    }

    /// Evaluates a bound such as `max`, if there is one: a whole number that is not negative.
    pub(super) fn count(
        &self,
        frame: FrameId,
        code: Option<&CheckedExpr>,
    ) -> Result<Option<usize>, EvalError> {
        let Some(code) = code else { return Ok(None) };
        match self.evaluate(frame, code)? {
            Value::Int(count) if count >= 0 => {
                Ok(Some(usize::try_from(count).unwrap_or(usize::MAX)))
            }
            other => {
                let message = format!(
                    "a bound must be a whole number of at least 0, but this is {}",
                    other.preview(80)
                );
                Err(EvalError::new(FailureKind::NoOverload, message, code.span))
            }
        }
    }
}

/// Returns the number of bodies that run at once, if it is set: at least one.
pub(super) fn width(
    tree: &Tree,
    frame: FrameId,
    code: Option<&CheckedExpr>,
) -> Result<Option<usize>, EvalError> {
    let width = code.map(|code| tree.evaluate(frame, code)).transpose()?;
    if matches!(width, Some(Value::Int(width)) if width < 1) {
        return Ok(Some(1));
    }
    tree.count(frame, code)
}
