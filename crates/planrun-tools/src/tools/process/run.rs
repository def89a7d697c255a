//! Runs a program to its end: feeds its input, reads its output, enforces its limits, and stops everything that it has
//! started.

use std::process::ExitStatus;

use std::time::Duration;

use parking_lot::Mutex;
use planrun_lang::call::CallError;
use planrun_lang::protocol::Sent;
use planrun_lang::types::{ErrorClass, Transient, Validation};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;

use super::{GRACE, ProcessGroup};
use crate::tools::{EventSender, Progress, failed};

/// Default limit of each output of a program, in bytes.
pub(in crate::tools) const MAX_OUTPUT_BYTES: usize = 8 * 1024 * 1024;

/// The resource limits of a program.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Maximum size of each output, in bytes.
    pub output: usize,
    /// Maximum running time; `None` if only the timeout of the attempt applies.
    pub time: Option<Duration>,
    /// Maximum size of the address space, in bytes; `None` for the default of the system.
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

/// The result of a program that has exited by itself.
pub(super) struct Ended {
    pub code: i32,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

/// Runs a program to its end. Returns an error if the program cannot be started, is stopped, exceeds its limits or is
/// killed. Once it has been started, it may have had its effect.
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
            let message = format!("the memory of {program} cannot be limited: {problem}");
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
        ended = communicate(child, input, bounds.output, &mut group, events) => ended,
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
                format!("did not end within {:?}", bounds.time.unwrap_or_default()),
            ),
            Self::TooMuch => (
                ErrorClass::Validation(Validation::Result),
                Sent::Answered,
                format!("wrote more than {} bytes", bounds.output),
            ),
            Self::Broken(problem) => (
                ErrorClass::Tool("failed".into()),
                Sent::Maybe,
                format!("stopped communicating: {problem}"),
            ),
        };
        CallError::new(class, format!("{program} {what}"), sent)
    }
}

fn not_started(program: &str, problem: &std::io::Error) -> CallError {
    let reason = match problem.kind() {
        std::io::ErrorKind::NotFound => "there is no such program".to_owned(),
        std::io::ErrorKind::PermissionDenied => "it is not executable".to_owned(),
        _ => problem.to_string(),
    };
    let message = format!("{program}: {reason}");
    failed(message, Sent::No)
}

/// Feeds and drains the program concurrently, so that neither side blocks forever. When it exits, everything that it
/// has left running is killed, because such processes may keep its outputs open.
async fn communicate(
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
            // A program that does not read its whole input has not failed.
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
            // A process that was not found may keep the outputs open; they are waited for only for the grace period.
            if let Ok(exchanged) = tokio::time::timeout(GRACE, &mut exchange).await {
                exchanged?;
            }
            status?
        }
    };
    drop(exchange);
    Ok((status, stdout, stderr))
}

/// Counts the bytes that a program has written. The output itself is not reported, because it may contain secrets.
struct Written {
    bytes: usize,
    events: EventSender,
}

impl Written {
    fn add(&mut self, bytes: usize) {
        self.bytes += bytes;
        let message = format!("{} bytes of output", self.bytes);
        self.events.progress(Progress::message(&message));
    }
}

/// Reads a pipe to its end.
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
        let mut written = written.lock();
        written.add(read);
    }
}
