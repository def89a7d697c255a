//! Compensation at the end of a plan: effects are verified if it has completed, and undone if it has failed.

mod agents;
mod kept;
mod retry;
pub(super) mod undo;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use planrun_lang::protocol::StepState;
use planrun_lang::sema::{AgentCheck, BlockId, OnFailure, Step};
use planrun_lang::types::{ErrorClass, Validation};
use planrun_lang::value::Value;

pub(super) use self::kept::keep_changes;
pub(super) use self::retry::lasting_undone;
use self::undo::{skip_undo, undone};
use crate::journal::StepError;
use crate::run::agenda::{Inquiry, Next};
use crate::run::context::Context;
use crate::run::frame::{Ending, FrameId, NodeRef, Owner, Role};
use crate::run::outcome::{CheckReport, CheckStatus};
use crate::run::people::People;
use crate::run::program::Program;
use crate::run::reached::Reached;

/// The state of compensation in a run.
#[derive(Default)]
pub(in crate::run) struct Compensation {
    /// Whether any plan of the run verifies or undoes effects.
    pub matters: bool,
    /// Steps with an `undo` that have, or may have, changed something and have not settled.
    touched: BTreeSet<NodeRef>,
    /// Those steps that have settled, in the order in which they settled.
    happened: Vec<NodeRef>,
    /// Results of verification.
    checks: BTreeMap<NodeRef, Check>,
    /// Steps whose value people are asked for, so that they can be undone, with their states before.
    pub asked: BTreeMap<NodeRef, StepState>,
    phases: BTreeMap<FrameId, Phase>,
    /// Whether the run was cancelled and its effects are undone.
    pub undoes_cancelled: bool,
    /// Why nothing is undone any more, although undoing had begun.
    abandoned: Option<&'static str>,
    /// Why nothing is checked, although the plan has completed.
    unchecked: Option<Arc<StepError>>,
}

impl Compensation {
    pub(in crate::run) fn new(program: &Program) -> Self {
        Self {
            matters: matters(program),
            ..Self::default()
        }
    }
}

/// The result of verifying a step.
#[derive(Clone, Debug)]
pub(in crate::run) enum Check {
    Holds,
    Fails(Arc<StepError>),
    /// Verification failed to run, although the plan requires it.
    Inconclusive(Arc<StepError>),
    /// The agent could not decide, which is not a failure.
    Undecided(Arc<StepError>),
}

impl Check {
    /// Returns why the effect is not known to be there.
    fn error(&self) -> Option<&Arc<StepError>> {
        match self {
            Self::Holds => None,
            Self::Fails(error) | Self::Inconclusive(error) | Self::Undecided(error) => Some(error),
        }
    }

    /// Returns why the run fails.
    fn failure(&self) -> Option<&Arc<StepError>> {
        match self {
            Self::Holds | Self::Undecided(_) => None,
            Self::Fails(error) | Self::Inconclusive(error) => Some(error),
        }
    }

    fn status(&self) -> CheckStatus {
        match self {
            Self::Holds => CheckStatus::Verified,
            Self::Fails(_) => CheckStatus::Failed,
            Self::Inconclusive(_) | Self::Undecided(_) => CheckStatus::Inconclusive,
        }
    }
}

/// The phase of compensation in a plan instance.
enum Phase {
    /// Steps that are still being verified.
    Verifying(BTreeSet<NodeRef>),
    Undoing {
        /// Steps that remain to be undone; the last one is next.
        left: Vec<NodeRef>,
        current: Option<NodeRef>,
        /// Whether those are steps whose `undo` has failed before, and the run has ended.
        again: bool,
    },
    Over,
}

impl Compensation {
    /// Continues compensation after the steps of a plan instance have settled. Returns false when nothing is left to
    /// do.
    pub(in crate::run) fn proceed(&mut self, ctx: &mut Context, frame: FrameId) -> bool {
        if !self.matters {
            return false;
        }
        loop {
            match self.phases.get_mut(&frame) {
                None => {
                    let phase = self.first_phase(ctx, frame);
                    self.phases.insert(frame, phase);
                }
                Some(Phase::Verifying(steps)) if steps.is_empty() => {
                    let phase = if ctx.tree[frame].ending.is_some() {
                        // It was cancelled meanwhile, so checks that have failed are not made again.
                        self.checks.retain(|_, check| check.failure().is_none());
                        self.first_phase(ctx, frame)
                    } else {
                        self.conclude_verification(ctx);
                        Phase::Over
                    };
                    self.phases.insert(frame, phase);
                }
                Some(
                    Phase::Verifying(_)
                    | Phase::Undoing {
                        current: Some(_), ..
                    },
                ) => return true,
                Some(Phase::Undoing {
                    left,
                    current,
                    again,
                }) => match (left.pop(), *again) {
                    (Some(at), again) => {
                        *current = Some(at);
                        if again {
                            retry::undo_step_again(ctx, at);
                        } else {
                            self.undo_step(ctx, at);
                        }
                    }
                    (None, true) if self.is_undone_again(ctx) => return true,
                    (None, _) => {
                        self.phases.insert(frame, Phase::Over);
                    }
                },
                Some(Phase::Over) => return false,
            }
        }
    }

    /// Begins the verification of every step that has one, and of the first step of each agent. Returns these steps.
    fn verify_all(&mut self, ctx: &mut Context) -> BTreeSet<NodeRef> {
        let mut found = steps_to_verify(ctx);
        for (at, asks) in agents::steps_to_ask_about(ctx) {
            match asks {
                Ok(()) => found.push(at),
                Err(error) => self.record_check(ctx, at, Check::Undecided(error)),
            }
        }
        found.retain(|at| !self.checks.contains_key(at));
        if let Some(error) = self.unchecked.clone() {
            for at in found {
                let ending = Ending::Failed(error.clone());
                let check = check(ctx, at, None, Err(ending));
                self.record_check(ctx, at, check);
            }
            return BTreeSet::new();
        }
        for at in &found {
            ctx.then(Inquiry::OpenVerify(*at));
        }
        found.into_iter().collect()
    }

    /// Ends the checks that are being made. If none is, none will be, and the run fails with the same failure.
    pub(in crate::run) fn end_checks(&mut self, ctx: &mut Context, ending: &Ending) {
        if let Some(Phase::Verifying(steps)) = self.phases.get(&0) {
            let frames = steps.iter().flat_map(|at| ctx.tree.live_frames(*at));
            let frames: Vec<FrameId> = frames.collect();
            for frame in frames {
                ctx.end_block(frame, ending.clone());
                ctx.then(Next::ReportEnd(frame));
            }
        } else if let Ending::Failed(error) = ending {
            ctx.tree[0].first_failure.get_or_insert(error.clone());
            self.unchecked = Some(error.clone());
        }
    }

    /// Records the result of verifying a step, and reports the answer of its agent as a coverage point.
    fn record_check(&mut self, ctx: &mut Context, at: NodeRef, check: Check) {
        let program = ctx.tree.program(at.0);
        let step = ctx.tree.step(&program, at);
        if step.and_then(Step::agent_check).is_some() {
            let answer = match check.status() {
                CheckStatus::Verified => Some(true),
                CheckStatus::Failed => Some(false),
                CheckStatus::Inconclusive | CheckStatus::Unverified => None,
            };
            ctx.reached(at, Reached::Asked(answer));
        }
        self.checks.insert(at, check);
    }

    fn first_phase(&mut self, ctx: &mut Context, frame: FrameId) -> Phase {
        if self.undoes(ctx, frame) {
            let left = self.to_undo(ctx, frame);
            if let Some(why) = self.abandoned {
                skip_undo(ctx, &left, why);
                return Phase::Over;
            }
            let (current, again) = (None, false);
            return Phase::Undoing {
                left,
                current,
                again,
            };
        }
        if ctx.tree[frame].owner.is_none() && ctx.tree[frame].ending.is_none() {
            return Phase::Verifying(self.verify_all(ctx));
        }
        Phase::Over
    }

    /// Returns true if a plan instance that has ended undoes its effects: after a failure unless its policy pauses,
    /// after a cancellation unless the effects are kept.
    fn undoes(&self, ctx: &Context, frame: FrameId) -> bool {
        match &ctx.tree[frame].ending {
            Some(Ending::Failed(_)) => ctx.tree.scope(frame).policy.on_failure != OnFailure::Pause,
            Some(Ending::Cancelled) => ctx.tree[frame].owner.is_none() && self.undoes_cancelled,
            None => false,
        }
    }

    /// Handles the end of a frame that verifies or undoes a step.
    pub(in crate::run) fn auxiliary_ended(
        &mut self,
        ctx: &mut Context,
        at: NodeRef,
        role: Role,
        frame: FrameId,
        outcome: Result<(), Ending>,
    ) {
        let Some(body) = self.instance_of(at, role) else {
            return;
        };
        match self.phases.get_mut(&body) {
            Some(Phase::Verifying(steps)) => {
                steps.remove(&at);
                let check = check(ctx, at, Some(frame), outcome);
                self.record_check(ctx, at, check);
            }
            Some(Phase::Undoing { .. }) if role == Role::Verify => {
                return self.resolved(ctx, at, frame, outcome);
            }
            Some(Phase::Undoing { .. }) => {
                let outcome = undo::in_effect(ctx, frame, outcome);
                match (self.abandoned, outcome) {
                    (Some(why), Err(Ending::Cancelled)) if retry::has_done_nothing(ctx, frame) => {
                        skip_undo(ctx, &[at], why);
                    }
                    (_, outcome) => undone(ctx, at, outcome),
                }
                retry::end_executions(ctx, frame);
                return self.next_to_undo(ctx, at);
            }
            Some(Phase::Over) | None => {}
        }
        ctx.schedule.ended.push(body);
    }

    /// Continues with the next step to undo, after one was undone or needed no undo.
    pub(in crate::run) fn next_to_undo(&mut self, ctx: &mut Context, at: NodeRef) {
        let Some(body) = self.instance_of(at, Role::Undo) else {
            return;
        };
        if let Some(Phase::Undoing { current, .. }) = self.phases.get_mut(&body) {
            *current = None;
        }
        ctx.schedule.ended.push(body);
    }

    /// Returns the frame of the plan instance whose compensation works on a step. While the run is verified, a firing
    /// may fail, and undo what it has done.
    fn instance_of(&self, at: NodeRef, role: Role) -> Option<FrameId> {
        let works = |phase: &Phase| match phase {
            Phase::Verifying(steps) => role == Role::Verify && steps.contains(&at),
            Phase::Undoing { current, .. } => *current == Some(at),
            Phase::Over => false,
        };
        self.phases
            .iter()
            .find(|(_, phase)| works(phase))
            .map(|(frame, _)| *frame)
    }

    /// Returns true if effects are being undone.
    pub(in crate::run) fn is_undoing(&self) -> bool {
        let mut phases = self.phases.values();
        phases.any(|phase| matches!(phase, Phase::Undoing { .. }))
    }

    /// Ends the undo that is in progress, awaiting only its effects in flight, and skips the remaining ones.
    pub(in crate::run) fn abandon_undo(
        &mut self,
        ctx: &mut Context,
        people: &mut People,
        why: &'static str,
    ) {
        self.abandoned = Some(why);
        let mut current = Vec::new();
        for phase in self.phases.values_mut() {
            if let Phase::Undoing {
                left, current: at, ..
            } = phase
            {
                skip_undo(ctx, left, why);
                left.clear();
                current.extend(*at);
            }
        }
        for at in current {
            if self.asks(at) {
                people.cancel_wait(ctx, at);
                self.stop_asking(ctx, at);
                skip_undo(ctx, &[at], why);
                self.next_to_undo(ctx, at);
            }
            for frame in ctx.tree.live_frames(at) {
                ctx.end_block(frame, Ending::Cancelled);
                ctx.then(Next::ReportEnd(frame));
            }
        }
    }

    /// Records that verification has found the effect of a step.
    pub(in crate::run) fn note_verified(&mut self, at: NodeRef) {
        self.checks.insert(at, Check::Holds);
    }

    /// Removes a step, because its undo is now the responsibility of another frame.
    pub(in crate::run) fn forget(&mut self, at: NodeRef) {
        self.happened.retain(|happened| *happened != at);
    }

    /// Returns the reports of the verified steps.
    pub(in crate::run) fn reports(&self, ctx: &Context) -> BTreeMap<NodeRef, CheckReport> {
        let reports = self.checks.iter().map(|(at, check)| {
            let report = CheckReport {
                path: ctx.tree.own_path(*at),
                status: check.status(),
                tools: verified_with(ctx, *at),
                error: check.error().map(|error| error.to_value()),
            };
            (*at, report)
        });
        reports.collect()
    }

    /// Fails the run if a verification has failed, after all of them have ended. Nothing is undone in that case.
    fn conclude_verification(&mut self, ctx: &mut Context) {
        let failed = self
            .checks
            .values()
            .find_map(|check| check.failure().cloned());
        if let Some(error) = failed {
            ctx.tree[0].first_failure.get_or_insert(error);
        }
    }
}

/// Opens the block that verifies a step.
pub(in crate::run) fn open_verify(ctx: &mut Context, at: NodeRef) {
    let program = ctx.tree.program(at.0);
    let Some(step) = ctx.tree.step(&program, at) else {
        return;
    };
    if let Some(verify) = step.verify() {
        ctx.reached(at, Reached::Verified);
        open_auxiliary(ctx, &program, at, verify.body, Role::Verify, Value::Null);
    } else if let Some(body) = step.agent_check().and_then(AgentCheck::body) {
        let input = agents::agent_input(ctx, at, step);
        open_auxiliary(ctx, &program, at, body, Role::Verify, input);
    }
}

/// Returns the completed steps with a `verify`.
fn steps_to_verify(ctx: &Context) -> Vec<NodeRef> {
    let mut found = Vec::new();
    for frame in (0..ctx.tree.frames.len()).filter(|frame| !ctx.tree[*frame].auxiliary) {
        let program = ctx.tree.program(frame);
        let verifies = |node: &planrun_lang::sema::Node| {
            node.step()
                .is_some_and(|step| ctx.setup.verifies(&program, step))
        };
        let block = ctx.tree.block(&program, frame);
        let completed = |node: usize| ctx.tree[frame].nodes[node].state == StepState::Completed;
        let own = block
            .nodes
            .iter()
            .enumerate()
            .filter(|(node, content)| verifies(content) && completed(*node));
        found.extend(own.map(|(node, _)| (frame, u32::try_from(node).unwrap_or(u32::MAX))));
    }
    found
}

/// Interprets the end of a verification. `frame` is `None` if it never began.
fn check(
    ctx: &mut Context,
    at: NodeRef,
    frame: Option<FrameId>,
    outcome: Result<(), Ending>,
) -> Check {
    let program = ctx.tree.program(at.0);
    let asked = ctx.tree.step(&program, at).and_then(Step::agent_check);
    if let Some(asked) = asked {
        let answer = frame.and_then(|frame| ctx.tree[frame].values.pop());
        let answer = answer.unwrap_or(Value::Null);
        return agents::check(
            &asked.agent,
            &ctx.tree.own_path(at),
            outcome.map(|()| answer),
        );
    }
    let path = ctx.tree.own_path(at);
    let broken = |message: String, cause| {
        let error = StepError::new(ErrorClass::Validation(Validation::Verify), message, &path);
        Arc::new(StepError { cause, ..error })
    };
    match outcome {
        Ok(()) => Check::Holds,
        Err(Ending::Failed(error)) if error.denies_effect() => Check::Fails(broken(
            format!("`verify` did not find the effect of `{path}`"),
            Some(error),
        )),
        Err(Ending::Failed(error)) => {
            let message = format!("`verify` could not check `{path}`: {}", error.message);
            Check::Inconclusive(broken(message, Some(error)))
        }
        Err(Ending::Cancelled) => Check::Inconclusive(broken(
            format!("the verification of `{path}` was cancelled"),
            None,
        )),
    }
}

/// Returns the tools that were called to verify a step.
fn verified_with(ctx: &Context, (frame, node): NodeRef) -> Vec<String> {
    let details = ctx.tree.record((frame, node)).details();
    let frames = details
        .map(|details| details.frames.as_slice())
        .unwrap_or_default();
    let verifications = frames.iter().filter(|frame| {
        ctx.tree[**frame]
            .owner
            .is_some_and(|own| own.role == Role::Verify)
    });
    let mut tools = Vec::new();
    for frame in verifications {
        let program = ctx.tree.program(*frame);
        for (content, record) in ctx
            .tree
            .block(&program, *frame)
            .nodes
            .iter()
            .zip(&ctx.tree[*frame].records)
        {
            let called = content
                .step()
                .filter(|_| record.attempts > 0)
                .and_then(|step| Some(step.tool()?.path()));
            tools.extend(called.filter(|called| !tools.contains(called)));
        }
    }
    tools
}

/// Opens a block outside of the flow of the plan, with a value in its first slot. If it is opened again, its path gets
/// a number: `x.verify`, `x.verify[1]`.
pub(in crate::run) fn open_auxiliary(
    ctx: &mut Context,
    program: &Program,
    at: NodeRef,
    body: BlockId,
    role: Role,
    first: Value,
) {
    let before = ctx
        .tree
        .record(at)
        .details()
        .map(|details| details.frames.clone())
        .unwrap_or_default();
    let same = before.iter().filter(|frame| {
        ctx.tree[**frame]
            .owner
            .is_some_and(|owner| owner.role == role)
    });
    let (own, word) = (
        ctx.tree.path(program, at),
        if role == Role::Undo { "undo" } else { "verify" },
    );
    let path = match same.count() {
        0 => format!("{own}.{word}"),
        number => format!("{own}.{word}[{number}]"),
    };
    let owner = Owner::of(at, role);
    let frame = ctx.tree.open_frame(
        ctx.tree[at.0].scope,
        body,
        Some(at.0),
        Some(owner),
        path.into(),
    );
    if let Some(place) = ctx.tree[frame].slots.first_mut() {
        *place = first;
    }
    ctx.start(frame);
}

/// Returns true if a plan, or one that it calls, verifies or undoes effects.
fn matters(program: &Program) -> bool {
    let mut steps = program
        .plan
        .blocks
        .iter()
        .flat_map(|block| &block.nodes)
        .filter_map(|node| node.step());
    steps.any(|step| step.auxiliary_blocks().next().is_some() || step.agent_check().is_some())
        || program.plans.iter().any(|called| matters(called))
}
