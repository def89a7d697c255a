//! A hand-written scheduler for comparison: in-degrees, two tokio workers behind channels, one JSON line per step.

use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use tokio::sync::mpsc;

/// The line of one step.
#[derive(Serialize)]
struct Line<'a> {
    path: &'a str,
    status: &'a str,
    /// Milliseconds since the Unix epoch.
    ts: u128,
}

/// Runs steps that do nothing in their order, and returns the number of steps that ran.
///
/// It has the same input as the engine: the names, and the predecessors of each step.
pub async fn run(names: &[String], waits: &[Vec<u32>], mut sink: impl Write) -> usize {
    let mut readers = vec![Vec::new(); waits.len()];
    let mut missing = Vec::with_capacity(waits.len());
    for (step, above) in waits.iter().enumerate() {
        for earlier in above {
            readers[*earlier as usize].push(u32::try_from(step).unwrap_or(u32::MAX));
        }
        missing.push(above.len());
    }
    let (done, mut settled) = mpsc::unbounded_channel();
    let workers = [worker(done.clone()), worker(done)];
    let mut next = 0;
    let mut hand_out = |step: u32| {
        next += 1;
        let _ = workers[next % workers.len()].send(step);
    };
    for (step, missing) in missing.iter().enumerate() {
        if *missing == 0 {
            hand_out(u32::try_from(step).unwrap_or(u32::MAX));
        }
    }
    let mut ran = 0;
    while ran < waits.len() {
        let Some(step) = settled.recv().await else {
            break;
        };
        ran += 1;
        let ts = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_millis());
        let line = Line {
            path: &names[step as usize],
            status: "completed",
            ts,
        };
        if serde_json::to_writer(&mut sink, &line).is_ok() {
            let _ = sink.write_all(b"\n");
        }
        for reader in &readers[step as usize] {
            let missing = &mut missing[*reader as usize];
            *missing -= 1;
            if *missing == 0 {
                hand_out(*reader);
            }
        }
    }
    ran
}

/// Starts a worker that receives steps, does nothing, and reports them as done.
fn worker(done: mpsc::UnboundedSender<u32>) -> mpsc::UnboundedSender<u32> {
    let (sender, mut steps) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some(step) = steps.recv().await {
            if done.send(step).is_err() {
                break;
            }
        }
    });
    sender
}
