//! Writes events to standard output on a thread of its own, so that a slow reader does not hold the run.

use std::io::{self, Write};
use std::mem::take;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};

use planrun_core::journal::{Event, EventKind, LineWriter};
use planrun_lang::diag::render::escape_json;
use serde_json::Value as Json;

/// Size of a chunk in bytes, at which events are handed over even if more are about to follow.
const CHUNK: usize = 16 * 1024;
/// Maximum number of chunks that wait for the reader. The run waits for it only beyond that.
const MAX_CHUNKS: usize = 1024;

/// Standard output for events.
pub struct EventOutput {
    /// Lines that have not been handed over.
    lines: Vec<u8>,
    writer: LineWriter,
    /// The field that names the run in each line; empty if there is none.
    run: String,
    chunks: SyncSender<Vec<u8>>,
    thread: JoinHandle<io::Result<()>>,
}

impl EventOutput {
    /// `run` is the run that each line names, if the output has events of several runs. Returns an error if the thread
    /// cannot be started.
    pub fn new(output: impl Write + Send + 'static, run: Option<&str>) -> io::Result<Self> {
        let (chunks, received) = sync_channel(MAX_CHUNKS);
        let name = "planrun-output".to_owned();
        let thread = Builder::new()
            .name(name)
            .spawn(|| write_all(received, output))?;
        Ok(Self {
            lines: Vec::new(),
            writer: LineWriter::default(),
            run: run
                .map(|run| format!("\"run\":{},", Json::from(run)))
                .unwrap_or_default(),
            chunks,
            thread,
        })
    }

    /// Adds the line of an event.
    pub fn write(&mut self, event: &Event) {
        let mut line = String::from_utf8_lossy(self.writer.line(event));
        // The first event of a run names it anyway.
        if !matches!(event.kind, EventKind::RunStarted { .. }) {
            line.to_mut().insert_str(1, &self.run);
        }
        let line = escape_json(&line);
        self.lines.extend_from_slice(line.as_bytes());
        if self.lines.len() >= CHUNK {
            self.flush();
        }
    }

    /// Hands over all lines. After a write error they are dropped; [`Self::close`] returns the error.
    pub fn flush(&mut self) {
        if !self.lines.is_empty() {
            let _ = self.chunks.send(take(&mut self.lines));
        }
    }

    /// Waits until everything is written. Fails with the first write error.
    pub fn close(mut self) -> io::Result<()> {
        self.flush();
        drop(self.chunks);
        self.thread
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("the thread that writes events panicked")))
    }
}

/// Writes every chunk at once.
fn write_all(chunks: Receiver<Vec<u8>>, mut output: impl Write) -> io::Result<()> {
    chunks
        .into_iter()
        .try_for_each(|chunk| output.write_all(&chunk).and_then(|()| output.flush()))
}
