//! The body of an answer: split into pieces, stalled, or cut off.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes};
use futures_core::Stream;
use tokio::time::{Sleep, sleep};

use super::event::Event;
use super::script::{Chunks, Delivery};

/// Maximum size of a randomly sized piece, in bytes.
const MAX_DRAWN: usize = 48;

/// Returns the body that delivers these events.
pub(super) fn body(events: Vec<Event>, delivery: &Delivery) -> Body {
    let end = match (delivery.stall, delivery.cut) {
        (Some(_), _) => End::Stalled,
        (None, Some(_)) => End::Cut,
        (None, None) => End::Complete,
    };
    let mut tokens = 0;
    let most = delivery.stall.unwrap_or(usize::MAX);
    let events = events.into_iter().take_while(|event| {
        let held_back = tokens >= most;
        tokens += usize::from(event.is_token);
        !held_back
    });
    let mut pieces: Vec<Vec<u8>> = events.map(|event| event.text.into_bytes()).collect();
    if let Some(most) = delivery.cut {
        let mut whole = pieces.concat();
        whole.truncate(most);
        pieces = vec![whole];
    }
    let pieces = match &delivery.chunks {
        Chunks::Events => pieces,
        Chunks::Sizes(sizes) => cut(&pieces.concat(), sizes.iter().copied().cycle()),
        Chunks::Seed(seed) => {
            let mut draw = fastrand::Rng::with_seed(*seed);
            let sizes = std::iter::repeat_with(move || draw.usize(1..=MAX_DRAWN));
            cut(&pieces.concat(), sizes)
        }
    };
    Body::from_stream(Pieces {
        left: pieces.into_iter().map(Bytes::from).collect(),
        end,
        pace: delivery.pace,
        sent: true,
        waits: None,
    })
}

fn cut(mut bytes: &[u8], sizes: impl Iterator<Item = usize>) -> Vec<Vec<u8>> {
    let mut pieces = Vec::new();
    for size in sizes {
        if bytes.is_empty() {
            break;
        }
        let (piece, rest) = bytes.split_at(size.min(bytes.len()));
        pieces.push(piece.to_vec());
        bytes = rest;
    }
    pieces
}

/// A body that sends each piece separately.
struct Pieces {
    left: VecDeque<Bytes>,
    end: End,
    /// Pause between two pieces.
    pace: Duration,
    /// Whether the connection had a chance to send the last piece before the next one.
    sent: bool,
    waits: Option<Pin<Box<Sleep>>>,
}

#[derive(Clone, Copy)]
enum End {
    Complete,
    /// No more data arrives, and the connection stays open.
    Stalled,
    /// The connection is reset.
    Cut,
}

impl Stream for Pieces {
    type Item = io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if !std::mem::replace(&mut self.sent, true) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        if let Some(waits) = &mut self.waits {
            ready!(waits.as_mut().poll(context));
            self.waits = None;
        }
        match (self.left.pop_front(), self.end) {
            (Some(piece), _) => {
                self.sent = false;
                if !self.pace.is_zero() {
                    self.waits = Some(Box::pin(sleep(self.pace)));
                }
                Poll::Ready(Some(Ok(piece)))
            }
            (None, End::Complete) => Poll::Ready(None),
            // A client that stops waiting drops the connection, and this stream with it.
            (None, End::Stalled) => Poll::Pending,
            (None, End::Cut) => Poll::Ready(Some(Err(io::ErrorKind::ConnectionReset.into()))),
        }
    }
}
