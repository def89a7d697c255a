//! Calls that do not end, or that never stop reporting: the driver bounds both.

use std::future::pending;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::Stream;
use planrun_lang::call::Answer;
use planrun_tools::tools::{
    BoxFuture, CallEvent, Conversation, Described, Progress, Request, Transport, described,
};
use serde_json::json;

use super::CALL;
use crate::world::{World, after, give};

/// A tool whose calls never end, even if they are told to stop.
struct Stuck {
    /// Whether the work of its call was dropped.
    dropped: Arc<AtomicBool>,
}

struct SetsWhenDropped(Arc<AtomicBool>);

impl Drop for SetsWhenDropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl Transport for Stuck {
    fn call(&self, _: Request) -> Conversation {
        let work = SetsWhenDropped(self.dropped.clone());
        Conversation::from_future(async move {
            let _work = work;
            pending().await
        })
    }

    fn describe(&self) -> BoxFuture<'_, Described> {
        described([])
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_does_not_end_when_it_is_stopped_is_cut_off() {
    let dropped = Arc::new(AtomicBool::new(false));
    let stuck = Stuck {
        dropped: dropped.clone(),
    };
    let world = World::new()
        .wired("peer.stuck", Arc::new(stuck))
        .tool("peer.quick", [after(10, give(json!(1)))]);
    let text = "use peer\ntool peer.stuck() -> int read\ntool peer.quick() -> int read\n\
                plan p() -> any {\n    step a = race { s: peer.stuck(), q: peer.quick() }\n    reply a\n}\n";
    let ran = world.run(text).await;
    assert_eq!((ran.reply(), ran.took), (json!(1), 10));
    assert!(!dropped.load(Ordering::SeqCst), "it has time to clean up");
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(dropped.load(Ordering::SeqCst));
}

/// A tool that reports progress without a pause.
struct Flood {
    /// Number of reports; after these the call ends.
    reports: usize,
    /// Number of reports since another task had its turn, and the maximum of it.
    in_a_row: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

struct Reports {
    left: usize,
    in_a_row: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

impl Stream for Reports {
    type Item = CallEvent;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<CallEvent>> {
        if self.left == 0 {
            return Poll::Ready(Some(CallEvent::Done(Ok(Answer::Json(json!(1))))));
        }
        self.left -= 1;
        let count = self.in_a_row.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(count, Ordering::SeqCst);
        Poll::Ready(Some(CallEvent::Progress(Progress::message("on"))))
    }
}

impl Transport for Flood {
    fn call(&self, _: Request) -> Conversation {
        Conversation::from_stream(Reports {
            left: self.reports,
            in_a_row: self.in_a_row.clone(),
            most: self.most.clone(),
        })
    }

    fn describe(&self) -> BoxFuture<'_, Described> {
        described([])
    }
}

#[tokio::test]
async fn a_call_that_reports_faster_than_the_run_listens_has_to_wait() {
    let (in_a_row, most) = (Arc::new(AtomicUsize::new(0)), Arc::default());
    let flood = Flood {
        reports: 5_000,
        in_a_row: in_a_row.clone(),
        most: Arc::clone(&most),
    };
    // On this single-threaded runtime, another task has its turn only when the call waits.
    let turns = tokio::spawn(async move {
        loop {
            in_a_row.store(0, Ordering::SeqCst);
            tokio::task::yield_now().await;
        }
    });
    let ran = World::new()
        .wired("peer.call", Arc::new(flood))
        .run(CALL)
        .await;
    turns.abort();
    assert_eq!((ran.reply(), ran.progress.len()), (json!(1), 5_000));
    let most = most.load(Ordering::SeqCst);
    assert!(most <= 300, "{most} reports in a row");
}
