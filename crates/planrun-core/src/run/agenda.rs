//! The agenda of a run: follow-up work that concepts have requested, in the order in which it is performed.

use std::ops::Range;
use std::sync::Arc;

use planrun_lang::sema::{BlockId, Status, TaskId};
use planrun_lang::value::Value;

use super::call::state::CallState;
use super::command::ScopeId;
use super::frame::{Ending, FrameId, NodeRef, Role, TaskRef};
use crate::journal::{Answer, PeerQuestion, Question, RecordedQuestion, StepError};

/// How a node settles.
#[derive(Debug)]
pub(super) enum End {
    /// It has a value, or needs none.
    Completed(Value),
    /// Its guard is false; readers see null.
    GuardFalse,
    /// Something that it reads has no value.
    Upstream,
    /// A statement above it ends the block: a taken `reply`, `yield` or `next` (`replied`), or a failure (`failed`).
    EndedAbove(&'static str),
    Failed(Arc<StepError>),
    Cancelled,
}

/// The subject of an event.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Subject {
    /// A step, or a listener as a whole.
    Step(NodeRef),
    Task(TaskRef),
    /// A plan instance, by its scope.
    Plan(ScopeId),
    Signal(Arc<str>),
}

/// A task that fails because the firing that was to `set` it has failed.
#[derive(Debug)]
pub(super) struct FailedWork {
    pub firing: FrameId,
    pub task: TaskId,
    /// The status that marks the failure.
    pub status: Status,
    pub error: Arc<StepError>,
    /// The parked step that caused the failure; when it is retried, the task is restored.
    pub parked: Option<NodeRef>,
}

/// The state of withdrawing the nodes of blocks that end early.
#[derive(Debug)]
pub(super) struct Withdrawal {
    pub frame: FrameId,
    /// The nodes that remain to be withdrawn.
    pub nodes: Range<u32>,
    /// Blocks that end after this one.
    pub open: Vec<(FrameId, Ending)>,
}

/// One item of follow-up work.
#[derive(Debug)]
pub(super) enum Next {
    /// Start the statements of a frame.
    Start(FrameId),
    /// Start the statements of a frame, after its listeners have begun to listen.
    StartNodes(FrameId),
    /// Settle a node.
    Settle(NodeRef, End),
    /// Release what waits for a node that has settled and whose end has been reported. The flag says whether readers
    /// may read its value.
    PassOn(NodeRef, bool),
    /// Advance the statements below a node that has settled.
    Advance(NodeRef),
    /// A step has failed; a `recover` arm may catch the failure.
    StepFailed(NodeRef, Arc<StepError>),
    /// A step has failed and nothing recovers it.
    StepFailedForGood(NodeRef, Arc<StepError>),
    /// Something in a block has failed; a `forced` failure ends the block whatever its policy says.
    BlockFailed {
        frame: FrameId,
        error: Arc<StepError>,
        forced: bool,
    },
    /// End a block before its statements have ended.
    EndBlock(FrameId, Ending),
    /// Withdraw the nodes of a block that ends early.
    Withdraw(Box<Withdrawal>),
    /// End a frame if everything in it has settled.
    ReportEnd(FrameId),
    /// Close the frame of a plan instance, after everything that has to happen before its end.
    CloseFrame(FrameId),
    /// A statement that ends its block takes effect when everything above it has settled.
    Offer(NodeRef),
    /// Open a body of a step.
    OpenBody(NodeRef, BlockId, Role),
    /// Open elements of an `each`, up to its limit of parallel elements.
    OpenElements(NodeRef),
    /// An element of an `each` has ended, and so have the elements that it cancelled.
    ElementOver(NodeRef),
    /// A branch of a race has ended, and so have the branches that it cancelled.
    BranchOver(NodeRef),
    /// Begin the work of a step that calls no tool.
    BeginBlock(NodeRef),
    /// Begin the work of a call, which holds a slot.
    BeginCall(NodeRef),
    /// Release the slot of a call in this frame.
    GiveSlot(FrameId),
    /// Ask people, or verify and undo effects.
    Inquiry(Inquiry),
    /// Wake listeners, tasks and steps that wait for events.
    Reaction(Reaction),
}

/// Questions that people or verifications have to answer, and the answers.
#[derive(Debug)]
pub(super) enum Inquiry {
    /// The outcome of a call is unknown. `orphaned`: the process that had sent it is gone.
    OutcomeUnknown {
        at: NodeRef,
        call: Box<CallState>,
        error: Arc<StepError>,
        orphaned: bool,
    },
    /// A step asks a question.
    Ask(NodeRef, Box<Question>),
    /// A step asks a question that an earlier process has asked.
    AskAgain(NodeRef, Box<RecordedQuestion>),
    /// Look for an answer to the question of a step.
    FindAnswer(NodeRef),
    /// A person approved a step.
    Approved(NodeRef, Arc<Question>),
    /// A person decided whether the run may do what it would do.
    RunApproved(Box<Answer>),
    /// A person answered whether a call took effect.
    OutcomeAnswered(NodeRef, Value),
    /// The question of a step was not answered, or answered with no.
    Unanswered(NodeRef, Arc<StepError>),
    /// A person answered the peer of a call.
    PeerAnswered(NodeRef, Box<Answer>),
    /// Nobody can answer the peer of a call.
    PeerUnanswered(NodeRef),
    /// Withdraw the question of the peer of a call.
    PeerWithdrawn(NodeRef),
    /// Replay the questions that the peer of a call asked in an earlier process.
    ReplayPeerQuestions(NodeRef, Vec<PeerQuestion>),
    /// The message with this number is now part of the recorded events.
    MessageTaken(u64),
    /// Verify the effect of a step.
    OpenVerify(NodeRef),
    /// Verify the effect of a step again, because the run is retried.
    VerifyAgain(NodeRef),
    /// Verification has found the effect of a step.
    Verified(NodeRef),
    /// End the checks that are being made, and make no others.
    EndChecks(Ending),
    /// Another step takes over the result or the execution of this one, and is responsible for undoing it.
    HandOver(NodeRef),
    /// End the undo that is in progress and skip the remaining ones, for this reason.
    AbandonUndo(&'static str),
}

/// Reactions to events.
#[derive(Debug)]
pub(super) enum Reaction {
    /// Something has happened to all of these subjects at once.
    Commit(Arc<[Subject]>),
    /// A listener begins to listen.
    Listen(NodeRef),
    /// Notify a listener of an event.
    Notify(NodeRef, Arc<[Subject]>),
    /// Notify the steps that wait for events.
    WakeWaits(Arc<[Subject]>),
    /// Begin the next firing of a listener, if it can begin.
    NextFiring(NodeRef),
    /// A firing has failed.
    FiringFailed {
        listener: NodeRef,
        firing: FrameId,
        error: Arc<StepError>,
    },
    /// A firing in a block has ended; the block may have waited for it.
    FiringOver(FrameId),
    /// Something in a firing has failed, or the firing itself, so its tasks fail. `parked`: the step that is parked.
    WorkFailed {
        frame: FrameId,
        error: Arc<StepError>,
        parked: Option<NodeRef>,
    },
    /// Fail a task together with its firing.
    FailTask(Box<FailedWork>),
    /// Cancel every firing of every listener.
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

/// Pending work, performed depth first: the requests of one item are performed, in their order, before all earlier
/// requests.
#[derive(Default)]
pub(super) struct Agenda {
    /// The next item is the last one, except for the items that were requested since `mark`.
    items: Vec<Next>,
    /// Number of items when the current one was taken.
    mark: usize,
}

impl Agenda {
    pub(super) fn push(&mut self, next: Next) {
        self.items.push(next);
    }

    /// Returns true if the current item has requested nothing yet.
    pub(super) fn is_clean(&self) -> bool {
        self.items.len() == self.mark
    }

    /// Takes the next item. Items that were requested since the last call come first.
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
