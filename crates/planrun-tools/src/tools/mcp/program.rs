//! A server that is a program: started in a group of its own, with the end of what it writes to its error output.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::task::JoinHandle;

use super::McpAddress;
use super::lines::Lines;
use super::open_calls::OpenCalls;
use crate::host::Host;
use crate::tools::process::ProcessGroup;

/// How much is kept of what a program writes to its error output, from the end.
const MAX_ERROR_OUTPUT: usize = 4 * 1024;
/// How long the last words of a program that could not be used are waited for.
const LAST_WORDS_TIMEOUT: Duration = Duration::from_millis(500);

/// A running program. Dropping it stops it with all that it has started.
pub(super) struct Program {
    group: ProcessGroup,
    child: Child,
    /// Where it has an error output.
    errors: Option<ErrorOutput>,
}

/// The error output of a program, as it is being read.
struct ErrorOutput {
    kept: Arc<Mutex<Vec<u8>>>,
    reading: JoinHandle<()>,
}

/// The pipes to a program.
pub(super) type Pipes = (Lines<ChildStdout>, ChildStdin);

impl Program {
    /// Starts the program of a server.
    ///
    /// # Errors
    /// One sentence that says why it cannot be started.
    pub(super) fn start(
        address: &McpAddress,
        host: &dyn Host,
        calls: &OpenCalls,
    ) -> Result<(Self, Pipes), String> {
        let McpAddress::Program {
            command,
            surroundings,
        } = address
        else {
            return Err("it is no program".to_owned());
        };
        let Some((name, arguments)) = command.split_first() else {
            return Err("its command is empty".to_owned());
        };
        let mut command = surroundings.command(name, host);
        command.args(arguments).kill_on_drop(true);
        let started = ProcessGroup::start(&mut command);
        let (group, mut child) = started.map_err(|problem| match problem.kind() {
            std::io::ErrorKind::NotFound => format!("there is no program `{name}`"),
            _ => format!("`{name}` cannot be started: {problem}"),
        })?;
        let output = child.stdout.take();
        let output = output.map(|output| Lines::new(output, calls.clone()));
        let pipes = output.zip(child.stdin.take());
        let pipes = pipes.ok_or_else(|| format!("`{name}` has no pipes"))?;
        let errors = child.stderr.take().map(|output| {
            let kept = Arc::default();
            let reading = tokio::spawn(keep_the_end(output, Arc::clone(&kept)));
            ErrorOutput { kept, reading }
        });
        let program = Self {
            group,
            child,
            errors,
        };
        Ok((program, pipes))
    }

    /// The last line that it has written to its error output, which is waited for as long as a program that ends may need.
    /// Text from outside.
    pub(super) async fn last_words(mut self) -> Option<String> {
        let errors = self.errors.as_mut()?;
        // One that goes on has said what it had to say.
        let _ = tokio::time::timeout(LAST_WORDS_TIMEOUT, &mut errors.reading).await;
        let kept = errors.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&kept);
        let line = text.lines().map(str::trim).rfind(|line| !line.is_empty());
        line.map(str::to_owned)
    }

    /// Asks it to stop, and waits for that.
    pub(super) async fn stop(mut self) {
        // What has ended is there until somebody has waited for it.
        let waiting = async {
            let _ = self.child.wait().await;
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = self.group.stop() => {}
            () = waiting => {}
        }
    }
}

/// Reads to the end, and keeps the last [`MAX_ERROR_OUTPUT`] bytes.
async fn keep_the_end(mut output: impl AsyncRead + Unpin, kept: Arc<Mutex<Vec<u8>>>) {
    let mut buffer = [0; 1024];
    while let Ok(read @ 1..) = output.read(&mut buffer).await {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(buffer.iter().take(read));
        let excess = kept.len().saturating_sub(MAX_ERROR_OUTPUT);
        kept.drain(..excess);
    }
}
