//! A server that is a program: started in its own process group, with the end of its error output kept.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::task::JoinHandle;

use super::McpAddress;
use super::lines::Lines;
use super::open_calls::OpenCalls;
use crate::host::Host;
use crate::tools::process::ProcessGroup;

/// Number of bytes that are kept from the end of the error output.
const MAX_ERROR_OUTPUT: usize = 4 * 1024;
/// How long to wait for the end of the error output of a program that could not be used.
const ERROR_OUTPUT_TIMEOUT: Duration = Duration::from_millis(500);

/// A running program. On drop, it and everything that it has started are killed.
pub(super) struct Program {
    group: ProcessGroup,
    child: Child,
    /// Present if it has an error output.
    errors: Option<ErrorOutput>,
}

/// The error output of a program while it is read.
struct ErrorOutput {
    kept: Arc<Mutex<Vec<u8>>>,
    reading: JoinHandle<()>,
}

pub(super) type Pipes = (Lines<ChildStdout>, ChildStdin);

impl Program {
    /// Starts the program of a server. Fails with one sentence that states why it cannot be started.
    pub(super) fn start(
        address: &McpAddress,
        host: &dyn Host,
        calls: &OpenCalls,
    ) -> Result<(Self, Pipes), String> {
        let McpAddress::Program { command, context } = address else {
            return Err("it is not a program".to_owned());
        };
        let Some((name, arguments)) = command.split_first() else {
            return Err("its command is empty".to_owned());
        };
        let mut command = context.command(name, host);
        command.args(arguments).kill_on_drop(true);
        let started = ProcessGroup::start(&mut command);
        let (group, mut child) = started.map_err(|problem| match problem.kind() {
            std::io::ErrorKind::NotFound => {
                format!("there is no program `{name}`; install it, or correct `command`")
            }
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

    /// Returns the last line of the error output. Waits a limited time for a program that is exiting. It is untrusted
    /// text.
    pub(super) async fn last_error_line(mut self) -> Option<String> {
        let errors = self.errors.as_mut()?;
        // On a timeout the program is still running, and the lines so far are used.
        let _ = tokio::time::timeout(ERROR_OUTPUT_TIMEOUT, &mut errors.reading).await;
        let kept = errors.kept.lock();
        let text = String::from_utf8_lossy(&kept);
        let line = text.lines().map(str::trim).rfind(|line| !line.is_empty());
        line.map(str::to_owned)
    }

    /// Asks the program to stop and waits for that.
    pub(super) async fn stop(mut self) {
        // An exited process remains a zombie, and its group exists, until it is waited for.
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

/// Reads to the end and keeps the last [`MAX_ERROR_OUTPUT`] bytes.
async fn keep_the_end(mut output: impl AsyncRead + Unpin, kept: Arc<Mutex<Vec<u8>>>) {
    let mut buffer = [0; 1024];
    while let Ok(read @ 1..) = output.read(&mut buffer).await {
        let mut kept = kept.lock();
        kept.extend(buffer.iter().take(read));
        let excess = kept.len().saturating_sub(MAX_ERROR_OUTPUT);
        kept.drain(..excess);
    }
}
