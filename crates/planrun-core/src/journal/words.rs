//! Names used in events: event kinds, what steps wait for, and the bounds of timers.

use planrun_lang::words;

words! {
    /// The event that a step waits for.
    #[derive(Default)]
    Waiting {
        /// The next attempt.
        #[default]
        Retry = "retry",
        /// The next poll.
        Poll = "poll",
        /// A person's yes or no.
        Confirm = "confirm",
        /// A person's yes or no to all that the run may do.
        Approval = "approval",
        /// A form that a person fills in.
        Input = "input",
        /// The `verify` block that determines whether an attempt took effect whose answer was lost.
        Outcome = "outcome",
        /// The ends of the effects above a step that has failed ahead of them. Its failure takes effect after them.
        Effects = "effects",
        /// A person who knows whether the call took effect.
        Answer = "answer",
        /// A person's reply to a question that a peer asks during a call.
        Peer = "peer",
        /// A point in time.
        Time = "time",
    }
}

words! {
    /// A bound that a timer enforces.
    #[derive(Default)]
    Bound {
        #[default]
        Within = "within",
        Deadline = "deadline",
        /// The time to answer a question.
        Expires = "expires",
        /// The time that a step waits for.
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
        LimitReached = "limit.reached",
        TimerFired = "timer.fired",
        TaskSet = "task.set",
        TaskMoved = "task.moved",
        ListenerFired = "listener.fired",
        SignalReceived = "signal.received",
        RunSettled = "run.settled",
    }
}
