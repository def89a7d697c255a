//! The tool `proc.run`: runs an allowed program without a shell, with bounded output, and stops it together with all
//! its children.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use planrun_lang::builtins::refused_argument;
use planrun_lang::call::{Answer, CallError};
use planrun_lang::permission::{Permissions, ReachedProgram};
use planrun_lang::types::{Effect, Field, Parameter, Rest, Signature, Type};
use planrun_lang::value::Value;
use tokio::process::Command;

use super::context::command;
use super::run::{Bounds, Ended, run};
use crate::host::{FileKind, Host};
use crate::tools::invalid_arguments;
use crate::tools::{BoxFuture, Conversation, Described, Request, Transport, described};

/// The environment variable that contains the idempotency key, which is the same for every attempt.
pub(in crate::tools) const KEY_VARIABLE: &str = "PLANRUN_IDEMPOTENCY_KEY";

/// The transport of `proc.run`.
pub struct ProcessTool {
    pub host: Arc<dyn Host>,
    pub permissions: Arc<Permissions>,
    /// The working directory if a call does not set one.
    pub root: PathBuf,
    pub signature: Arc<Signature>,
}

/// Returns the contract of `proc.run`.
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
            "Runs an allowed program, without a shell, and returns its exit code and output."
                .into(),
        ),
        parameters: vec![
            parameter(
                "argv",
                Type::String.list(),
                true,
                "The program and its arguments, one per element.",
            ),
            parameter("stdin", Type::String, false, "Text for its standard input."),
            parameter(
                "env",
                Type::String.map(),
                false,
                "Variables to set in addition to the allowed ones.",
            ),
            parameter(
                "cwd",
                Type::String,
                false,
                "The folder to run in, inside the project.",
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
        match request
            .require_no_handle()
            .and_then(|()| self.command(&request))
        {
            Ok(command) => Conversation::with_events(|events| async move {
                let input = request.arguments.get("stdin").and_then(Value::as_str);
                let input = input.unwrap_or_default().as_bytes().to_vec();
                let control = (&request.cancel, events);
                run(command, input, Bounds::default(), control)
                    .await
                    .map(|ended| answer(&ended))
            }),
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
        if let Some(message) = refused("argv", arguments) {
            return Err(invalid_arguments(message));
        }
        let argv = arguments
            .get("argv")
            .and_then(Value::as_list)
            .unwrap_or_default();
        let argv: Vec<&str> = argv.iter().filter_map(Value::as_str).collect();
        let Some((program, rest)) = argv.split_first() else {
            return Err(invalid_arguments("argv is missing"));
        };
        let program = ReachedProgram::of(&*self.host, &self.root, program);
        self.permissions.run(&program)?;
        let sets_path = arguments.get("env").and_then(|env| env.get("PATH"));
        let mut command = match sets_path.and_then(|_| self.found(program.path())) {
            Some(file) => command(&file),
            None => command(program.path()),
        };
        command.args(rest).current_dir(self.folder(arguments)?);
        self.set_environment(&mut command, request)?;
        Ok(command)
    }

    /// Returns the file of a program in planrun's own search path, if the program is a word. The system would look in
    /// the search path that the call sets for the program, where the word may mean another file than the allowed one.
    fn found(&self, word: &Path) -> Option<PathBuf> {
        let search = self.host.variable("PATH")?;
        let is_word = word.components().count() == 1;
        let mut files = std::env::split_paths(&search).map(|folder| folder.join(word));
        files.find(|file| is_word && matches!(self.host.kind(file), Ok(FileKind::File)))
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
        let folder = folder
            .map_err(|_| invalid_arguments(format!("the folder {written} does not exist")))?;
        if !folder.starts_with(&root) {
            self.permissions.read(&folder, written)?;
        }
        Ok(folder)
    }

    /// Sets the environment. Only the search path, the variables in `allow.env`, the idempotency key, and what the call
    /// sets and may set are passed on.
    fn set_environment(&self, command: &mut Command, request: &Request) -> Result<(), CallError> {
        if let Some(path) = self.host.variable("PATH") {
            command.env("PATH", path);
        }
        for name in self.permissions.env_names() {
            if let Some(value) = self.host.variable(name) {
                command.env(name, value);
            }
        }
        if let Some(message) = refused("env", &request.arguments) {
            return Err(invalid_arguments(message));
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
            command.env(name, value.as_str().unwrap_or_default());
        }
        command.env(KEY_VARIABLE, &*request.idempotency_key);
        Ok(())
    }
}

/// Returns the answer for a program that has exited.
fn answer(ended: &Ended) -> Answer {
    let text = |output: &[u8]| Value::from(String::from_utf8_lossy(output).into_owned());
    Answer::Value(Value::object([
        ("code", Value::Int(ended.code.into())),
        ("stdout", text(&ended.stdout)),
        ("stderr", text(&ended.stderr)),
    ]))
}

fn refused(argument: &str, arguments: &Value) -> Option<String> {
    refused_argument(("proc", "run"), argument, arguments.get(argument)?)
}
