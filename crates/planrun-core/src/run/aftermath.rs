//! What comes after the last step of a plan: effects are looked at where it has completed, and taken back where it has
//! failed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use planrun_lang::protocol::StepState;
use planrun_lang::sema::{BlockId, Call, OnFailure, Step, StepKind, Target};
use planrun_lang::types::{ErrorClass, Validation};
use planrun_lang::value::Value;

use super::Program;
use super::doubt::Doubt;
use super::frame::{Ending, FrameId, Owner, Role};
use super::machine::{NodeRef, Run};
use super::outcome::{CheckReport, CheckStatus, Verification};
use super::reached::Reached;
use crate::journal::{EventKind, StepError};

/// What a run keeps for that.
#[derive(Default)]
pub(super) struct Aftermath {
    /// Whether any plan of the run looks at its effects, or takes them back.
    pub matters: bool,
    /// Steps with an `undo` that may have changed something and have not settled.
    pub touched: BTreeSet<NodeRef>,
    /// Those that have settled, in that order.
    pub happened: Vec<NodeRef>,
    /// Calls of which nobody knows whether they happened.
    pub doubts: BTreeMap<NodeRef, Doubt>,
    /// What was found out of steps with a `verify`.
    pub checks: BTreeMap<NodeRef, Check>,
    /// Steps that are taken back and of which somebody is asked what they gave, with the states that they are in.
    pub asked: BTreeMap<NodeRef, StepState>,
    stages: BTreeMap<FrameId, Stage>,
}

impl Aftermath {
    pub(super) fn new(program: &Program) -> Self {
        Self {
            matters: matters(program),
            ..Self::default()
        }
    }
}

/// What a `verify` has found.
#[derive(Clone, Debug)]
pub(super) enum Check {
    Holds,
    Fails(Arc<StepError>),
    /// Nobody could look.
    Inconclusive(Arc<StepError>),
}

impl Check {
    /// Why the effect does not count as being there.
    fn error(&self) -> Option<&Arc<StepError>> {
        match self {
            Self::Holds => None,
            Self::Fails(error) | Self::Inconclusive(error) => Some(error),
        }
    }

    fn status(&self) -> CheckStatus {
        match self {
            Self::Holds => CheckStatus::Verified,
            Self::Fails(_) => CheckStatus::Failed,
            Self::Inconclusive(_) => CheckStatus::Inconclusive,
        }
    }
}

/// How far the end of a plan instance has come.
enum Stage {
    /// So many steps are being looked at.
    Verifying(usize),
    Undoing {
        /// The last one is taken back next.
        left: Vec<NodeRef>,
        current: Option<NodeRef>,
    },
    Over,
}

/// Whether a plan, or one that it calls, says how to look at effects or take them back.
fn matters(program: &Program) -> bool {
    let steps = program
        .plan
        .blocks
        .iter()
        .flat_map(|block| &block.nodes)
        .filter_map(|node| node.step());
    steps
        .map(Step::asides)
        .any(|mut asides| asides.next().is_some())
        || program.plans.iter().any(|called| matters(called))
}

impl Run {
    /// Goes on with what comes after the steps of a plan instance; false where nothing of it is left.
    pub(super) fn has_aftermath(&mut self, frame: FrameId) -> bool {
        if !self.aftermath.matters {
            return false;
        }
        loop {
            match self.aftermath.stages.get_mut(&frame) {
                None => {
                    let stage = self.first_stage(frame);
                    self.aftermath.stages.insert(frame, stage);
                }
                Some(Stage::Verifying(0)) => {
                    if self.is_verified_again() {
                        return true;
                    }
                    self.conclude_verification();
                    self.aftermath.stages.insert(frame, Stage::Over);
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
                        self.take_back(at);
                    }
                    None => {
                        self.aftermath.stages.insert(frame, Stage::Over);
                    }
                },
                Some(Stage::Over) => return false,
            }
        }
    }

    fn first_stage(&mut self, frame: FrameId) -> Stage {
        if self.undoes(frame) {
            return Stage::Undoing {
                left: self.to_take_back(frame),
                current: None,
            };
        }
        if self.frames[frame].owner.is_none() && self.frames[frame].ending.is_none() {
            return Stage::Verifying(self.verify_all());
        }
        Stage::Over
    }

    /// Whether a plan instance that has ended takes back what it did: where it failed, by its policy; where somebody
    /// cancelled the run, unless the effects shall stay.
    fn undoes(&self, frame: FrameId) -> bool {
        match &self.frames[frame].ending {
            Some(Ending::Failed(_)) => {
                self.scopes[self.frames[frame].scope].policy.on_failure != OnFailure::Pause
            }
            Some(Ending::Cancelled) => {
                self.frames[frame].owner.is_none() && self.cancelled_for_good
            }
            None => false,
        }
    }

    /// Looks at every step that says how; tells how many.
    fn verify_all(&mut self) -> usize {
        let mut found = Vec::new();
        for frame in (0..self.frames.len()).filter(|frame| !self.frames[*frame].aside) {
            let program = self.program(frame);
            let verifies = |node: &planrun_lang::sema::Node| {
                node.step()
                    .is_some_and(|step| self.verifies(&program, step))
            };
            let block = self.block(&program, frame);
            let completed =
                |node: usize| self.frames[frame].nodes[node].state == StepState::Completed;
            let own = block
                .nodes
                .iter()
                .enumerate()
                .filter(|(node, content)| verifies(content) && completed(*node));
            found.extend(own.map(|(node, _)| (frame, u32::try_from(node).unwrap_or(u32::MAX))));
        }
        found.retain(|at| !self.aftermath.checks.contains_key(at));
        for at in &found {
            self.open_verify(*at);
        }
        found.len()
    }

    /// Whether a step says how to look at it, and whoever stands in for the tools can.
    pub(super) fn verifies(&self, program: &Program, step: &Step) -> bool {
        let Some(verify) = step.verify() else {
            return false;
        };
        let Some(can_verify) = &self.setup.can_verify else {
            return true;
        };
        let mut called =
            program
                .plan
                .block(verify.body)
                .nodes
                .iter()
                .filter_map(|node| match &node.step()?.kind {
                    StepKind::Call(Call {
                        target: Target::Tool(signature),
                        ..
                    }) => Some(signature),
                    _ => None,
                });
        called.all(|signature| can_verify(signature))
    }

    /// Opens what looks whether a step happened.
    pub(super) fn open_verify(&mut self, at: NodeRef) {
        let program = self.program(at.0);
        if let Some(verify) = self.node(&program, at).step().and_then(Step::verify) {
            self.open_aside(&program, at, verify.body, Role::Verify, Value::Null);
        }
    }

    /// Opens a block beside the flow of the plan, which begins with a value. One that is opened again gets a number:
    /// `x.verify`, `x.verify[1]`.
    pub(super) fn open_aside(
        &mut self,
        program: &Program,
        at: NodeRef,
        body: BlockId,
        role: Role,
        first: Value,
    ) {
        let before = self
            .record(at.0, at.1)
            .details()
            .map(|details| details.frames.clone())
            .unwrap_or_default();
        let same = before.iter().filter(|frame| {
            self.frames[**frame]
                .owner
                .is_some_and(|owner| owner.role == role)
        });
        let (own, word) = (
            self.path(program, at),
            if role == Role::Undo { "undo" } else { "verify" },
        );
        let path = match same.count() {
            0 => format!("{own}.{word}"),
            number => format!("{own}.{word}[{number}]"),
        };
        self.reached(
            at,
            if role == Role::Undo {
                Reached::Undone
            } else {
                Reached::Verified
            },
        );
        let owner = Owner {
            frame: at.0,
            node: at.1,
            role,
        };
        let frame = self.open_frame(
            self.frames[at.0].scope,
            body,
            Some(at.0),
            Some(owner),
            path.into(),
        );
        if let Some(place) = self.frames[frame].slots.first_mut() {
            *place = first;
        }
        self.start_frame(frame);
    }

    /// What looks at a step, or takes it back, has ended.
    pub(super) fn aside_ended(
        &mut self,
        at: NodeRef,
        role: Role,
        frame: FrameId,
        outcome: Result<(), Ending>,
    ) {
        if self.aftermath.doubts.contains_key(&at) {
            return self.doubt_looked_at(at, frame, outcome);
        }
        let Some(body) = self.stage_of(at) else {
            return;
        };
        match self.aftermath.stages.get_mut(&body) {
            Some(Stage::Verifying(open)) => {
                *open = open.saturating_sub(1);
                let check = self.check(at, outcome);
                self.aftermath.checks.insert(at, check);
            }
            Some(Stage::Undoing { .. }) if role == Role::Verify => {
                return self.resolved(at, frame, outcome);
            }
            Some(Stage::Undoing { .. }) => {
                self.taken_back(at, outcome);
                return self.next_to_take_back(at);
            }
            Some(Stage::Over) | None => {}
        }
        self.ended.push(body);
    }

    /// A step has been taken back, or there was nothing to take back: the one before it comes next.
    pub(super) fn next_to_take_back(&mut self, at: NodeRef) {
        let Some(body) = self.stage_of(at) else {
            return;
        };
        if let Some(Stage::Undoing { current, .. }) = self.aftermath.stages.get_mut(&body) {
            *current = None;
        }
        self.ended.push(body);
    }

    /// The plan instance whose end works at a step.
    fn stage_of(&self, at: NodeRef) -> Option<FrameId> {
        let works = |stage: &Stage| match stage {
            Stage::Verifying(_) => true,
            Stage::Undoing { current, .. } => *current == Some(at),
            Stage::Over => false,
        };
        self.aftermath
            .stages
            .iter()
            .find(|(_, stage)| works(stage))
            .map(|(frame, _)| *frame)
    }

    /// Whether what the looks have found is not the end of it: somebody has them made again.
    fn is_verified_again(&self) -> bool {
        let again = |at: &NodeRef| {
            self.setup.retries || self.recording.is_retried_later(&self.own_path(*at))
        };
        self.recording.is_replaying() && self.not_verified().iter().any(again)
    }

    /// The steps that are not as they should be, as far as looks have found.
    fn not_verified(&self) -> Vec<NodeRef> {
        let fails = |(at, check): (&NodeRef, &Check)| check.error().map(|_| *at);
        self.aftermath.checks.iter().filter_map(fails).collect()
    }

    /// Looks again at what was not as it should be.
    pub(super) fn verify_again(&mut self) {
        if matches!(self.aftermath.stages.get(&0), Some(Stage::Verifying(0))) {
            for at in self.not_verified() {
                self.verify_step_again(at);
            }
        }
    }

    fn verify_step_again(&mut self, at: NodeRef) {
        let path = self.own_path(at);
        self.emit(EventKind::StepRetried { path: path.clone() });
        self.aftermath.checks.remove(&at);
        if let Some(Stage::Verifying(open)) = self.aftermath.stages.get_mut(&0) {
            *open += 1;
        }
        self.open_verify(at);
    }

    /// As an earlier process did; false where it was not about a look.
    pub(super) fn verified_again_before(&mut self, path: &str) -> bool {
        let found = self
            .not_verified()
            .into_iter()
            .find(|at| *self.own_path(*at) == *path);
        let Some(at) = found else { return false };
        self.verify_step_again(at);
        true
    }

    /// Ends what is being taken back, and leaves the rest: somebody insists that the run ends.
    pub(super) fn abandon_undo(&mut self) {
        let mut current = Vec::new();
        for stage in self.aftermath.stages.values_mut() {
            if let Stage::Undoing { left, current: at } = stage {
                left.clear();
                current.extend(*at);
            }
        }
        for at in current {
            if self.is_told_what_it_gave(at) {
                self.leave_what_it_gave(at);
                self.next_to_take_back(at);
            }
            for frame in self.live_frames(at) {
                self.end_frame(frame, &Ending::Cancelled);
                if self.frames[frame].unsettled == 0 {
                    self.report_end(frame);
                }
            }
        }
    }

    /// What was found out of the effects of the run.
    pub(super) fn verification(&self) -> Verification {
        let mut checks = Vec::new();
        for (at, check) in &self.aftermath.checks {
            let (path, error) = (
                self.own_path(*at),
                check.error().map(|error| error.to_value()),
            );
            checks.push(CheckReport {
                path,
                status: check.status(),
                tools: self.looked_with(*at),
                error,
            });
        }
        for frame in (0..self.frames.len()).filter(|frame| !self.frames[*frame].aside) {
            let program = self.program(frame);
            for (node, content) in self.block(&program, frame).nodes.iter().enumerate() {
                let at = (frame, u32::try_from(node).unwrap_or(u32::MAX));
                let changes = content
                    .step()
                    .is_some_and(|step| calls_tool(step) && !step.effect.is_read_only());
                if changes
                    && self.state_of(at) == StepState::Completed
                    && !self.aftermath.checks.contains_key(&at)
                {
                    checks.push(CheckReport {
                        path: self.path(&program, at),
                        status: CheckStatus::Unverified,
                        tools: Vec::new(),
                        error: None,
                    });
                }
            }
        }
        Verification::new(checks)
    }

    /// The tools that were called to look at a step.
    fn looked_with(&self, (frame, node): NodeRef) -> Vec<String> {
        let details = self.frames[frame].records[node as usize].details();
        let frames = details
            .map(|details| details.frames.as_slice())
            .unwrap_or_default();
        let looks = frames.iter().filter(|look| {
            self.frames[**look]
                .owner
                .is_some_and(|own| own.role == Role::Verify)
        });
        let mut tools = Vec::new();
        for look in looks {
            let program = self.program(*look);
            for (content, record) in self
                .block(&program, *look)
                .nodes
                .iter()
                .zip(&self.frames[*look].records)
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

    fn check(&self, at: NodeRef, outcome: Result<(), Ending>) -> Check {
        let path = self.own_path(at);
        let broken = |message: String, cause| {
            let error = StepError::new(ErrorClass::Validation(Validation::Verify), message, &path);
            Arc::new(StepError { cause, ..error })
        };
        match outcome {
            Ok(()) => Check::Holds,
            Err(Ending::Failed(error)) if says_no(&error) => Check::Fails(broken(
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

    /// Every step has been looked at: one that is not as it should be fails the run. Nothing is taken back any more.
    fn conclude_verification(&mut self) {
        let failed = self
            .aftermath
            .checks
            .values()
            .find_map(|check| check.error().cloned());
        if let Some(error) = failed {
            self.frames[0].first_failure.get_or_insert(error);
        }
    }
}

fn calls_tool(step: &Step) -> bool {
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

/// Whether a `verify` could look, and what it looks for is not there.
pub(super) fn says_no(error: &StepError) -> bool {
    let looked = error.cause.is_none();
    looked
        && matches!(
            error.class,
            ErrorClass::Validation(Validation::Until | Validation::Ensure)
        )
}
