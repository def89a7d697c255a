//! The dispatcher: it alone owns the state of a run. Everything else answers by message.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::aftermath::{self, Aftermath};
use super::budget::Spent;
use super::clock;
use super::compound::Compound;
use super::conversation::Message;
use super::event::{Reactions, reacts};
use super::frame::{Ending, Frame, FrameId, Microseconds, View};
use super::leaf::Leaf;
use super::observer::Reached;
use super::order::Draw;
use super::outcome::{Interruption, Outcome, Usage};
use super::park::Parking;
use super::people::People;
use super::recording::Recording;
use super::scope::Scope;
use super::{Context, Program};
use crate::eval::{self, EvalError};
use crate::graph::BlockGraph;
use crate::journal::{EventKind, StepError};
use crate::protocol::{RunState, StepState};
use crate::secrets::Redactor;
use crate::sema::expr::Code;
use crate::sema::{Block, BlockId, Node, NodeId};
use crate::types::ErrorClass;
use crate::value::Value;

/// How many ready nodes are taken before timers, answers and the stop are looked at.
pub(super) const BATCH: usize = 256;

/// How deep lists and maps of a run may be nested.
const MAX_VALUE_DEPTH: usize = 256;

/// A node of a frame.
pub(super) type NodeRef = (FrameId, u32);

/// The state of a run.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an independent fact of the run"
)]
pub(super) struct Dispatcher<'a> {
    pub context: Context<'a>,
    pub scopes: Vec<Scope>,
    pub frames: Vec<Frame>,
    /// Nodes that may run, or be skipped, in source order.
    pub ready: BinaryHeap<Reverse<NodeRef>>,
    /// Frames in which everything has settled.
    pub ended: Vec<FrameId>,
    /// Calls that wait for a slot, in source order.
    pub queued: BTreeSet<NodeRef>,
    /// Calls that were told of a free slot and have not come to take it.
    pub woken: BTreeSet<NodeRef>,
    /// Calls that have begun and not settled.
    pub leaves: BTreeMap<NodeRef, Leaf>,
    /// Steps that hold others and have begun.
    pub compounds: BTreeMap<NodeRef, Compound>,
    /// Calls that are ready to go out and wait until that is on disk, in the order in which they became ready.
    pub held: VecDeque<NodeRef>,
    /// Steps whose time is bounded, by their paths.
    pub within: BTreeMap<NodeRef, Within>,
    pub recording: Recording,
    /// What must not be shown.
    pub redactor: Redactor,
    pub reactions: Reactions,
    pub aftermath: Aftermath,
    pub parking: Parking,
    /// What people are asked, and what waits for a moment.
    pub people: People,
    pub timers: BinaryHeap<Reverse<(Instant, u64, Timer)>>,
    /// What calls without arguments share.
    pub no_arguments: Value,
    /// The token of an attempt that answered at once: nobody has kept it, so it serves the next one.
    pub spare_token: Option<CancellationToken>,
    pub sender: mpsc::UnboundedSender<Message>,
    pub inbox: mpsc::UnboundedReceiver<Message>,
    pub draw: Draw,
    /// Attempts that look at a step, or take it back.
    pub exempt_calls: u64,
    numbers: u64,
    pub begun: Instant,
    begun_at: i128,
    pub stopped: bool,
    /// Somebody cancelled the run, and what it did shall be taken back.
    pub cancelled_for_good: bool,
    /// Why the process ends before the run does.
    pub interruption: Option<Interruption>,
    finished: bool,
    /// Somebody wants to know what is reached.
    watched: bool,
}

/// A step whose time is bounded.
pub(super) struct Within {
    pub path: Arc<str>,
    /// When its time is over, since the run began.
    pub until: Microseconds,
}

/// What a timer is for. The number tells a timer of an earlier phase from one that counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Timer {
    /// The wait before the next attempt or poll is over.
    Again(NodeRef, u64),
    /// `within` is over.
    Within(NodeRef),
    /// The deadline of a plan, which knows of so much time that everything waited for people.
    Deadline(Duration),
    /// What a step waits for has not come in time, or is the time itself.
    Hold(NodeRef, u64),
}

impl<'a> Dispatcher<'a> {
    pub(super) fn new(mut context: Context<'a>) -> Self {
        // As many messages as attempts in flight can be under way, and `concurrency` bounds those.
        let (sender, inbox) = mpsc::unbounded_channel();
        let now = context.host.now();
        let past = context.past.take();
        let begun_at = past.as_ref().map_or(now, |past| past.begun_at);
        let people = People::new(std::mem::take(&mut context.answering));
        let draw = Draw::new(context.order);
        let recording = Recording::new(context.log.take(), past, now);
        let watched = context.observer.watches();
        Self {
            context,
            scopes: Vec::new(),
            frames: Vec::new(),
            ready: BinaryHeap::new(),
            ended: Vec::new(),
            queued: BTreeSet::new(),
            woken: BTreeSet::new(),
            leaves: BTreeMap::new(),
            compounds: BTreeMap::new(),
            held: VecDeque::new(),
            within: BTreeMap::new(),
            recording,
            redactor: Redactor::default(),
            reactions: Reactions {
                mail: true,
                ..Reactions::default()
            },
            aftermath: Aftermath::default(),
            parking: Parking::default(),
            people,
            timers: BinaryHeap::new(),
            no_arguments: Value::Map(Arc::default()),
            spare_token: None,
            sender,
            inbox,
            draw,
            exempt_calls: 0,
            numbers: 0,
            begun: clock::now(),
            begun_at,
            stopped: false,
            cancelled_for_good: false,
            interruption: None,
            finished: false,
            watched,
        }
    }

    pub(super) async fn run(
        mut self,
        program: &Arc<Program>,
        inputs: &BTreeMap<Arc<str>, Value>,
    ) -> Outcome {
        // Who lives through a journal does all that follows from one answer before it takes the next, and so does who writes it.
        let relived = self.recording.is_durable() || self.recording.is_replaying();
        self.reactions.in_order = relived || reacts(program);
        self.aftermath.matters = aftermath::matters(program);
        self.begin(program, inputs);
        while !self.finished {
            self.work();
            if self.finished {
                break;
            }
            if self.has_work() {
                self.listen_without_waiting();
                tokio::task::yield_now().await;
                continue;
            }
            if self.catch_up() || self.take_message() {
                continue;
            }
            self.recording.flush();
            self.send_held();
            if !self.has_work() && !self.finished {
                self.turn_to_people();
            }
            if !self.has_work() && !self.finished && self.until_is_reached() && !self.is_let_go() {
                self.let_go(Interruption::Reached);
            }
            if !self.has_work() && !self.finished {
                self.sleep().await;
            }
        }
        self.conclude().await
    }

    /// Whether anything can be done without news from outside.
    pub(super) fn has_work(&self) -> bool {
        !self.ready.is_empty() || !self.ended.is_empty() || !self.reactions.due.is_empty()
    }

    /// Goes on with what an earlier process of the run has lived through; false where there is nothing of it left.
    fn catch_up(&mut self) -> bool {
        if !self.recording.is_replaying() {
            return false;
        }
        if self.replay() {
            return true;
        }
        if self.context.only_looks {
            self.let_go(Interruption::Asked);
        } else {
            self.take_up_lost();
            if self.context.retries {
                self.retry_failed();
                self.verify_again();
            }
        }
        true
    }

    /// Nothing can be done: waits until something happens outside.
    async fn sleep(&mut self) {
        if let Some(failed) = self.failed_and_quiet() {
            return self.let_go(failed);
        }
        let wake = self
            .timers
            .peek()
            .map(|Reverse((at, ..))| *at)
            .filter(|_| !self.is_let_go());
        let idle = (wake.is_none() && self.leaves.is_empty()) || !self.moves_by_itself();
        if idle && !self.people.holds_any() {
            return self.stuck();
        }
        if let Some(rest) = self.rest() {
            return self.let_go(rest);
        }
        if let Some(message) = self.answer_left() {
            return self.receive(message);
        }
        self.people.note_wait(self.only_others_are_awaited());
        self.context.observer.idle();
        let cancel = self.context.cancel.clone();
        tokio::select! {
            biased;
            () = cancel.cancelled(), if !self.stopped => self.interrupt(),
            message = self.inbox.recv() => {
                if let Some(message) = message.and_then(|message| self.keep_for_draw(message)) {
                    self.receive(message);
                }
                if !self.reactions.in_order {
                    self.listen_without_waiting();
                }
            }
            () = self.recording.changed() => self.look_at_journal(),
            answer = self.people.heard() => self.hear(answer),
            () = clock::sleep_until(wake), if wake.is_some() => self.fire(),
        }
        self.people.note_wait(false);
    }

    /// Takes what is there: answers, due timers, the stop.
    fn listen_without_waiting(&mut self) {
        if !self.reactions.in_order {
            while let Some(message) = self.next_answer() {
                self.receive(message);
            }
            if !self.recording.is_replaying() {
                self.fire();
            }
        }
        if self.context.cancel.is_cancelled() && !self.stopped {
            self.interrupt();
        }
    }

    fn begin(&mut self, program: &Arc<Program>, inputs: &BTreeMap<Arc<str>, Value>) {
        let refused = self.open_scope(program, None).err();
        let steps = program
            .plan
            .body()
            .nodes
            .iter()
            .filter(|node| node.step().is_some())
            .count();
        let run = self.context.run_id.clone();
        if self.recording.is_replaying() {
            self.emit(EventKind::RunResumed);
        }
        self.emit(EventKind::RunStarted {
            run: &run,
            plan: &program.plan.name,
            steps,
        });
        self.summarize(RunState::Running, None, None);
        if let Some(deadline) = self.scopes[0].policy.deadline {
            self.set_deadline(deadline);
        }
        let root = self.open_frame(0, BlockId(0), None, None, "".into());
        let missing = refused.or_else(|| self.bind_inputs(root, inputs));
        self.start_frame(root);
        if let Some(error) = missing {
            self.end_frame(root, &Ending::Failed(Arc::new(error)));
        }
    }

    /// Works until nothing is ready, or a batch is done.
    fn work(&mut self) {
        for _ in 0..self.in_a_row() {
            if self.wake_due() {
                continue;
            }
            if let Some(frame) = self.ended.pop() {
                self.frame_ended(frame);
            } else if let Some((frame, node)) = self.next_ready() {
                self.process(frame, node);
            } else {
                return;
            }
        }
    }

    /// Tells whoever wants to know what a statement has come to. What looks at a step, and what takes it back, is told
    /// of as a whole.
    pub(super) fn reached(&mut self, (frame, node): NodeRef, what: Reached<'_>) {
        if self.watched {
            self.tell_reached((frame, node), what);
        }
    }

    fn tell_reached(&mut self, (frame, node): NodeRef, what: Reached<'_>) {
        if self.frames[frame].aside {
            return;
        }
        let (program, block) = (self.program(frame), self.frames[frame].block);
        self.context
            .observer
            .reached(&program.plan, block, NodeId(node), what);
    }

    /// Calls due timers.
    fn fire(&mut self) {
        if self.is_let_go() {
            return;
        }
        let now = clock::now();
        while let Some(timer) = self.next_due(now) {
            match timer {
                Timer::Again(node, number) => self.again(node, number),
                Timer::Within(node) => self.within_is_over(node),
                Timer::Deadline(known) => self.deadline_has_come(known),
                Timer::Hold(node, number) => self.hold_is_over(node, number),
            }
            if self.reactions.in_order {
                return;
            }
        }
    }

    pub(super) fn after(&mut self, wait: Duration, timer: Timer) {
        // What began before this process did has waited already.
        let waited = Duration::from_micros(self.real_elapsed().saturating_sub(self.elapsed()));
        self.set_timer(wait.saturating_sub(waited), timer);
    }

    /// As the other, though it may have begun before this process did.
    pub(super) fn set_timer(&mut self, wait: Duration, timer: Timer) {
        let number = self.number();
        self.timers
            .push(Reverse((clock::after(wait), number, timer)));
    }

    /// A number that no other phase of a step has.
    pub(super) fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// Ends the run for a reason that no step may recover from.
    pub(super) fn fatal(&mut self, class: ErrorClass, message: &str) {
        let error = StepError::new(class, message, &"".into());
        self.end_frame(0, &Ending::Failed(Arc::new(error)));
        self.cancel_firings();
    }

    /// Somebody wants the process to end. What is written down goes on later; anything else ends here.
    fn interrupt(&mut self) {
        if self.recording.is_durable() {
            return self.let_go(Interruption::Asked);
        }
        self.stop(true);
    }

    /// The run ends because somebody asked for that; what it did is taken back, unless it shall stay.
    pub(super) fn stop(&mut self, keep: bool) {
        if self.stopped {
            return;
        }
        self.stopped = true;
        self.cancelled_for_good = !keep;
        self.emit(EventKind::RunCancelling { keep });
        self.end_frame(0, &Ending::Cancelled);
        self.cancel_firings();
    }

    /// The process ends before the run does: nothing new goes out, and what is in flight is lost or awaited.
    pub(super) fn let_go(&mut self, why: Interruption) {
        self.stopped = true;
        self.interruption = Some(why);
        while let Some(at) = self.held.pop_front() {
            if self.leaves.contains_key(&at) {
                self.take_back_announcement(at);
            }
        }
        for leaf in self.leaves.values() {
            leaf.let_go();
        }
        self.let_go_if_quiet();
    }

    /// Whether the process ends before the run does: nothing new goes out.
    pub(super) fn is_let_go(&self) -> bool {
        self.interruption.is_some()
    }

    /// Lets go of the run as soon as no effect is in flight any more.
    pub(super) fn let_go_if_quiet(&mut self) {
        if self.context.only_looks
            || self.is_let_go() && !self.leaves.values().any(Leaf::keeps_the_process)
        {
            self.finished = true;
        }
    }

    /// The journal has more on disk, cannot be written any more, or has been told something.
    fn look_at_journal(&mut self) {
        if self.is_let_go() {
            return;
        }
        if let Some(broken) = self.recording.broken() {
            return self.let_go(Interruption::Journal(broken));
        }
        self.reactions.mail = true;
    }

    pub(super) fn finish(&mut self) {
        self.finished = true;
    }

    async fn conclude(mut self) -> Outcome {
        let mut outcome = self.outcome_of_root();
        let mut wake = None;
        if let Some(interruption) = &self.interruption {
            outcome.state = RunState::Paused;
            match interruption {
                Interruption::Waiting { wake: until, .. } => wake = *until,
                Interruption::Failed(error) => outcome.error = Some(error.clone()),
                Interruption::Asked | Interruption::Journal(_) | Interruption::Reached => {}
            }
            let still = self.only_others_are_awaited();
            self.emit(EventKind::RunPaused { wake, still });
            self.close_queue();
        } else {
            let (reply, error) = (outcome.reply.as_ref(), outcome.error.as_deref());
            self.emit(EventKind::RunSettled {
                state: outcome.state,
                reply,
                error,
            });
        }
        let class = outcome.error.as_ref().map(|error| error.class.to_string());
        self.summarize(outcome.state, wake, class);
        self.recording.flush();
        if let Some(broken) = self.recording.all_durable().await {
            self.interruption = Some(Interruption::Journal(broken));
        }
        outcome.interruption = self.interruption.take();
        (outcome.tasks, outcome.listeners) = (self.task_reports(), self.listener_reports());
        (outcome.questions, outcome.unused_answers) = self.left_open();
        outcome.asked = self.question_reports();
        outcome.not_undone = self.not_undone();
        if outcome.interruption.is_none()
            && self
                .frames
                .first()
                .is_some_and(|root| root.ending.is_none())
        {
            outcome.verification = self.verification();
        }
        outcome.duration = Duration::from_micros(self.elapsed());
        outcome.with_trace(self.frames, self.scopes, self.begun_at, self.redactor)
    }

    fn outcome_of_root(&mut self) -> Outcome {
        let run = self.context.run_id.clone();
        let plan = self.scopes[0].program.plan.clone();
        let Some(root) = self.frames.first_mut() else {
            return Outcome::new(run, &plan.name, RunState::Failed);
        };
        let reply = root.values.pop();
        let failure = root.first_failure.clone();
        let (state, reply, error) = match &root.ending {
            _ if self.reactions.stalled.is_some() => {
                (RunState::Stalled, None, self.reactions.stalled.take())
            }
            Some(Ending::Failed(error)) => (RunState::Failed, None, Some(error.clone())),
            Some(Ending::Cancelled) => (RunState::Cancelled, None, None),
            None if failure.is_some() => (RunState::Failed, reply, failure),
            None => (RunState::Completed, reply, None),
        };
        let mut outcome = Outcome::new(run, &plan.name, state);
        (outcome.reply, outcome.error, outcome.strict) =
            (reply, error, self.context.defaults.strict);
        let Spent { calls, used } = self.scopes[0].spent;
        outcome.usage = Usage {
            calls,
            tokens: used.tokens,
            cost: used.cost,
            exempt_calls: self.exempt_calls,
        };
        outcome
    }

    // Narrow views of the plan behind a frame.

    pub(super) fn program(&self, frame: FrameId) -> Arc<Program> {
        self.scopes[self.frames[frame].scope].program.clone()
    }

    pub(super) fn block<'p>(&self, program: &'p Program, frame: FrameId) -> &'p Block {
        program.plan.block(self.frames[frame].block)
    }

    pub(super) fn node<'p>(&self, program: &'p Program, (frame, node): NodeRef) -> &'p Node {
        &self.block(program, frame).nodes[node as usize]
    }

    pub(super) fn graph<'p>(&self, program: &'p Program, frame: FrameId) -> &'p BlockGraph {
        &program.graph.blocks[self.frames[frame].block.0 as usize]
    }

    pub(super) fn path(&self, program: &Program, at: NodeRef) -> Arc<str> {
        let frame = &self.frames[at.0];
        match &self.node(program, at).name {
            Some(name) => frame.path_of(name),
            None => frame.path.clone(),
        }
    }

    /// The path of a node, for the rare error.
    pub(super) fn own_path(&self, at: NodeRef) -> Arc<str> {
        self.path(&self.program(at.0), at)
    }

    /// Evaluates an expression in a frame.
    pub(super) fn evaluate(&self, frame: FrameId, code: &Code) -> Result<Value, EvalError> {
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
        // What is walked, printed or freed later is walked level by level, so a value may not grow without end.
        if matches!(value, Value::List(_) | Value::Map(_)) && value.deeper_than(MAX_VALUE_DEPTH) {
            let message = format!("the value is nested more than {MAX_VALUE_DEPTH} levels deep");
            return Err(EvalError::plain(message, code.span));
        }
        Ok(value)
    }

    /// A moment of the run as text.
    pub(super) fn instant(&self, since_start: u64) -> String {
        super::outcome::instant(self.begun_at, since_start)
    }

    pub(super) fn state_of(&self, (frame, node): NodeRef) -> StepState {
        self.frames[frame].nodes[node as usize].state
    }
}
