//! The tool `proc.run`: an allowed program without a shell, with bounded output, and stopped with all its children.

use std::path::PathBuf;
use std::sync::Arc;

use planrun_lang::call::{Answer, CallError};
use planrun_lang::permission::{Permissions, ReachedProgram};
use planrun_lang::protocol::Sent;
use planrun_lang::types::{
    Effect, ErrorClass, Field, Parameter, Rest, Signature, Type, Validation,
};
use planrun_lang::value::Value;
use tokio::process::Command;

use super::run::{Bounds, Ended, run};
use super::surroundings::command;
use crate::host::Host;
use crate::tools::{BoxFuture, Conversation, Described, Request, Transport, described};

/// Where programs find the key that is equal for every attempt.
pub(in crate::tools) const KEY_VARIABLE: &str = "PLANRUN_IDEMPOTENCY_KEY";

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
            Ok(command) => Conversation::with_events(|events| async move {
                let input = request.arguments.get("stdin").and_then(Value::as_str);
                let input = input.unwrap_or_default().as_bytes().to_vec();
                let told = (&request.cancel, events);
                run(command, input, Bounds::default(), told)
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
        let mut command = command(program.path());
        command.args(rest).current_dir(self.folder(arguments)?);
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

/// What a program that has ended gives.
fn answer(ended: &Ended) -> Answer {
    let text = |output: &[u8]| Value::from(String::from_utf8_lossy(output).into_owned());
    Answer::Value(Value::object([
        ("code", Value::Int(ended.code.into())),
        ("stdout", text(&ended.stdout)),
        ("stderr", text(&ended.stderr)),
    ]))
}

fn wrong(message: String) -> CallError {
    let class = ErrorClass::Validation(Validation::Arguments);
    CallError::new(class, message, Sent::No)
}
