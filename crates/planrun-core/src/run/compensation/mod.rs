//! Compensation at the end of a plan: effects are verified where it has completed, and undone where it has failed.

mod agents;
pub(super) mod undo;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use planrun_lang::protocol::StepState;
use planrun_lang::sema::{AgentCheck, BlockId, Call, OnFailure, Step, StepKind, Target};
use planrun_lang::types::{ErrorClass, Validation};
use planrun_lang::value::Value;

use self::undo::undone;
use crate::journal::{EventKind, StepError};
use crate::run::agenda::{Inquiry, Next};
use crate::run::context::Context;
use crate::run::frame::{Ending, FrameId, NodeRef, Owner, Role};
use crate::run::outcome::{CheckReport, CheckStatus};
use crate::run::people::People;
use crate::run::program::Program;
use crate::run::reached::Reached;

/// What a run keeps for that.
#[derive(Default)]
pub(in crate::run) struct Compensation {
    /// Whether any plan of the run verifies its effects, or undoes them.
    pub matters: bool,
    /// Steps with an `undo` that may have changed something and have not settled.
    touched: BTreeSet<NodeRef>,
    /// Those that have settled, in that order.
    happened: Vec<NodeRef>,
    /// What was found out of steps that were verified.
    checks: BTreeMap<NodeRef, Check>,
    /// Steps that are undone and of which somebody is asked what they gave, with the states that they are in.
    pub asked: BTreeMap<NodeRef, StepState>,
    stages: BTreeMap<FrameId, Stage>,
    /// Somebody cancelled the run, and what it did shall be undone.
    pub undoes_cancelled: bool,
}

impl Compensation {
    pub(in crate::run) fn new(program: &Program) -> Self {
        Self {
            matters: matters(program),
            ..Self::default()
        }
    }
}

/// What was found out of a step.
#[derive(Clone, Debug)]
pub(in crate::run) enum Check {
    Holds,
    Fails(Arc<StepError>),
    /// Nobody could look, as the plan says that somebody has to.
    Inconclusive(Arc<StepError>),
    /// Its agent could not tell, which is no failure.
    Untold(Arc<StepError>),
}

impl Check {
    /// Why it is not known that the effect is there.
    fn error(&self) -> Option<&Arc<StepError>> {
        match self {
            Self::Holds => None,
            Self::Fails(error) | Self::Inconclusive(error) | Self::Untold(error) => Some(error),
        }
    }

    /// Why the run fails.
    fn failure(&self) -> Option<&Arc<StepError>> {
        match self {
            Self::Holds | Self::Untold(_) => None,
            Self::Fails(error) | Self::Inconclusive(error) => Some(error),
        }
    }

    fn status(&self) -> CheckStatus {
        match self {
            Self::Holds => CheckStatus::Verified,
            Self::Fails(_) => CheckStatus::Failed,
            Self::Inconclusive(_) | Self::Untold(_) => CheckStatus::Inconclusive,
        }
    }
}

/// How far the end of a plan instance has come.
enum Stage {
    /// So many steps are being verified.
    Verifying(usize),
    Undoing {
        /// The last one is undone next.
        left: Vec<NodeRef>,
        current: Option<NodeRef>,
    },
    Over,
}

impl Compensation {
    /// Goes on with what comes after the steps of a plan instance; false where nothing of it is left.
    pub(in crate::run) fn goes_on(&mut self, ctx: &mut Context, frame: FrameId) -> bool {
        if !self.matters {
            return false;
        }
        loop {
            match self.stages.get_mut(&frame) {
                None => {
                    let stage = self.first_stage(ctx, frame);
                    self.stages.insert(frame, stage);
                }
                Some(Stage::Verifying(0)) => {
                    if self.is_verified_again(ctx) {
                        return true;
                    }
                    self.conclude_verification(ctx);
                    self.stages.insert(frame, Stage::Over);
                }
                Some(
                    Stage::Verifying(_)
                    | Stage::Undoing {
                        current: Some(_), ..
                    },
                ) => return true,
                Some(Stage::Undoing { left, current }) => match left.pop() {
                    Some(at) => {
                        *current = Some(at);
                        self.undo_step(ctx, at);
                    }
                    None => {
                        self.stages.insert(frame, Stage::Over);
                    }
                },
                Some(Stage::Over) => return false,
            }
        }
    }

    /// Verifies every step that says how, and has each agent asked about the first of its others; gives the number of looks.
    fn verify_all(&mut self, ctx: &mut Context) -> usize {
        let mut found = steps_to_verify(ctx);
        for (at, asks) in agents::steps_to_ask_about(ctx) {
            match asks {
                Ok(()) => found.push(at),
                Err(error) => self.found(ctx, at, Check::Untold(error)),
            }
        }
        found.retain(|at| !self.checks.contains_key(at));
        for at in &found {
            ctx.then(Inquiry::OpenVerify(*at));
        }
        found.len()
    }

    /// Keeps what was found out of a step, and tells what its agent has said.
    fn found(&mut self, ctx: &mut Context, at: NodeRef, check: Check) {
        let program = ctx.tree.program(at.0);
        let step = ctx.tree.step(&program, at);
        if step.and_then(Step::agent_check).is_some() {
            let said = match check.status() {
                CheckStatus::Verified => Some(true),
                CheckStatus::Failed => Some(false),
                CheckStatus::Inconclusive | CheckStatus::Unverified => None,
            };
            ctx.reached(at, Reached::Asked(said));
        }
        self.checks.insert(at, check);
    }

    fn first_stage(&mut self, ctx: &mut Context, frame: FrameId) -> Stage {
        if self.undoes(ctx, frame) {
            return Stage::Undoing {
                left: self.to_undo(ctx, frame),
                current: None,
            };
        }
        if ctx.tree[frame].owner.is_none() && ctx.tree[frame].ending.is_none() {
            return Stage::Verifying(self.verify_all(ctx));
        }
        Stage::Over
    }

    /// Whether a plan instance that has ended undoes what it did: where it failed, by its policy; where somebody
    /// cancelled the run, unless the effects shall stay.
    fn undoes(&self, ctx: &Context, frame: FrameId) -> bool {
        match &ctx.tree[frame].ending {
            Some(Ending::Failed(_)) => ctx.tree.scope(frame).policy.on_failure != OnFailure::Pause,
            Some(Ending::Cancelled) => ctx.tree[frame].owner.is_none() && self.undoes_cancelled,
            None => false,
        }
    }

    /// What verifies a step, or undoes it, has ended.
    pub(in crate::run) fn aside_ended(
        &mut self,
        ctx: &mut Context,
        at: NodeRef,
        role: Role,
        frame: FrameId,
        outcome: Result<(), Ending>,
    ) {
        let Some(body) = self.stage_of(at) else {
            return;
        };
        match self.stages.get_mut(&body) {
            Some(Stage::Verifying(open)) => {
                *open = open.saturating_sub(1);
                let check = check(ctx, at, frame, outcome);
                self.found(ctx, at, check);
            }
            Some(Stage::Undoing { .. }) if role == Role::Verify => {
                return self.resolved(ctx, at, frame, outcome);
            }
            Some(Stage::Undoing { .. }) => {
                undone(ctx, at, outcome);
                return self.next_to_undo(ctx, at);
            }
            Some(Stage::Over) | None => {}
        }
        ctx.schedule.ended.push(body);
    }

    /// A step has been undone, or there was nothing to undo: the one before it comes next.
    pub(in crate::run) fn next_to_undo(&mut self, ctx: &mut Context, at: NodeRef) {
        let Some(body) = self.stage_of(at) else {
            return;
        };
        if let Some(Stage::Undoing { current, .. }) = self.stages.get_mut(&body) {
            *current = None;
        }
        ctx.schedule.ended.push(body);
    }

    /// The plan instance whose end works at a step.
    fn stage_of(&self, at: NodeRef) -> Option<FrameId> {
        let works = |stage: &Stage| match stage {
            Stage::Verifying(_) => true,
            Stage::Undoing { current, .. } => *current == Some(at),
            Stage::Over => false,
        };
        self.stages
            .iter()
            .find(|(_, stage)| works(stage))
            .map(|(frame, _)| *frame)
    }

    /// Whether what was found is not the end of it: somebody has them made again.
    fn is_verified_again(&self, ctx: &Context) -> bool {
        let again = |at: &NodeRef| {
            ctx.setup.retries
                || ctx
                    .outbox
                    .recording
                    .is_retried_later(&ctx.tree.own_path(*at))
        };
        ctx.outbox.recording.is_replaying() && self.not_verified().iter().any(again)
    }

    /// The steps that are not as they should be, as far as was verified.
    fn not_verified(&self) -> Vec<NodeRef> {
        let fails = |(at, check): (&NodeRef, &Check)| check.failure().map(|_| *at);
        self.checks.iter().filter_map(fails).collect()
    }

    /// Verifies again what was not as it should be.
    pub(in crate::run) fn verify_again(&mut self, ctx: &mut Context) {
        if matches!(self.stages.get(&0), Some(Stage::Verifying(0))) {
            for at in self.not_verified() {
                ctx.then(Inquiry::VerifyAgain(at));
            }
        }
    }

    pub(in crate::run) fn verify_step_again(&mut self, ctx: &mut Context, at: NodeRef) {
        let path = ctx.tree.own_path(at);
        ctx.outbox
            .emit(EventKind::StepRetried { path: path.clone() });
        self.checks.remove(&at);
        if let Some(Stage::Verifying(open)) = self.stages.get_mut(&0) {
            *open += 1;
        }
        open_verify(ctx, at);
    }

    /// As an earlier process did; false where it was not about a look.
    pub(in crate::run) fn verified_again_before(&mut self, ctx: &mut Context, path: &str) -> bool {
        let found = self
            .not_verified()
            .into_iter()
            .find(|at| *ctx.tree.own_path(*at) == *path);
        let Some(at) = found else { return false };
        self.verify_step_again(ctx, at);
        true
    }

    /// Ends what is being undone, and leaves the rest: somebody insists that the run ends.
    pub(in crate::run) fn abandon_undo(&mut self, ctx: &mut Context, people: &mut People) {
        let mut current = Vec::new();
        for stage in self.stages.values_mut() {
            if let Stage::Undoing { left, current: at } = stage {
                left.clear();
                current.extend(*at);
            }
        }
        for at in current {
            if self.asks(at) {
                people.release_hold(ctx, at);
                self.stop_asking(ctx, at);
                self.next_to_undo(ctx, at);
            }
            for frame in ctx.tree.live_frames(at) {
                ctx.end_block(frame, Ending::Cancelled);
                ctx.then(Next::ReportEnd(frame));
            }
        }
    }

    /// What could tell says that a step has happened.
    pub(in crate::run) fn note_verified(&mut self, at: NodeRef) {
        self.checks.insert(at, Check::Holds);
    }

    /// What a call did is another frame's to undo.
    pub(in crate::run) fn forget(&mut self, at: NodeRef) {
        self.happened.retain(|happened| *happened != at);
    }

    /// What was found out of the steps that were verified.
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

    /// Every step has been verified: one that is not as it should be fails the run. Nothing is undone any more.
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

/// Opens what verifies a step.
pub(in crate::run) fn open_verify(ctx: &mut Context, at: NodeRef) {
    let program = ctx.tree.program(at.0);
    let Some(step) = ctx.tree.step(&program, at) else {
        return;
    };
    if let Some(verify) = step.verify() {
        ctx.reached(at, Reached::Verified);
        open_aside(ctx, &program, at, verify.body, Role::Verify, Value::Null);
    } else if let Some(body) = step.agent_check().and_then(AgentCheck::body) {
        let told = agents::told(ctx, at, step);
        open_aside(ctx, &program, at, body, Role::Verify, told);
    }
}

/// The completed steps that say how to verify them.
fn steps_to_verify(ctx: &Context) -> Vec<NodeRef> {
    let mut found = Vec::new();
    for frame in (0..ctx.tree.frames.len()).filter(|frame| !ctx.tree[*frame].aside) {
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

/// What the end of a look means.
fn check(ctx: &mut Context, at: NodeRef, frame: FrameId, outcome: Result<(), Ending>) -> Check {
    let program = ctx.tree.program(at.0);
    let asked = ctx.tree.step(&program, at).and_then(Step::agent_check);
    if let Some(asked) = asked {
        let answer = ctx.tree[frame].values.pop().unwrap_or(Value::Null);
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
        Err(Ending::Failed(error)) if error.says_no() => Check::Fails(broken(
            format!("what `verify` looks for after `{path}` is not there"),
            Some(error),
        )),
        Err(Ending::Failed(error)) => {
            let message = format!(
                "nobody knows whether `{path}` is as it should be: {}",
                error.message
            );
            Check::Inconclusive(broken(message, Some(error)))
        }
        Err(Ending::Cancelled) => {
            Check::Inconclusive(broken(format!("the look at `{path}` was ended"), None))
        }
    }
}

/// The tools that were called to verify a step.
fn verified_with(ctx: &Context, (frame, node): NodeRef) -> Vec<String> {
    let details = ctx.tree.record((frame, node)).details();
    let frames = details
        .map(|details| details.frames.as_slice())
        .unwrap_or_default();
    let looks = frames.iter().filter(|look| {
        ctx.tree[**look]
            .owner
            .is_some_and(|own| own.role == Role::Verify)
    });
    let mut tools = Vec::new();
    for look in looks {
        let program = ctx.tree.program(*look);
        for (content, record) in ctx
            .tree
            .block(&program, *look)
            .nodes
            .iter()
            .zip(&ctx.tree[*look].records)
        {
            let called = content
                .step()
                .filter(|_| record.attempts > 0)
                .and_then(tool);
            tools.extend(called.filter(|called| !tools.contains(called)));
        }
    }
    tools
}

/// Opens a block beside the flow of the plan, which begins with a value. One that is opened again gets a number:
/// `x.verify`, `x.verify[1]`.
pub(in crate::run) fn open_aside(
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

/// Whether a plan, or one that it calls, says how to verify effects or undo them.
fn matters(program: &Program) -> bool {
    let mut steps = program
        .plan
        .blocks
        .iter()
        .flat_map(|block| &block.nodes)
        .filter_map(|node| node.step());
    steps.any(|step| step.asides().next().is_some() || step.agent_check().is_some())
        || program.plans.iter().any(|called| matters(called))
}

pub(in crate::run) fn calls_tool(step: &Step) -> bool {
    matches!(&step.kind, StepKind::Call(call) if matches!(call.target, Target::Tool(_)))
}

/// The dotted name of the tool that a step calls.
fn tool(step: &Step) -> Option<String> {
    match &step.kind {
        StepKind::Call(Call {
            target: Target::Tool(signature),
            ..
        }) => Some(signature.path()),
        _ => None,
    }
}
