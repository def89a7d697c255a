//! The tool `proc.run`: an allowed program without a shell, with bounded output, and stopped with all its children.

use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use planrun_lang::call::{Answer, CallError, CallOutcome};
use planrun_lang::permission::{Permissions, ReachedProgram};
use planrun_lang::protocol::Sent;
use planrun_lang::types::{
    Effect, ErrorClass, Field, Parameter, Rest, Signature, Transient, Type, Validation,
};
use planrun_lang::value::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};

use super::process_group::{GRACE, ProcessGroup};
use super::{
    BoxFuture, Conversation, Described, EventSender, Progress, Request, Transport, described,
};
use crate::host::Host;

/// What a program may write to each of its outputs.
pub(super) const MOST_OUTPUT_BYTES: usize = 8 * 1024 * 1024;
/// Where programs find the key that is equal for every attempt.
pub(super) const KEY_VARIABLE: &str = "PLANRUN_IDEMPOTENCY_KEY";

/// The transport of `proc.run`.
pub struct ProcessTool {
    pub host: Arc<dyn Host>,
    pub permissions: Arc<Permissions>,
    /// Where programs run when a call does not say.
    pub root: PathBuf,
    pub signature: Arc<Signature>,
}

/// The contract of `proc.run`.
#[must_use]
pub fn process_signature() -> Signature {
    let parameter = |name: &str, ty: Type, required: bool, description: &str| Parameter {
        name: name.into(),
        ty,
        required,
        description: Some(description.into()),
        schema: None,
        default: None,
    };
    let field = |name: &str, ty: Type| Field {
        name: name.into(),
        ty,
        required: true,
    };
    let returns = vec![
        field("code", Type::Int),
        field("stdout", Type::String),
        field("stderr", Type::String),
    ];
    Signature {
        description: Some(
            "Runs an allowed program, without a shell, and gives its exit code and output.".into(),
        ),
        parameters: vec![
            parameter(
                "argv",
                Type::String.list(),
                true,
                "The program and its arguments, one an element.",
            ),
            parameter("stdin", Type::String, false, "Text for its standard input."),
            parameter(
                "env",
                Type::String.map(),
                false,
                "Variables that it gets beside the allowed ones.",
            ),
            parameter(
                "cwd",
                Type::String,
                false,
                "The folder to run in, inside of the project.",
            ),
        ],
        returns: Type::object(returns, Rest::Closed),
        effect: Effect::Effect,
        effect_declared: true,
        raises: vec!["failed".into()],
        ..Signature::unknown("proc".into(), "run".into())
    }
}

impl Transport for ProcessTool {
    fn call(&self, request: Request) -> Conversation {
        match request.begins().and_then(|()| self.command(&request)) {
            Ok(command) => Conversation::with_events(|events| run(command, request, events)),
            Err(error) => Conversation::Now(Err(error)),
        }
    }

    fn describe(&self) -> BoxFuture<'_, Described> {
        described([self.signature.clone()])
    }
}

impl ProcessTool {
    fn command(&self, request: &Request) -> Result<Command, CallError> {
        let arguments = &request.arguments;
        let argv = arguments
            .get("argv")
            .and_then(Value::as_list)
            .unwrap_or_default();
        let argv: Vec<&str> = argv.iter().filter_map(Value::as_str).collect();
        let Some((program, rest)) = argv
            .split_first()
            .filter(|(program, _)| !program.is_empty())
        else {
            return Err(wrong("argv names no program".into()));
        };
        if argv.iter().any(|word| word.contains('\0')) {
            return Err(wrong("argv has a zero byte".into()));
        }
        let program = ReachedProgram::of(&*self.host, &self.root, program);
        self.permissions.run(&program)?;
        let mut command = Command::new(program.path());
        command.args(rest).current_dir(self.folder(arguments)?);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        self.set_environment(&mut command, request)?;
        Ok(command)
    }

    fn folder(&self, arguments: &Value) -> Result<PathBuf, CallError> {
        let root = self
            .host
            .canonical(&self.root)
            .unwrap_or_else(|_| self.root.clone());
        let Some(written) = arguments.get("cwd").and_then(Value::as_str) else {
            return Ok(root);
        };
        let folder = self.host.canonical(&self.root.join(written));
        let folder = folder.map_err(|_| wrong(format!("the folder {written} does not exist")))?;
        if !folder.starts_with(&root) {
            self.permissions.read(&folder, written)?;
        }
        Ok(folder)
    }

    /// Nothing is inherited but the search path, what `allow.env` lists and what the call sets and may set.
    fn set_environment(&self, command: &mut Command, request: &Request) -> Result<(), CallError> {
        command.env_clear();
        if let Some(path) = self.host.variable("PATH") {
            command.env("PATH", path);
        }
        for name in self.permissions.env_names() {
            if let Some(value) = self.host.variable(name) {
                command.env(name, value);
            }
        }
        for (name, value) in request
            .arguments
            .get("env")
            .and_then(Value::as_map)
            .into_iter()
            .flatten()
        {
            let name = name.to_string();
            self.permissions.env(&name)?;
            let value = value.as_str().unwrap_or_default();
            if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
                return Err(wrong(format!("`{name}` cannot be set as a variable")));
            }
            command.env(name, value);
        }
        command.env(KEY_VARIABLE, &*request.idempotency_key);
        Ok(())
    }
}

async fn run(mut command: Command, request: Request, events: EventSender) -> CallOutcome {
    let program = command
        .as_std()
        .get_program()
        .to_string_lossy()
        .into_owned();
    let started = ProcessGroup::start(&mut command);
    let (mut group, child) = started.map_err(|problem| not_started(&program, &problem))?;
    let input = request
        .arguments
        .get("stdin")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let work = converse((child, &mut group), input.to_owned(), events);
    let Some(ended) = request.cancel.run_until_cancelled(work).await else {
        group.stop().await;
        return Err(CallError {
            class: ErrorClass::Cancelled,
            message: format!("{program} was stopped before it ended"),
            sent: Sent::Maybe,
            retry_after: None,
        });
    };
    let ended = ended.map_err(|problem| failed(format!("{program}: {problem}"), Sent::Maybe))?;
    answer(&program, ended)
}

fn not_started(program: &str, problem: &std::io::Error) -> CallError {
    let reason = match problem.kind() {
        std::io::ErrorKind::NotFound => "there is no such program".to_owned(),
        std::io::ErrorKind::PermissionDenied => "it is no program that may be run".to_owned(),
        _ => problem.to_string(),
    };
    failed(format!("{program}: {reason}"), Sent::No)
}

/// What a program that has ended gives.
fn answer(program: &str, (status, stdout, stderr): (ExitStatus, Output, Output)) -> CallOutcome {
    let error = |class: ErrorClass, message: String, sent: Sent| CallError {
        class,
        message,
        sent,
        retry_after: None,
    };
    if stdout.too_much || stderr.too_much {
        let message = format!("{program} wrote more than {MOST_OUTPUT_BYTES} bytes");
        let class = ErrorClass::Validation(Validation::Result);
        return Err(error(class, message, Sent::Answered));
    }
    let Some(code) = status.code() else {
        let message = format!("{program} was killed before it ended");
        let class = ErrorClass::Transient(Transient::Unavailable);
        return Err(error(class, message, Sent::Maybe));
    };
    let text = |output: Output| Value::from(String::from_utf8_lossy(&output.bytes).into_owned());
    Ok(Answer::Value(Value::object([
        ("code", Value::Int(code.into())),
        ("stdout", text(stdout)),
        ("stderr", text(stderr)),
    ])))
}

/// Feeds and drains the program at the same time, so that neither side waits for the other for ever. When the program has ended,
/// so has the call: what it left behind is stopped, and may hold its pipes no longer than [`GRACE`].
async fn converse(
    (mut child, group): (Child, &mut ProcessGroup),
    input: String,
    events: EventSender,
) -> std::io::Result<(ExitStatus, Output, Output)> {
    let (stdin, pipes) = (
        child.stdin.take(),
        (child.stdout.take(), child.stderr.take()),
    );
    let feed = async move {
        if let Some(mut stdin) = stdin {
            // A program that does not read its input to the end is no failure.
            let _ = stdin.write_all(input.as_bytes()).await;
        }
    };
    let written = Written { bytes: 0, events };
    let written = Mutex::new(written);
    let (mut stdout, mut stderr) = (Output::default(), Output::default());
    let mut draining = Box::pin(async {
        let (out, err) = (
            drain(pipes.0, &mut stdout, &written),
            drain(pipes.1, &mut stderr, &written),
        );
        let ((), out, err) = tokio::join!(feed, out, err);
        out.and(err)
    });
    let status = tokio::select! {
        status = child.wait() => {
            group.end().await;
            if let Ok(drained) = tokio::time::timeout(GRACE, &mut draining).await {
                drained?;
            }
            status?
        }
        drained = &mut draining => {
            drained?;
            let status = child.wait().await?;
            group.end().await;
            status
        }
    };
    drop(draining);
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
        self.events.progress(Progress::message(&format!(
            "{} bytes of output",
            self.bytes
        )));
    }
}

#[derive(Default)]
struct Output {
    bytes: Vec<u8>,
    too_much: bool,
}

/// Reads to the end, and keeps no more than is allowed.
async fn drain(
    pipe: Option<impl AsyncRead + Unpin>,
    output: &mut Output,
    written: &Mutex<Written>,
) -> std::io::Result<()> {
    let Some(mut pipe) = pipe else {
        return Ok(());
    };
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let read = pipe.read(&mut buffer).await?;
        if read == 0 {
            return Ok(());
        }
        let room = MOST_OUTPUT_BYTES - output.bytes.len();
        output.too_much |= read > room;
        output.bytes.extend_from_slice(&buffer[..read.min(room)]);
        written
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .add(read);
    }
}

fn failed(message: String, sent: Sent) -> CallError {
    CallError {
        class: ErrorClass::Tool("failed".into()),
        message,
        sent,
        retry_after: None,
    }
}

fn wrong(message: String) -> CallError {
    let class = ErrorClass::Validation(Validation::Arguments);
    CallError {
        class,
        message,
        sent: Sent::No,
        retry_after: None,
    }
}
