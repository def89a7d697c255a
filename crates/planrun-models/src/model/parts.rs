//! Streams of parts, produced by work that only runs while the stream is polled.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use tokio::sync::mpsc;

use super::{ModelError, Part};

/// The parts of an answer. Dropping the stream ends the work behind it.
pub type Parts = Pin<Box<dyn Stream<Item = Result<Part, ModelError>> + Send>>;

/// Number of unread parts after which the work pauses.
const MAX_WAITING: usize = 16;

/// The sending side of a stream of parts.
#[derive(Debug)]
pub struct PartSender {
    parts: mpsc::Sender<Result<Part, ModelError>>,
    has_begun: bool,
}

impl PartSender {
    /// Sends a part, once there is room for it.
    pub async fn send(&mut self, part: Part) {
        self.has_begun |= part.is_of_answer();
        // A reader that stops drops this work together with the stream.
        let _ = self.parts.send(Ok(part)).await;
    }

    /// Returns true if a part of the answer itself has been sent, so that another answer could not follow it.
    pub fn has_begun(&self) -> bool {
        self.has_begun
    }
}

/// Returns the parts that `work` sends, followed by its error, if any.
pub fn produce<W, F>(work: W) -> Parts
where
    W: FnOnce(PartSender) -> F + Send + 'static,
    F: Future<Output = Result<(), ModelError>> + Send + 'static,
{
    let (sender, parts) = mpsc::channel(MAX_WAITING);
    let errors = sender.clone();
    let work = async move {
        let sender = PartSender {
            parts: sender,
            has_begun: false,
        };
        if let Err(error) = work(sender).await {
            let _ = errors.send(Err(error)).await;
        }
    };
    Box::pin(Produced {
        parts,
        work: Some(Box::pin(work)),
    })
}

/// Returns the next part; `None` at the end.
pub async fn next(parts: &mut Parts) -> Option<Result<Part, ModelError>> {
    poll_fn(|context| parts.as_mut().poll_next(context)).await
}

struct Produced {
    parts: mpsc::Receiver<Result<Part, ModelError>>,
    work: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl Stream for Produced {
    type Item = Result<Part, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Poll::Ready(item) = self.parts.poll_recv(context) {
            return Poll::Ready(item);
        }
        if let Some(work) = &mut self.work
            && work.as_mut().poll(context).is_ready()
        {
            self.work = None;
        }
        self.parts.poll_recv(context)
    }
}
