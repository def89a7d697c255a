//! A program run to its end: fed and drained, within its bounds, and gone with all that it has started.

use std::process::ExitStatus;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use planrun_lang::call::CallError;
use planrun_lang::protocol::Sent;
use planrun_lang::types::{ErrorClass, Transient, Validation};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;

use super::{GRACE, ProcessGroup};
use crate::tools::{EventSender, Progress};

/// What a program may write to each of its outputs, unless something else is said of it.
pub(in crate::tools) const MAX_OUTPUT_BYTES: usize = 8 * 1024 * 1024;

/// What a program may use up.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Bytes that it may write to each of its outputs.
    pub output: usize,
    /// How long it may run; `None` for as long as its attempt.
    pub time: Option<Duration>,
    /// The size of its address space in bytes; `None` for whatever the system gives.
    pub memory: Option<u64>,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            output: MAX_OUTPUT_BYTES,
            time: None,
            memory: None,
        }
    }
}

/// What a program that has ended by itself leaves behind.
pub(super) struct Ended {
    pub code: i32,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

/// Runs a program to its end.
///
/// # Errors
/// Where it cannot be started, is stopped, does not keep to its bounds or is killed. Once it was started it may have had its
/// effect.
pub(super) async fn run(
    mut command: Command,
    input: Vec<u8>,
    bounds: Bounds,
    (cancel, events): (&CancellationToken, EventSender),
) -> Result<Ended, CallError> {
    let program = command
        .as_std()
        .get_program()
        .to_string_lossy()
        .into_owned();
    let started = ProcessGroup::start(&mut command);
    let (mut group, child) = started.map_err(|problem| not_started(&program, &problem))?;
    if let Some(bytes) = bounds.memory {
        group.bound_memory(bytes).map_err(|problem| {
            let message = format!("the memory of {program} cannot be bounded: {problem}");
            CallError::new(ErrorClass::Internal, message, Sent::Maybe)
        })?;
    }
    let stopped = async {
        match bounds.time {
            Some(time) => tokio::time::sleep(time).await,
            None => std::future::pending().await,
        }
    };
    let ended = tokio::select! {
        biased;
        ended = converse(child, input, bounds.output, &mut group, events) => ended,
        () = cancel.cancelled() => Err(Stop::Cancelled),
        () = stopped => Err(Stop::Late),
    };
    let (status, stdout, stderr) = match ended {
        Ok(ended) => ended,
        Err(stop) => {
            group.stop().await;
            return Err(stop.error(&program, bounds));
        }
    };
    let Some(code) = status.code() else {
        let message = format!("{program} was killed before it ended");
        let class = ErrorClass::Transient(Transient::Unavailable);
        return Err(CallError::new(class, message, Sent::Maybe));
    };
    Ok(Ended {
        code,
        stdout,
        stderr,
    })
}

/// Why a program is stopped.
enum Stop {
    Cancelled,
    Late,
    TooMuch,
    Broken(std::io::Error),
}

impl From<std::io::Error> for Stop {
    fn from(problem: std::io::Error) -> Self {
        Self::Broken(problem)
    }
}

impl Stop {
    fn error(self, program: &str, bounds: Bounds) -> CallError {
        let (class, sent, what) = match self {
            Self::Cancelled => (
                ErrorClass::Cancelled,
                Sent::Maybe,
                "was stopped before it ended".to_owned(),
            ),
            Self::Late => (
                ErrorClass::Transient(Transient::Timeout),
                Sent::Maybe,
                format!("has not ended within {:?}", bounds.time.unwrap_or_default()),
            ),
            Self::TooMuch => (
                ErrorClass::Validation(Validation::Result),
                Sent::Answered,
                format!("wrote more than {} bytes", bounds.output),
            ),
            Self::Broken(problem) => (
                ErrorClass::Tool("failed".into()),
                Sent::Maybe,
                format!("cannot be heard any more: {problem}"),
            ),
        };
        CallError::new(class, format!("{program} {what}"), sent)
    }
}

fn not_started(program: &str, problem: &std::io::Error) -> CallError {
    let reason = match problem.kind() {
        std::io::ErrorKind::NotFound => "there is no such program".to_owned(),
        std::io::ErrorKind::PermissionDenied => "it is no program that may be run".to_owned(),
        _ => problem.to_string(),
    };
    let message = format!("{program}: {reason}");
    CallError::new(ErrorClass::Tool("failed".into()), message, Sent::No)
}

/// Feeds and drains the program at the same time, so that neither side waits for the other for ever. With its end that of
/// everything comes that it has left running, which may hold its outputs.
async fn converse(
    mut child: Child,
    input: Vec<u8>,
    max_output: usize,
    group: &mut ProcessGroup,
    events: EventSender,
) -> Result<(ExitStatus, Vec<u8>, Vec<u8>), Stop> {
    let (stdin, pipes) = (
        child.stdin.take(),
        (child.stdout.take(), child.stderr.take()),
    );
    let feed = async move {
        if let Some(mut stdin) = stdin {
            // A program that does not read its input to the end is no failure.
            let _ = stdin.write_all(&input).await;
        }
        Ok(())
    };
    let written = Mutex::new(Written { bytes: 0, events });
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let mut exchange = Box::pin(async {
        let (out, err) = (
            drain(pipes.0, (&mut stdout, max_output), &written),
            drain(pipes.1, (&mut stderr, max_output), &written),
        );
        tokio::try_join!(feed, out, err)
    });
    let status = tokio::select! {
        exchanged = &mut exchange => {
            exchanged?;
            let status = child.wait().await?;
            group.end().await;
            status
        }
        status = child.wait() => {
            group.end().await;
            // Whoever was not found may hold its outputs no longer.
            if let Ok(exchanged) = tokio::time::timeout(GRACE, &mut exchange).await {
                exchanged?;
            }
            status?
        }
    };
    drop(exchange);
    Ok((status, stdout, stderr))
}

/// How much a program has written. What it has written is not told: it may hold what nobody may see.
struct Written {
    bytes: usize,
    events: EventSender,
}

impl Written {
    fn add(&mut self, bytes: usize) {
        self.bytes += bytes;
        let told = format!("{} bytes of output", self.bytes);
        self.events.progress(Progress::message(&told));
    }
}

/// Reads to the end.
async fn drain(
    pipe: Option<impl AsyncRead + Unpin>,
    (output, max_bytes): (&mut Vec<u8>, usize),
    written: &Mutex<Written>,
) -> Result<(), Stop> {
    let Some(mut pipe) = pipe else {
        return Ok(());
    };
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let read = pipe.read(&mut buffer).await?;
        if read == 0 {
            return Ok(());
        }
        if read > max_bytes - output.len() {
            return Err(Stop::TooMuch);
        }
        output.extend(buffer.iter().take(read));
        let mut written = written.lock().unwrap_or_else(PoisonError::into_inner);
        written.add(read);
    }
}
