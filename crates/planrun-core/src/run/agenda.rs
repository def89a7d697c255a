//! The agenda of a run: follow-up work that concepts have requested, in the order in which it is done.

use std::ops::Range;
use std::sync::Arc;

use planrun_lang::sema::{BlockId, Status, TaskId};
use planrun_lang::value::Value;

use super::call::state::CallState;
use super::command::ScopeId;
use super::frame::{Ending, FrameId, NodeRef, Role, TaskRef};
use crate::journal::{Answer, PeerQuestion, Question, RecordedQuestion, StepError};

/// The end of a node.
#[derive(Debug)]
pub(super) enum End {
    /// It has a value, or needs none.
    Completed(Value),
    /// Its guard was false: readers see null.
    GuardFalse,
    /// Something it reads gave nothing.
    Upstream,
    /// A statement above it ends the block: a taken `reply`, `yield` or `next` (`replied`), or a failure (`failed`).
    EndedAbove(&'static str),
    Failed(Arc<StepError>),
    Cancelled,
}

/// What an event speaks of.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Subject {
    /// A step, or a listener as a whole.
    Step(NodeRef),
    Task(TaskRef),
    /// A plan instance, by its scope.
    Plan(ScopeId),
    Signal(Arc<str>),
}

/// A task whose `set` was to come from a firing that has failed.
#[derive(Debug)]
pub(super) struct FailedWork {
    pub firing: FrameId,
    pub task: TaskId,
    /// The status of its failure.
    pub status: Status,
    pub error: Arc<StepError>,
    /// The step that stands still, with which the firing may be taken up again.
    pub parked: Option<NodeRef>,
}

/// A block that ends early, as far as its nodes have been withdrawn.
#[derive(Debug)]
pub(super) struct Withdrawal {
    pub frame: FrameId,
    /// Those of its nodes that are left.
    pub nodes: Range<u32>,
    /// Frames that end when this one has.
    pub open: Vec<(FrameId, Ending)>,
}

/// One thing to do.
#[derive(Debug)]
pub(super) enum Next {
    /// The statements of a frame begin.
    Start(FrameId),
    /// Its listeners listen; its other statements begin.
    StartNodes(FrameId),
    /// A node has come to its end.
    Settle(NodeRef, End),
    /// A node has settled, and its end was told: those that wait for it go on. Whether it has a value that they may read.
    PassOn(NodeRef, bool),
    /// What stands below a node that has settled goes on.
    Advance(NodeRef),
    /// A step has failed; an arm may recover it.
    StepFailed(NodeRef, Arc<StepError>),
    /// A step has failed and nothing recovers it.
    StepFailedForGood(NodeRef, Arc<StepError>),
    /// Something in a block has failed; a `forced` failure ends the block whatever its policy says.
    BlockFailed {
        frame: FrameId,
        error: Arc<StepError>,
        forced: bool,
    },
    /// A block ends before its statements do.
    EndBlock(FrameId, Ending),
    /// The nodes of a block that ends early are withdrawn.
    Withdraw(Box<Withdrawal>),
    /// A frame has ended if everything in it has settled.
    ReportEnd(FrameId),
    /// Everything that has to happen before the end of a plan instance has: its frame ends.
    CloseFrame(FrameId),
    /// A statement that ends its block takes effect as soon as everything above it has settled.
    Offer(NodeRef),
    /// A body of a step begins.
    OpenBody(NodeRef, BlockId, Role),
    /// The elements of an `each` begin, as far as there is room for them.
    OpenElements(NodeRef),
    /// An element of an `each` has ended, and those beside it.
    ElementOver(NodeRef),
    /// A branch of a race has ended, and those beside it.
    BranchOver(NodeRef),
    /// The step of a block has begun: its work begins.
    BeginBlock(NodeRef),
    /// The work of a call begins; it has a slot.
    BeginCall(NodeRef),
    /// The slot of a call in this frame is free.
    GiveSlot(FrameId),
    /// People are asked, or effects are verified and undone.
    Inquiry(Inquiry),
    /// Listeners, tasks and steps that wait for events react.
    Reaction(Reaction),
}

/// What has to be found out from people or by verification, and what they have said.
#[derive(Debug)]
pub(super) enum Inquiry {
    /// Nobody knows whether a call has happened. `orphaned`: the process that had sent it is gone.
    OutcomeUnknown {
        at: NodeRef,
        call: Box<CallState>,
        error: Arc<StepError>,
        orphaned: bool,
    },
    /// A step asks somebody.
    Ask(NodeRef, Box<Question>),
    /// A step asks what it has asked in an earlier process.
    AskAgain(NodeRef, Box<RecordedQuestion>),
    /// Whoever may answer a step is turned to.
    SeekAnswer(NodeRef),
    /// Somebody has agreed to a step.
    Approved(NodeRef, Arc<Question>),
    /// Somebody has said whether the run may do what it would do.
    RunApproved(Box<Answer>),
    /// Somebody has said what became of a call.
    OutcomeTold(NodeRef, Value),
    /// Nobody answers a step, or somebody has said no.
    Unanswered(NodeRef, Arc<StepError>),
    /// Somebody has answered the peer of a call.
    PeerAnswered(NodeRef, Box<Answer>),
    /// Nobody can answer the peer of a call.
    PeerUnanswered(NodeRef),
    /// What the peer of a call has asked is withdrawn.
    PeerWithdrawn(NodeRef),
    /// The peer of a call has asked this in an earlier process.
    PeerAskedBefore(NodeRef, Vec<PeerQuestion>),
    /// A message has become part of the events so far.
    MessageTaken(u64),
    /// The effect of a step is verified.
    OpenVerify(NodeRef),
    /// The effect of a step is verified once more, since somebody wants that.
    VerifyAgain(NodeRef),
    /// The effect of a step was found.
    Verified(NodeRef),
    /// What is being undone ends, and the rest is left: somebody insists that the run ends.
    AbandonUndo,
}

/// What follows from events.
#[derive(Debug)]
pub(super) enum Reaction {
    /// Something has happened, to all of these at once.
    Commit(Arc<[Subject]>),
    /// A listener begins to listen.
    Listen(NodeRef),
    /// A listener hears of that.
    Hear(NodeRef, Arc<[Subject]>),
    /// Steps that wait for events hear of that.
    WakeWaits(Arc<[Subject]>),
    /// The next firing of a listener begins, if it can.
    NextFiring(NodeRef),
    /// A firing has failed.
    FiringFailed {
        listener: NodeRef,
        firing: FrameId,
        error: Arc<StepError>,
    },
    /// A firing in a block has ended; the block may have waited for that.
    FiringOver(FrameId),
    /// Something in a firing has failed, or the firing itself: its tasks fail. `parked`: the step that stands still.
    WorkFailed {
        frame: FrameId,
        error: Arc<StepError>,
        parked: Option<NodeRef>,
    },
    /// A task fails with a firing.
    FailTask(Box<FailedWork>),
    /// Every firing of a listener ends.
    CancelFirings,
}

impl From<Inquiry> for Next {
    fn from(inquiry: Inquiry) -> Self {
        Self::Inquiry(inquiry)
    }
}

impl From<Reaction> for Next {
    fn from(reaction: Reaction) -> Self {
        Self::Reaction(reaction)
    }
}

/// What is still to be done. It is done depth first: what one thing leads to comes, in the order in which it was said,
/// before everything that was said earlier.
#[derive(Default)]
pub(super) struct Agenda {
    /// The next thing is the last one, but for those that were said by what is being done.
    items: Vec<Next>,
    /// How many there were when what is being done was begun.
    mark: usize,
}

impl Agenda {
    pub(super) fn push(&mut self, next: Next) {
        self.items.push(next);
    }

    /// Whether what is being done has led to nothing yet.
    pub(super) fn is_clean(&self) -> bool {
        self.items.len() == self.mark
    }

    /// Takes the next thing. What was said since the last time comes first.
    pub(super) fn pop(&mut self) -> Option<Next> {
        self.items[self.mark..].reverse();
        let next = self.items.pop();
        self.mark = self.items.len();
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(agenda: &mut Agenda) -> Option<FrameId> {
        match agenda.pop()? {
            Next::Start(frame) => Some(frame),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_one_thing_leads_to_comes_in_its_order_and_before_what_was_said_earlier() {
        let mut agenda = Agenda::default();
        agenda.push(Next::Start(1));
        agenda.push(Next::Start(2));
        assert_eq!(taken(&mut agenda), Some(1));
        assert!(agenda.is_clean());
        agenda.push(Next::Start(11));
        agenda.push(Next::Start(12));
        assert!(!agenda.is_clean());
        assert_eq!(taken(&mut agenda), Some(11));
        agenda.push(Next::Start(111));
        let rest: Vec<_> = std::iter::from_fn(|| taken(&mut agenda)).collect();
        assert_eq!(rest, [111, 12, 2]);
        assert!(agenda.is_clean());
    }
}
