//! Names used in events: event kinds, what steps wait for, and the bounds of timers.

use serde::{Deserialize, Serialize};

/// Declares words that journals and clients know: an enum, all of its variants, and the word for each.
macro_rules! words {
    ($(#[$of_enum:meta])* $name:ident { $($(#[$of_word:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$of_enum])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$of_word])* #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// Every one.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// The word for it.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }
    };
}

words! {
    /// What a step waits for.
    #[derive(Default)]
    Waiting {
        /// The next attempt.
        #[default]
        Retry = "retry",
        /// The next poll.
        Poll = "poll",
        /// Somebody's yes or no.
        Confirm = "confirm",
        /// Somebody's yes or no to all that the run may do.
        Approval = "approval",
        /// A form that somebody fills in.
        Input = "input",
        /// What can tell whether an attempt happened whose answer was lost.
        Outcome = "outcome",
        /// Somebody who knows whether it happened.
        Answer = "answer",
        /// Somebody's reply to what is called, which asks in the middle of the call.
        Peer = "peer",
        /// A moment.
        Time = "time",
    }
}

words! {
    /// A bound that a timer keeps.
    #[derive(Default)]
    Bound {
        #[default]
        Within = "within",
        Deadline = "deadline",
        /// The time that people have for an answer.
        Expires = "expires",
        /// The moment that a step waits for.
        Wait = "wait",
    }
}

words! {
    /// The kinds of events, as journals and listeners name them.
    EventName {
        RunStarted = "run.started",
        RunResumed = "run.resumed",
        RunCancelling = "run.cancelling",
        RunPaused = "run.paused",
        RunPatched = "run.patched",
        RunGranted = "run.granted",
        StepQueued = "step.queued",
        StepRunning = "step.running",
        StepWaiting = "step.waiting",
        AnswerGiven = "answer.given",
        StepCopied = "step.copied",
        StepRetried = "step.retried",
        HandleGiven = "handle.given",
        UsageReported = "usage.reported",
        ResultNoted = "result.noted",
        BudgetLow = "budget.low",
        StepRecovering = "step.recovering",
        StepSettled = "step.settled",
        TimerFired = "timer.fired",
        TaskSet = "task.set",
        TaskMoved = "task.moved",
        ListenerFired = "listener.fired",
        SignalReceived = "signal.received",
        RunSettled = "run.settled",
    }
}
