//! The questions that an [`Asker`] is asking.

use std::collections::HashMap;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use planrun_core::journal::SubmittedAnswer;
use planrun_core::run::Asking;
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use super::attempt::DriverMessage;
use super::context::Asker;

type Answering = Pin<Box<dyn Future<Output = Option<SubmittedAnswer>> + Send>>;

/// The questions that are being asked, by their paths. Futures of the asker are dropped with it.
#[derive(Default)]
pub(super) struct Askings {
    open: HashMap<Arc<str>, Open>,
    /// Number of questions so far.
    count: u64,
}

struct Open {
    /// Distinguishes it from an earlier question with the same path, whose answer may still be on its way.
    number: u64,
    _task: AbortOnDropHandle<()>,
}

impl Askings {
    /// Asks a question. The reply arrives as [`DriverMessage::Replied`].
    pub(super) fn ask(
        &mut self,
        asker: &dyn Asker,
        asking: Asking,
        sender: mpsc::Sender<DriverMessage>,
    ) {
        self.count += 1;
        let (number, path) = (self.count, asking.path.clone());
        let answering = catch_unwind(AssertUnwindSafe(|| asker.ask(asking.clone())));
        let task = tokio::spawn(async move {
            // An asker that has panicked does not answer.
            let given = match answering {
                Ok(answering) => answer(answering).await,
                Err(_) => None,
            };
            let reply = DriverMessage::Replied {
                number,
                asking,
                given,
            };
            // The receiver is closed only when the run has ended.
            let _ = sender.send(reply).await;
        });
        let task = AbortOnDropHandle::new(task);
        let open = Open {
            number,
            _task: task,
        };
        self.open.insert(path, open);
    }

    /// Stops asking a question.
    pub(super) fn stop(&mut self, path: &str) {
        self.open.remove(path);
    }

    /// Closes a question that was replied to. Returns false if it is not being asked any more.
    pub(super) fn close(&mut self, path: &str, number: u64) -> bool {
        let is_open = self
            .open
            .get(path)
            .is_some_and(|open| open.number == number);
        if is_open {
            self.open.remove(path);
        }
        is_open
    }
}

/// Returns the answer; `None` after a panic.
async fn answer(mut answering: Answering) -> Option<SubmittedAnswer> {
    poll_fn(|context| {
        let polled = catch_unwind(AssertUnwindSafe(|| answering.as_mut().poll(context)));
        polled.unwrap_or(Poll::Ready(None))
    })
    .await
}
