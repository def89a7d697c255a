//! A run as a state machine: inputs go in with the time, commands come out. It reads no clock, spawns nothing and waits
//! for nothing.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use planrun_lang::eval::{self, EvalError};
use planrun_lang::graph::BlockGraph;
use planrun_lang::protocol::{RunState, StepState};
use planrun_lang::secrets::Redactor;
use planrun_lang::sema::expr::Code;
use planrun_lang::sema::{Block, BlockId, Node, NodeId};
use planrun_lang::types::ErrorClass;
use planrun_lang::value::Value;

use super::aftermath::Aftermath;
use super::clock::Moment;
use super::command::{CallId, Command, Input};
use super::compound::Compound;
use super::event::{Reactions, reacts};
use super::frame::{Ending, Frame, FrameId, Microseconds, View};
use super::leaf::Leaf;
use super::order::Draw;
use super::outcome::Interruption;
use super::park::Parking;
use super::peer::Peers;
use super::people::People;
use super::reached::Reached;
use super::recording::Recording;
use super::scope::Scope;
use super::{Program, Setup};
use crate::journal::{EventKind, StepError};

/// How many ready nodes are taken before inputs are looked at.
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
pub struct Run {
    pub(super) setup: Setup,
    /// The time that came with the input which is being handled.
    pub(super) now: Moment,
    /// What has to be done outside, in order.
    pub(super) commands: Vec<Command>,
    pub(super) scopes: Vec<Scope>,
    pub(super) frames: Vec<Frame>,
    /// Nodes that may run, or be skipped, in source order.
    pub(super) ready: BinaryHeap<Reverse<NodeRef>>,
    /// Frames in which everything has settled.
    pub(super) ended: Vec<FrameId>,
    /// Calls that wait for a slot, in source order.
    pub(super) queued: BTreeSet<NodeRef>,
    /// Calls that were told of a free slot and have not come to take it.
    pub(super) woken: BTreeSet<NodeRef>,
    /// Calls that have begun and not settled.
    pub(super) leaves: BTreeMap<NodeRef, Leaf>,
    /// Steps that hold others and have begun.
    pub(super) compounds: BTreeMap<NodeRef, Compound>,
    /// Calls that are ready to go out and wait until that is on disk, in the order in which they became ready.
    pub(super) held: VecDeque<NodeRef>,
    /// Steps whose time is bounded, by their paths.
    pub(super) within: BTreeMap<NodeRef, Within>,
    pub(super) recording: Recording,
    /// What must not be shown.
    pub(super) redactor: Redactor,
    pub(super) reactions: Reactions,
    pub(super) aftermath: Aftermath,
    pub(super) parking: Parking,
    /// What people are asked, and what waits for a moment.
    pub(super) people: People,
    /// What calls ask in their middle.
    pub(super) peers: Peers,
    pub(super) timers: BinaryHeap<Reverse<(Duration, u64, Timer)>>,
    /// What calls without arguments share.
    pub(super) no_arguments: Value,
    pub(super) draw: Draw,
    /// Attempts that look at a step, or take it back.
    pub(super) exempt_calls: u64,
    numbers: u64,
    /// When this process took the run up, on the monotonic clock.
    pub(super) begun: Duration,
    pub(super) begun_at: i128,
    pub(super) stopped: bool,
    /// Somebody cancelled the run, and what it did shall be taken back.
    pub(super) cancelled_for_good: bool,
    /// Why the process ends before the run does.
    pub(super) interruption: Option<Interruption>,
    finished: bool,
    /// A call went out whose answer may be there already.
    pub(super) called: bool,
    /// An earlier process began the run, and this one has not taken up all that was left of it.
    catching_up: bool,
    /// Calls that an earlier process lost, and this one takes up next.
    pub(super) lost: VecDeque<NodeRef>,
}

/// A step whose time is bounded, while it goes on.
pub(super) struct Within {
    pub path: Arc<str>,
    /// Tells its timer from those of earlier times at which the step was done.
    pub number: u64,
    /// When its time is over, since the run began.
    pub until: Microseconds,
}

/// What a timer is for. The number tells a timer of an earlier phase from one that counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Timer {
    /// The wait before the next attempt or poll is over.
    Again(NodeRef, u64),
    /// `within` is over.
    Within(NodeRef, u64),
    /// The deadline of a plan, which knows of so much time that everything waited for people.
    Deadline(Duration),
    /// What a step waits for has not come in time, or is the time itself.
    Hold(NodeRef, u64),
}

impl Run {
    /// A run that begins, or goes on from what [`Setup::past`] tells. The inputs have been checked against the plan's
    /// parameters.
    #[must_use]
    pub fn new(
        program: &Arc<Program>,
        inputs: &BTreeMap<Arc<str>, Value>,
        mut setup: Setup,
        now: Moment,
    ) -> Self {
        let past = setup.past.take();
        let begun_at = past.as_ref().map_or(now.wall, |past| past.begun_at);
        let people = People::new(std::mem::take(&mut setup.answers), setup.asks);
        let draw = Draw::new(setup.order);
        let recording = Recording::new((setup.durable, setup.observed), past, now.wall);
        // Who lives through a journal does all that follows from one answer before it takes the next, and so does who writes it.
        let catching_up = recording.is_replaying();
        let relived = setup.durable || catching_up;
        let reactions = Reactions {
            in_order: relived || reacts(program),
            ..Reactions::default()
        };
        let mut run = Self {
            setup,
            now,
            commands: Vec::new(),
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
            reactions,
            aftermath: Aftermath::new(program),
            parking: Parking::default(),
            people,
            peers: Peers::default(),
            timers: BinaryHeap::new(),
            no_arguments: Value::Map(Arc::default()),
            draw,
            exempt_calls: 0,
            numbers: 0,
            begun: now.monotonic,
            begun_at,
            stopped: false,
            cancelled_for_good: false,
            interruption: None,
            finished: false,
            called: false,
            catching_up,
            lost: VecDeque::new(),
        };
        run.begin(program, inputs);
        run
    }

    /// Takes one input and the time at which it came. What has to be done then is added to `commands`.
    pub fn handle(&mut self, input: Input, now: Moment, commands: &mut Vec<Command>) {
        self.now = now;
        self.people.note_wait(false, now.monotonic);
        if !self.finished {
            self.accept(input);
        }
        if self.finished {
            self.commands.push(Command::End);
        }
        commands.append(&mut self.commands);
    }

    fn accept(&mut self, input: Input) {
        match input {
            Input::Continue => self.turn(),
            Input::Idle => self.idle(),
            Input::Wake => self.fire(),
            Input::CallHandle { call, handle } => self.handle_given(call, handle),
            Input::CallAsks {
                call,
                text,
                form,
                prefilled,
            } => self.call_asks(call, text, form, prefilled),
            Input::CallUsed { call, used } => self.cost_told(call, used),
            Input::CallEnded { call, outcome } => self.draw.arrived(call, outcome),
            Input::Durable(number) => self.recording.set_durable(number),
            Input::JournalBroken(why) if !self.is_let_go() => {
                self.let_go(Interruption::Journal(why));
            }
            Input::Message(message) => self.recording.post(message),
            Input::Asked { asking, given } => self.hear(asking, given),
            Input::ScopeRefused { scope, message } => self.scope_refused(scope, message),
            Input::Stop if !self.stopped => self.interrupt(),
            Input::JournalBroken(_) | Input::Stop => {}
        }
    }

    /// Whether something can be done without another input than [`Input::Continue`].
    #[must_use]
    pub fn has_work(&self) -> bool {
        !self.finished
            && (self.has_ready()
                || self.catching_up
                || self.draw.has_answers() && !self.reactions.in_order
                || self.recording.has_mail() && !self.is_let_go())
    }

    /// Whether a statement can go on.
    pub(super) fn has_ready(&self) -> bool {
        !self.ready.is_empty() || !self.ended.is_empty() || !self.reactions.due.is_empty()
    }

    /// One turn of work: a batch of statements, then what has arrived.
    fn turn(&mut self) {
        if !self.reactions.in_order {
            while let Some((call, outcome)) = self.draw.next_answer() {
                self.receive(call, outcome);
            }
            if !self.recording.is_replaying() {
                self.fire();
            }
        }
        self.work();
        if self.has_ready() || self.finished || self.called {
            self.called = false;
            return;
        }
        if !self.catch_up() {
            self.take_message();
        }
    }

    /// Goes on with what an earlier process of the run has lived through; false where there is nothing of it left.
    fn catch_up(&mut self) -> bool {
        if !self.catching_up {
            return false;
        }
        if self.replay() {
            return true;
        }
        if !self.setup.only_looks && self.take_up_next_lost() {
            return true;
        }
        self.catching_up = false;
        if self.setup.only_looks {
            self.let_go(Interruption::Asked);
        } else if self.setup.retries {
            self.retry_failed();
            self.verify_again();
        }
        true
    }

    /// Nothing is left to do but to send what was held back, to ask, and to wait.
    fn idle(&mut self) {
        self.send_held();
        if !self.has_ready() && !self.called && !self.finished {
            self.turn_to_people();
        }
        if !self.has_ready() && !self.called && self.until_is_reached() && !self.is_let_go() {
            self.let_go(Interruption::Reached);
        }
        if !std::mem::take(&mut self.called) && !self.has_ready() && !self.finished {
            self.sleep();
        }
    }

    /// Nothing can be done before something happens outside.
    fn sleep(&mut self) {
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
        if let Some((call, outcome)) = self.draw.next_answer() {
            return self.receive(call, outcome);
        }
        let waits = self.only_others_are_awaited();
        self.people.note_wait(waits, self.now.monotonic);
        self.commands.push(Command::Wait(wake));
    }

    fn begin(&mut self, program: &Arc<Program>, inputs: &BTreeMap<Arc<str>, Value>) {
        self.open_scope(program, None);
        let steps = program
            .plan
            .body()
            .nodes
            .iter()
            .filter(|node| node.step().is_some())
            .count();
        if self.recording.is_replaying() {
            self.emit(EventKind::RunResumed);
        }
        self.emit(EventKind::RunStarted {
            run: self.setup.run_id.clone(),
            plan: program.plan.name.clone(),
            steps,
        });
        self.summarize(RunState::Running, None, None);
        if let Some(deadline) = self.scopes[0].policy.deadline {
            self.set_deadline(deadline);
        }
        let root = self.open_frame(0, BlockId(0), None, None, "".into());
        let missing = self.bind_inputs(root, inputs);
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
            if self.called {
                return;
            }
        }
    }

    /// Tells whoever wants to know what a statement has come to. What looks at a step, and what takes it back, is told
    /// of as a whole.
    pub(super) fn reached(&mut self, (frame, node): NodeRef, what: Reached) {
        if !self.setup.watched || self.frames[frame].aside {
            return;
        }
        let (program, block) = (self.program(frame), self.frames[frame].block);
        let node = NodeId(node);
        self.commands.push(Command::Reached {
            program,
            block,
            node,
            what,
        });
    }

    /// Calls due timers.
    fn fire(&mut self) {
        if self.is_let_go() {
            return;
        }
        let now = self.now.monotonic;
        while let Some(timer) = self.next_due(now) {
            match timer {
                Timer::Again(node, number) => self.again(node, number),
                Timer::Within(node, number) if self.is_bounded(node, number) => {
                    self.within_is_over(node);
                }
                Timer::Within(..) => {}
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
            .push(Reverse((self.now.after(wait), number, timer)));
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
        let stopped = self
            .leaves
            .iter()
            .filter(|(_, leaf)| leaf.stops_with_its_process());
        self.commands.extend(stopped.map(|(at, leaf)| {
            Command::StopCall(CallId {
                at: *at,
                number: leaf.number,
            })
        }));
        self.let_go_if_quiet();
    }

    /// Whether the process ends before the run does: nothing new goes out.
    pub(super) fn is_let_go(&self) -> bool {
        self.interruption.is_some()
    }

    /// Lets go of the run as soon as no effect is in flight any more.
    pub(super) fn let_go_if_quiet(&mut self) {
        if self.setup.only_looks
            || self.is_let_go() && !self.leaves.values().any(Leaf::keeps_the_process)
        {
            self.finished = true;
        }
    }

    pub(super) fn finish(&mut self) {
        self.finished = true;
    }

    /// Whether the run ends, or this process lets go of it.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// What must not be shown of the run's events.
    #[must_use]
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
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
