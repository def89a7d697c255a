//! Programs of the project as tools: a command with the arguments of a call in it, JSON or text out.

use std::sync::Arc;

use planrun_lang::call::{Answer, CallError, CallOutcome};
use planrun_lang::protocol::Sent;
use planrun_lang::types::{ErrorClass, Signature, Type, Validation, encode};
use planrun_lang::value::Value;
use serde_json::{Map, Value as Json};
use tokio::process::Command;

use super::run::{Ended, run};
use super::{Bounds, KEY_VARIABLE, Surroundings, Word};
use crate::contract::arguments_type;
use crate::host::Host;
use crate::tools::app::Reason;
use crate::tools::{BoxFuture, Conversation, Described, Identity, Request, Transport, described};

/// What a failure tells of a program's last words, in characters.
const TOLD_OF_OUTPUT: usize = 400;

/// A program of the project: a namespace of tools.
#[derive(Clone, Debug)]
pub struct Program {
    /// The name that the project gives it.
    pub name: Arc<str>,
    /// The program, and the words that every call begins with.
    pub command: Vec<String>,
    pub surroundings: Surroundings,
    pub bounds: Bounds,
    pub tools: Vec<ProgramTool>,
    /// What it gets, and must not come back from it.
    pub secrets: Vec<String>,
}

/// One tool of a program.
#[derive(Clone, Debug)]
pub struct ProgramTool {
    pub signature: Arc<Signature>,
    /// The words behind the command.
    pub arguments: Vec<Word>,
    pub input: Input,
    pub output: Output,
    /// What its exit codes mean. One that is not listed means `tool.failed`.
    pub errors: Vec<Reason>,
}

/// What a program finds on its standard input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    Nothing,
    /// All arguments of the call as one JSON object.
    Arguments,
    Text(Word),
}

/// What a program's standard output is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// A string, without the ends of lines behind it.
    Text,
    Json,
}

/// The way to call one tool of a program.
pub(in crate::tools) struct ProgramTransport {
    program: Arc<Program>,
    tool: ProgramTool,
    host: Arc<dyn Host>,
    arguments: Type,
}

impl ProgramTransport {
    pub(in crate::tools) fn new(
        program: Arc<Program>,
        tool: ProgramTool,
        host: Arc<dyn Host>,
    ) -> Self {
        Self {
            program,
            arguments: arguments_type(&tool.signature),
            tool,
            host,
        }
    }

    /// The command of a call, and what it finds on its standard input.
    fn command(&self, request: &Request) -> Result<(Command, Vec<u8>), CallError> {
        let mut arguments = match encode(&request.arguments, &self.arguments) {
            Json::Object(arguments) => arguments,
            _ => Map::new(),
        };
        let key = &*request.idempotency_key;
        if let Some(name) = &self.tool.signature.key_argument {
            arguments.entry(&**name).or_insert_with(|| key.into());
        }
        let (own, further) = match self.program.command.split_first() {
            Some((own, further)) => (own.as_str(), further),
            None => ("", &[][..]),
        };
        let filled = self.tool.arguments.iter();
        let filled: Vec<String> = filled.flat_map(|word| word.filled(&arguments)).collect();
        if filled.iter().any(|word| word.contains('\0')) {
            let message = format!(
                "an argument of {} has a zero byte",
                self.tool.signature.path()
            );
            let class = ErrorClass::Validation(Validation::Arguments);
            return Err(CallError::new(class, message, Sent::No));
        }
        let mut command = self.program.surroundings.command(own, &*self.host);
        command.args(further).args(filled).env(KEY_VARIABLE, key);
        let input = match &self.tool.input {
            Input::Nothing => String::new(),
            Input::Text(word) => word.filled(&arguments).concat(),
            Input::Arguments => Json::Object(arguments).to_string(),
        };
        Ok((command, input.into_bytes()))
    }
}

impl Transport for ProgramTransport {
    fn call(&self, request: Request) -> Conversation {
        let (command, input) = match request.begins().and_then(|()| self.command(&request)) {
            Ok(prepared) => prepared,
            Err(error) => return Conversation::Now(Err(error)),
        };
        let (tool, bounds) = (self.tool.clone(), self.program.bounds);
        Conversation::with_events(move |events| async move {
            let ended = run(command, input, bounds, (&request.cancel, events)).await?;
            tool.outcome(&ended)
        })
    }

    fn identify(&self, identity: &mut Identity) {
        for word in &self.program.command {
            identity.add(word.as_bytes());
        }
        identity.add(format!("{:?}", self.tool.arguments).as_bytes());
        self.program.surroundings.identify(identity);
    }

    fn describe(&self) -> BoxFuture<'_, Described> {
        described([self.tool.signature.clone()])
    }
}

impl ProgramTool {
    /// What a program that has ended gives.
    fn outcome(&self, ended: &Ended) -> CallOutcome {
        let path = self.signature.path();
        if ended.code != 0 {
            return Err(self.failure(ended, &path));
        }
        let misfit = |what: &str| {
            let message = format!("{path} wrote {what}");
            let class = ErrorClass::Validation(Validation::Result);
            CallError::new(class, message, Sent::Answered)
        };
        match self.output {
            Output::Json => serde_json::from_slice(&ended.stdout)
                .map(Answer::Json)
                .map_err(|problem| misfit(&format!("what is no JSON: {problem}"))),
            Output::Text => std::str::from_utf8(&ended.stdout)
                .map(|text| Answer::Value(Value::from(text.trim_end_matches(['\n', '\r']))))
                .map_err(|_| misfit("what is no UTF-8 text")),
        }
    }

    fn failure(&self, ended: &Ended, path: &str) -> CallError {
        let code = ended.code.to_string();
        let told = [&ended.stderr, &ended.stdout].map(|output| last_line(output));
        let told = told.into_iter().find(|line| !line.is_empty());
        let told = told.map(|line| format!(": {line}")).unwrap_or_default();
        let message = format!("{path} ended with exit code {code}{told}");
        match self.errors.iter().find(|known| *known.reason == *code) {
            Some(known) if known.may_have_happened => {
                CallError::new(known.class.clone(), message, Sent::Maybe)
            }
            Some(known) => CallError::new(known.class.clone(), message, Sent::Refused),
            None => CallError::new(ErrorClass::Tool("failed".into()), message, Sent::Answered),
        }
    }
}

/// The last line that says something, shortened. Text from outside.
fn last_line(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let line = text.lines().map(str::trim).rfind(|line| !line.is_empty());
    line.unwrap_or_default()
        .chars()
        .take(TOLD_OF_OUTPUT)
        .collect()
}
