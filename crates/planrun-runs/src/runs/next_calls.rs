//! The calls that a run is certain to make next, unless it fails before. The reasons that make one of them
//! impossible should be known before anything else happens.

use std::ops::ControlFlow;
use std::sync::Arc;

use planrun_core::journal::{APPROVE, InboxCommand, RecordedStep, ReplayState, SubmittedAnswer};
use planrun_core::run::Copies;
use planrun_lang::protocol::StepState;
use planrun_lang::sema::{
    Call, Clauses, Node, NodeKind, OnFailure, OrderClass, Plan, Policy, Step, StepKind, Target,
};
use planrun_lang::types::{Effect, Signature};
use serde_json::Value as Json;

use crate::journal::store::Message;

/// A call that a run is certain to make.
pub(super) struct NextCall<'p> {
    pub call: &'p Call,
    pub tool: &'p Arc<Signature>,
    pub effects_before: EffectsBefore,
}

impl<'p> NextCall<'p> {
    /// Returns the program that a call of `proc.run` starts, if it is known and looked up in the usual search path.
    pub(super) fn program(&self) -> Option<&'p str> {
        let is_run = (&*self.tool.namespace, &*self.tool.name) == ("proc", "run");
        let argv = self.call.argument("argv").filter(|_| is_run)?;
        let sets_path = self.call.argument("env").is_some();
        let program = argv.constant_element(0)?.as_str()?;
        Some(program).filter(|program| program.contains('/') || !sets_path)
    }
}

/// The machines that the calls before a call may change.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) enum EffectsBefore {
    #[default]
    None,
    /// Only other machines.
    Remote,
    /// This machine, too.
    Local,
}

/// How a process resumes a run, which determines the calls that it makes next.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Resumption {
    /// The run is new, or it is to end.
    #[default]
    None,
    /// None of the events that it waits for has occurred yet.
    Waiting,
    /// A message or the time that it waits for has come.
    Woken,
}

impl Resumption {
    /// Returns how a run resumes with these messages and answers.
    pub(super) fn of(
        replay: &ReplayState,
        messages: &[Message],
        answers: &[SubmittedAnswer],
        now: i128,
    ) -> Self {
        let mut steps = replay.steps.values();
        let is_ending = |step: &RecordedStep| {
            use StepState::{Cancelled, Failed, Unknown};
            matches!(step.state, Failed | Cancelled | Unknown)
        };
        let commands = messages.iter();
        let commands = commands.filter_map(|message| InboxCommand::read(&message.text).ok());
        let answers = answers.iter().cloned().map(InboxCommand::Answer);
        let commands: Vec<InboxCommand> = commands.chain(answers).collect();
        if steps.any(is_ending) || commands.iter().any(ends) {
            Self::None
        } else if !commands.is_empty() || replay.wake.is_some_and(|wake| wake <= now) {
            Self::Woken
        } else {
            Self::Waiting
        }
    }
}

/// Returns true if a run may end because of a command: it is cancelled, or something is not approved.
fn ends(command: &InboxCommand) -> bool {
    match command {
        InboxCommand::Cancel(_) => true,
        InboxCommand::Answer(given) => {
            let approves = given.value.get(APPROVE).unwrap_or(&given.value);
            *approves == Json::Bool(false)
        }
        InboxCommand::Signal(_) | InboxCommand::Move(_) => false,
    }
}

/// A walk through the statements of a run, in the order of the page.
pub(super) struct NextCalls<'a> {
    /// The defaults for the policies of plans.
    pub policy: &'a Policy,
    pub replay: Option<&'a ReplayState>,
    pub copies: Option<&'a Copies>,
    pub resumption: Resumption,
    /// Returns true if a tool may change this machine.
    pub is_local: &'a dyn Fn(&Signature) -> bool,
}

/// The part of a walk that lies behind.
#[derive(Default)]
struct Walked<'p> {
    calls: Vec<NextCall<'p>>,
    effects: EffectsBefore,
}

/// How far a step has come.
enum Progress {
    NotBegun,
    /// It waits for a person, a signal or a point in time.
    Waiting,
    /// Its call has been sent.
    Begun,
    Ended,
}

impl Walked<'_> {
    /// Passes a statement that is no step.
    fn statement(&mut self, plan: &Plan, node: &Node) -> ControlFlow<()> {
        match &node.kind {
            NodeKind::Fail(_) => return ControlFlow::Break(()),
            NodeKind::Listener(listener) => {
                let fired = plan.nodes_inside(listener.body).into_iter();
                let mut fired = fired.filter_map(Node::step);
                if fired.any(|step| step.effect > Effect::Read) {
                    self.effects = EffectsBefore::Local;
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

impl NextCalls<'_> {
    /// Returns the calls among these statements of a plan itself and in the blocks and plans that they are certain to
    /// begin, up to the first statement that waits for a person, a signal or a point in time, or that may have effects
    /// but is not certain to begin.
    pub(super) fn of<'p>(
        &self,
        plan: &'p Plan,
        nodes: impl IntoIterator<Item = &'p Node>,
    ) -> Vec<NextCall<'p>> {
        let mut walked = Walked::default();
        // Only where the walk ends, which does not matter.
        let _ = self.plan(plan, nodes, "", &mut walked);
        walked.calls
    }

    fn plan<'p>(
        &self,
        plan: &'p Plan,
        nodes: impl IntoIterator<Item = &'p Node>,
        path: &str,
        walked: &mut Walked<'p>,
    ) -> ControlFlow<()> {
        let on_failure = plan.policy.on_failure.or(self.policy.on_failure);
        if on_failure == Some(OnFailure::Settle) {
            // The run goes on without what fails.
            return ControlFlow::Break(());
        }
        nodes
            .into_iter()
            .try_for_each(|node| self.node(plan, node, path, walked))
    }

    fn node<'p>(
        &self,
        plan: &'p Plan,
        node: &'p Node,
        path: &str,
        walked: &mut Walked<'p>,
    ) -> ControlFlow<()> {
        let Some(step) = node.step() else {
            return walked.statement(plan, node);
        };
        let name = node.name.as_deref().unwrap_or_default();
        let path = match path {
            // Nothing is known of any step.
            _ if self.replay.is_none() && self.copies.is_none() => String::new(),
            "" => name.to_owned(),
            _ => format!("{path}.{name}"),
        };
        let progress = self.progress(&path);
        if matches!(progress, Progress::Ended) {
            return ControlFlow::Continue(());
        }
        let is_certain = node.guard.is_empty() && !self.copes(plan, step);
        match &step.kind {
            _ if matches!(progress, Progress::Waiting) && self.resumption != Resumption::Woken => {
                ControlFlow::Break(())
            }
            StepKind::Call(Call {
                target: Target::Plan(index, _),
                ..
            }) if is_certain => {
                let called = &plan.plans[*index];
                self.plan(called, &called.body().nodes, &path, walked)
            }
            StepKind::Do(block) if is_certain => {
                let mut nodes = plan.block(*block).nodes.iter();
                nodes.try_for_each(|node| self.node(plan, node, &path, walked))
            }
            StepKind::Call(call) if is_certain && !matches!(progress, Progress::Begun) => {
                if let Some(tool) = call.tool() {
                    self.call(call, tool, walked);
                }
                let clauses = step.clauses.as_ref();
                match clauses.and_then(|clauses| clauses.confirm.as_ref()) {
                    Some(_) => ControlFlow::Break(()),
                    None => ControlFlow::Continue(()),
                }
            }
            StepKind::Input(_) | StepKind::Wait(_) if matches!(progress, Progress::Waiting) => {
                ControlFlow::Continue(())
            }
            _ if step.order == OrderClass::Barrier => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }

    fn call<'p>(&self, call: &'p Call, tool: &'p Arc<Signature>, walked: &mut Walked<'p>) {
        walked.calls.push(NextCall {
            call,
            tool,
            effects_before: walked.effects,
        });
        if call.effect > Effect::Read {
            walked.effects = match walked.effects {
                EffectsBefore::Local => EffectsBefore::Local,
                _ if (self.is_local)(tool) => EffectsBefore::Local,
                _ => EffectsBefore::Remote,
            };
        }
    }

    /// Returns true if the plan provides for a failure of a step, so that it can go on if the step cannot be called now.
    fn copes(&self, plan: &Plan, step: &Step) -> bool {
        let repeats = [&plan.policy, self.policy]
            .iter()
            .any(|policy| policy.retry.attempts.is_some());
        let clauses = step.clauses.as_deref();
        let own = |clauses: &Clauses| clauses.retry.is_some() || clauses.until.is_some();
        repeats || !step.recover.is_empty() || clauses.is_some_and(own)
    }

    fn progress(&self, path: &str) -> Progress {
        if self
            .copies
            .is_some_and(|copies| copies.results.contains_key(path))
        {
            return Progress::Ended;
        }
        match self.replay.and_then(|replay| replay.steps.get(path)) {
            Some(step) if step.state.is_settled() => Progress::Ended,
            Some(step) if step.attempts > 0 => Progress::Begun,
            Some(step) if step.state == StepState::Waiting => Progress::Waiting,
            Some(_) | None => Progress::NotBegun,
        }
    }
}
