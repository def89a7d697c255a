//! A call as a conversation: an immediate outcome, or events that end with an outcome.

mod event;
mod sender;

use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use futures_core::Stream;
use tokio::sync::mpsc;

pub use event::{
    Ask, AskReply, CallEvent, Handle, MAX_HANDLE_BYTES, MAX_PROGRESS_BYTES, MAX_QUESTION_BYTES,
    Progress, Question, TooLarge, Usage,
};
pub use sender::{EventSender, MAX_WAITING_EVENTS, PROGRESS_INTERVAL};

use planrun_lang::protocol::Sent;
use planrun_lang::types::{ErrorClass, Transient};

use planrun_lang::call::{CallError, CallOutcome};

/// Whether this process is about to end: see [`abandon_calls`].
static ABANDONED: AtomicBool = AtomicBool::new(false);

/// Lets no call of this process end any more. Called before the programs behind them are killed because the process
/// exits: their deaths are not outcomes, and a run that recorded them would take them for failures when it is resumed.
pub(in crate::tools) fn abandon_calls() {
    ABANDONED.store(true, Ordering::SeqCst);
}

type BoxedWork = Pin<Box<dyn Future<Output = CallOutcome> + Send>>;

/// One attempt of a call, as the transport answers it.
#[derive(Debug)]
pub enum Conversation {
    /// The call has already ended. Pure computations answer like this, without a task.
    Now(CallOutcome),
    Later(Events),
}

/// The events of a call in progress. There is exactly one [`CallEvent::Done`], and nothing follows it. Dropping the
/// events drops the work behind them. If the work panics, the call ends with an `internal` error.
pub struct Events {
    source: Source,
}

enum Source {
    /// Work that sends no events before its end.
    Silent(BoxedWork),
    Running {
        /// `None` once it has ended.
        work: Option<BoxedWork>,
        receiver: mpsc::Receiver<CallEvent>,
        /// The outcome of the work, kept until the events before it have been taken.
        outcome: Option<CallOutcome>,
    },
    Stream(Pin<Box<dyn Stream<Item = CallEvent> + Send>>),
    Ended,
}

impl Conversation {
    /// Creates a call without events before its end.
    pub fn from_future(work: impl Future<Output = CallOutcome> + Send + 'static) -> Self {
        Self::Later(Events {
            source: Source::Silent(Box::pin(work)),
        })
    }

    /// Creates a call with events: `start` receives the sender of events, and the future that it returns produces the
    /// outcome.
    pub fn with_events<F>(start: impl FnOnce(EventSender) -> F) -> Self
    where
        F: Future<Output = CallOutcome> + Send + 'static,
    {
        let (sender, receiver) = EventSender::new();
        let work: BoxedWork = Box::pin(start(sender));
        Self::Later(Events {
            source: Source::Running {
                work: Some(work),
                receiver,
                outcome: None,
            },
        })
    }

    /// Creates a call from a stream of events. A stream that ends without [`CallEvent::Done`] ends with [`broken_off`].
    /// Events after [`CallEvent::Done`] are ignored.
    pub fn from_stream(stream: impl Stream<Item = CallEvent> + Send + 'static) -> Self {
        Self::Later(Events {
            source: Source::Stream(Box::pin(stream)),
        })
    }

    #[must_use]
    pub fn map_outcome<C>(self, change: C) -> Self
    where
        C: FnOnce(CallOutcome) -> CallOutcome + Send + Unpin + 'static,
    {
        match self {
            Self::Now(outcome) => Self::Now(change(outcome)),
            Self::Later(events) => Self::from_stream(MapOutcome {
                events,
                change: Some(change),
            }),
        }
    }

    /// Maps the texts of progress and questions, for instance to redact them.
    #[must_use]
    pub fn map_texts<C>(self, change: C) -> Self
    where
        C: FnMut(&mut String) + Send + Unpin + 'static,
    {
        match self {
            Self::Now(outcome) => Self::Now(outcome),
            Self::Later(events) => Self::from_stream(MapTexts { events, change }),
        }
    }

    /// Returns the outcome of the call. Questions stay unanswered, and all other events are dropped. Fails with the
    /// errors of the call, and [`broken_off`].
    pub async fn outcome(self) -> CallOutcome {
        match self {
            Self::Now(outcome) => outcome,
            Self::Later(mut events) => events.outcome().await,
        }
    }
}

impl Events {
    /// Returns the next event; `None` after the end. It is cancel-safe: no event is lost if the future is dropped.
    pub async fn next(&mut self) -> Option<CallEvent> {
        poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// Returns the outcome of the call, like [`Conversation::outcome`]. Fails with the errors of the call, and
    /// [`broken_off`], also if the end has been taken before.
    pub async fn outcome(&mut self) -> CallOutcome {
        loop {
            match self.next().await {
                Some(CallEvent::Done(outcome)) => return outcome,
                Some(
                    CallEvent::Progress(_)
                    | CallEvent::Ask(_)
                    | CallEvent::Handle(_)
                    | CallEvent::Usage(_),
                ) => {}
                None => return Err(broken_off()),
            }
        }
    }
}

impl Stream for Events {
    type Item = CallEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<CallEvent>> {
        if matches!(self.source, Source::Ended) {
            return Poll::Ready(None);
        }
        let polled = catch_unwind(AssertUnwindSafe(|| self.source.poll_next(context)));
        let event =
            polled.unwrap_or_else(|panic| Poll::Ready(CallEvent::Done(Err(panicked(&*panic)))));
        if matches!(event, Poll::Ready(CallEvent::Done(_))) {
            self.source = Source::Ended;
            if ABANDONED.load(Ordering::SeqCst) {
                return Poll::Pending;
            }
        }
        event.map(Some)
    }
}

impl Source {
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<CallEvent> {
        match self {
            Self::Silent(work) => work.as_mut().poll(context).map(CallEvent::Done),
            Self::Running {
                work,
                receiver,
                outcome,
            } => poll_running(work, receiver, outcome, context),
            Self::Stream(stream) => stream
                .as_mut()
                .poll_next(context)
                .map(|event| event.unwrap_or_else(|| CallEvent::Done(Err(broken_off())))),
            Self::Ended => Poll::Pending,
        }
    }
}

/// Returns queued events before the work is polled again, so that events come before what happens after them.
fn poll_running(
    work: &mut Option<BoxedWork>,
    receiver: &mut mpsc::Receiver<CallEvent>,
    outcome: &mut Option<CallOutcome>,
    context: &mut Context<'_>,
) -> Poll<CallEvent> {
    if let Poll::Ready(Some(event)) = receiver.poll_recv(context) {
        return Poll::Ready(event);
    }
    if let Some(running) = work {
        // What was reported before a panic comes before it.
        let polled = catch_unwind(AssertUnwindSafe(|| running.as_mut().poll(context)));
        let polled = polled.unwrap_or_else(|panic| Poll::Ready(Err(panicked(&*panic))));
        if let Poll::Ready(end) = polled {
            *outcome = Some(end);
            // This drops the sender, so that the channel ends after the remaining events.
            *work = None;
        }
        if let Poll::Ready(Some(event)) = receiver.poll_recv(context) {
            return Poll::Ready(event);
        }
    }
    match outcome.take() {
        Some(end) => Poll::Ready(CallEvent::Done(end)),
        None => Poll::Pending,
    }
}

/// The error of a call whose events stop without an end. Its outcome is unknown.
pub fn broken_off() -> CallError {
    CallError::new(
        ErrorClass::Transient(Transient::Network),
        "the call was interrupted without a result",
        Sent::Maybe,
    )
}

/// The error of a call whose code has panicked. How far it got is unknown.
pub(in crate::tools) fn panicked(panic: &(dyn Any + Send)) -> CallError {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    let why = text.unwrap_or("without a message");
    let message = format!("the code of the tool has panicked: {why}");
    CallError::new(ErrorClass::Internal, message, Sent::Maybe)
}

struct MapOutcome<C> {
    events: Events,
    /// `None` once it was used.
    change: Option<C>,
}

impl<C: FnOnce(CallOutcome) -> CallOutcome + Unpin> Stream for MapOutcome<C> {
    type Item = CallEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<CallEvent>> {
        let event = Pin::new(&mut self.events).poll_next(context);
        event.map(|event| match event? {
            CallEvent::Done(outcome) => Some(CallEvent::Done(match self.change.take() {
                Some(change) => change(outcome),
                None => outcome,
            })),
            event @ (CallEvent::Progress(_)
            | CallEvent::Ask(_)
            | CallEvent::Handle(_)
            | CallEvent::Usage(_)) => Some(event),
        })
    }
}

struct MapTexts<C> {
    events: Events,
    change: C,
}

impl<C: FnMut(&mut String) + Unpin> Stream for MapTexts<C> {
    type Item = CallEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<CallEvent>> {
        let mut event = Pin::new(&mut self.events).poll_next(context);
        match &mut event {
            Poll::Ready(Some(CallEvent::Progress(progress))) => {
                progress.text_mut().into_iter().for_each(&mut self.change);
            }
            Poll::Ready(Some(CallEvent::Ask(ask))) => (self.change)(ask.message_mut()),
            Poll::Ready(
                Some(CallEvent::Handle(_) | CallEvent::Usage(_) | CallEvent::Done(_)) | None,
            )
            | Poll::Pending => {}
        }
        event
    }
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = match self.source {
            Source::Silent(_) | Source::Running { .. } | Source::Stream(_) => "running",
            Source::Ended => "ended",
        };
        f.debug_tuple("Events").field(&state).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use planrun_lang::call::Answer;

    #[expect(clippy::unnecessary_wraps, reason = "this is the outcome of a call")]
    fn give() -> CallOutcome {
        Ok(Answer::Json(json!(1)))
    }

    fn events(conversation: Conversation) -> Events {
        match conversation {
            Conversation::Now(_) => panic!("it is over at once"),
            Conversation::Later(events) => events,
        }
    }

    /// Returns the events that it holds, one at a time.
    struct Written(std::vec::IntoIter<CallEvent>);

    impl Stream for Written {
        type Item = CallEvent;

        fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<CallEvent>> {
            Poll::Ready(self.0.next())
        }
    }

    fn written(events: Vec<CallEvent>) -> Conversation {
        Conversation::from_stream(Written(events.into_iter()))
    }

    #[tokio::test]
    async fn nothing_comes_behind_the_end() {
        let usage = || CallEvent::Usage(Usage::new(1, 0.0));
        let twice = vec![
            usage(),
            CallEvent::Done(give()),
            usage(),
            CallEvent::Done(give()),
        ];
        let mut events = events(written(twice));
        assert!(matches!(events.next().await, Some(CallEvent::Usage(_))));
        assert!(matches!(events.next().await, Some(CallEvent::Done(Ok(_)))));
        assert!(events.next().await.is_none() && events.next().await.is_none());
    }

    #[tokio::test]
    async fn a_missing_end_is_an_error() {
        let error = written(vec![]).outcome().await.unwrap_err();
        let failure = (error.class.to_string(), error.sent);
        assert_eq!(failure, ("transient.network".to_owned(), Sent::Maybe));
        let mapped = written(vec![])
            .map_texts(|_| ())
            .map_outcome(|end| end.and_then(|_| give()));
        assert!(mapped.outcome().await.is_err());
    }

    #[tokio::test]
    async fn a_panic_is_an_internal_error_after_which_nothing_comes() {
        let mut events = events(Conversation::with_events(|mut events| async move {
            events.usage(Usage::new(1, 0.0)).await;
            panic!("no {}", "answer")
        }));
        assert!(matches!(events.next().await, Some(CallEvent::Usage(_))));
        let Some(CallEvent::Done(Err(error))) = events.next().await else {
            panic!("it fails")
        };
        let failure = (error.to_string(), error.sent);
        let message = "internal: the code of the tool has panicked: no answer";
        assert_eq!(failure, (message.to_owned(), Sent::Maybe));
        assert!(events.next().await.is_none());
    }

    #[tokio::test]
    async fn what_was_told_before_the_end_comes_before_it() {
        let mut events = events(Conversation::with_events(|mut events| async move {
            for tokens in 0..3 * MAX_WAITING_EVENTS as u64 {
                events.usage(Usage::new(tokens, 0.0)).await;
            }
            give()
        }));
        for tokens in 0..3 * MAX_WAITING_EVENTS as u64 {
            match events.next().await {
                Some(CallEvent::Usage(usage)) => assert_eq!(usage.tokens(), tokens),
                other => panic!("{other:?}"),
            }
        }
        assert!(matches!(events.next().await, Some(CallEvent::Done(Ok(_)))));
        assert!(events.next().await.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_of_progress_is_bounded_and_never_goes_back() {
        let mut events = events(Conversation::with_events(|mut events| async move {
            for step in 0..100_000_u64 {
                // The fraction increases and decreases.
                let fraction = if step.is_multiple_of(2) { 0.9 } else { 0.1 };
                events.progress(Progress::default().with_fraction(fraction));
                if step.is_multiple_of(10_000) {
                    tokio::time::sleep(PROGRESS_INTERVAL).await;
                }
            }
            give()
        }));
        let mut fractions = Vec::new();
        while let Some(event) = events.next().await {
            match event {
                CallEvent::Progress(progress) => fractions.extend(progress.fraction()),
                CallEvent::Done(end) => assert!(end.is_ok()),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(fractions, [0.9; 11]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_that_nobody_takes_waits() {
        let mut events = events(Conversation::with_events(|mut events| async move {
            loop {
                events.usage(Usage::new(1, 0.0)).await;
            }
        }));
        for _ in 0..1000 {
            assert!(matches!(events.next().await, Some(CallEvent::Usage(_))));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_question_waits_for_its_reply() {
        let question = || Question::new("Which?".to_owned(), json!({"type": "integer"})).unwrap();
        let mut events = events(Conversation::with_events(|mut events| async move {
            let replies = [
                events.ask(question()).await,
                events.ask(question()).await,
                events.ask(question()).await,
            ];
            let expected = [
                AskReply::Given(json!(7)),
                AskReply::Declined,
                AskReply::Unanswered,
            ];
            assert_eq!(replies, expected);
            give()
        }));
        for number in 0..3 {
            let Some(CallEvent::Ask(ask)) = events.next().await else {
                panic!("it asks")
            };
            assert_eq!(ask.question().ty(), &planrun_lang::types::Type::Int);
            let wait = tokio::time::timeout(Duration::from_secs(1), events.next());
            assert!(
                number > 0 || wait.await.is_err(),
                "nothing comes before the reply"
            );
            match number {
                0 => ask.answer(json!(7)),
                1 => ask.decline(),
                _ => drop(ask),
            }
        }
        assert!(matches!(events.next().await, Some(CallEvent::Done(Ok(_)))));
    }

    #[tokio::test]
    async fn a_conversation_that_is_dropped_drops_its_work() {
        let alive = std::sync::Arc::new(());
        let inside = alive.clone();
        let mut events = events(Conversation::with_events(|mut events| async move {
            events.usage(Usage::new(1, 0.0)).await;
            std::future::pending::<()>().await;
            drop(inside);
            give()
        }));
        assert!(events.next().await.is_some());
        assert_eq!(std::sync::Arc::strong_count(&alive), 2);
        drop(events);
        assert_eq!(std::sync::Arc::strong_count(&alive), 1);
    }

    #[tokio::test]
    async fn texts_and_ends_are_changed_wherever_they_come() {
        let hide = |text: &mut String| *text = text.replace("secret", "•");
        let question = Question::new("a secret?".to_owned(), json!({})).unwrap();
        let sent = vec![
            CallEvent::Progress(Progress::message("the secret")),
            CallEvent::Ask(Ask::new(question).0),
            CallEvent::Done(give()),
        ];
        let end = |_: CallOutcome| Ok(Answer::Json(json!(2)));
        let mut events = events(written(sent).map_texts(hide).map_outcome(end));
        match events.next().await {
            Some(CallEvent::Progress(progress)) => assert_eq!(progress.text(), Some("the •")),
            other => panic!("{other:?}"),
        }
        match events.next().await {
            Some(CallEvent::Ask(ask)) => assert_eq!(ask.question().message(), "a •?"),
            other => panic!("{other:?}"),
        }
        let done = events.next().await;
        assert!(matches!(done, Some(CallEvent::Done(Ok(Answer::Json(json)))) if json == json!(2)));
        let now = Conversation::Now(give()).map_texts(hide).map_outcome(end);
        assert!(matches!(now, Conversation::Now(Ok(Answer::Json(json))) if json == json!(2)));
    }

    #[test]
    fn everything_is_bounded() {
        let text = "é".repeat(MAX_PROGRESS_BYTES);
        assert_eq!(
            Progress::message(&text).text().unwrap().len(),
            MAX_PROGRESS_BYTES
        );
        let long = "x".repeat(MAX_QUESTION_BYTES);
        let error = Handle::new(json!(long)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a handle has 65538 bytes, but at most 16384 are allowed"
        );
        assert!(Question::new(long, json!({})).is_err());
        assert_eq!(
            Usage::new(1, f64::NAN)
                .plus(Usage::new(u64::MAX, -1.0))
                .tokens(),
            u64::MAX
        );
        assert_eq!(Usage::new(1, f64::NEG_INFINITY), Usage::new(1, 0.0));
        let fraction = |of: Progress| of.fraction();
        assert_eq!(fraction(Progress::of(1, 4)), Some(0.25));
        assert_eq!(
            (fraction(Progress::of(0, 0)), fraction(Progress::of(5, 4))),
            (None, Some(1.0))
        );
    }
}
