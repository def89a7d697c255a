//! Programs of the project as tools: a command line with the arguments of a call, and JSON or text as the result.

use std::sync::Arc;

use planrun_lang::call::{Answer, CallError, CallOutcome};
use planrun_lang::protocol::Sent;
use planrun_lang::types::{Signature, Type, encode};
use planrun_lang::value::Value;
use serde_json::{Map, Value as Json};
use tokio::process::Command;

use super::run::{Ended, run};
use super::{Bounds, KEY_VARIABLE, ProgramContext, Word};
use crate::contract::arguments_type;
use crate::host::Host;
use crate::tools::app::Reason;
use crate::tools::{
    BoxFuture, Conversation, Described, Identity, Request, Transport, described, failed,
};
use crate::tools::{invalid_arguments, invalid_result, json};

/// Maximum length of the program's output in an error message, in characters.
const MAX_OUTPUT_IN_MESSAGE: usize = 400;

/// A program of the project, which is a namespace of tools.
#[derive(Clone)]
pub struct Program {
    /// The name that the project gives it.
    pub name: Arc<str>,
    /// The program, and the words that every command line starts with.
    pub command: Vec<String>,
    pub context: ProgramContext,
    pub bounds: Bounds,
    pub tools: Vec<ProgramTool>,
    /// Values that it receives and that must be redacted in its answers.
    pub secrets: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct ProgramTool {
    pub signature: Arc<Signature>,
    /// The words after the command.
    pub arguments: Vec<Word>,
    pub input: Input,
    pub output: Output,
    /// The meanings of its exit codes. A code that is not listed means `tool.failed`.
    pub errors: Vec<Reason>,
}

/// The standard input of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    Nothing,
    /// All arguments of the call as one JSON object.
    Arguments,
    Text(Word),
}

/// The interpretation of a program's standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// A string without trailing line breaks.
    Text,
    Json,
}

impl std::fmt::Debug for Program {
    /// Leaves out secrets, and the words of the command, which may contain some.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Program")
            .field("name", &self.name)
            .field("program", &self.command.first())
            .field("context", &self.context)
            .field("tools", &self.tools)
            .finish_non_exhaustive()
    }
}

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

    /// Returns the command of a call and its standard input.
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
                "an argument of {} contains a zero byte",
                self.tool.signature.path()
            );
            return Err(invalid_arguments(message));
        }
        let mut command = self.program.context.command(own, &*self.host);
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
        let (command, input) = match request
            .require_no_handle()
            .and_then(|()| self.command(&request))
        {
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
        self.program.context.identify(identity);
    }

    fn describe(&self) -> BoxFuture<'_, Described> {
        described([self.tool.signature.clone()])
    }
}

impl ProgramTool {
    /// Returns the outcome of a program that has exited.
    fn outcome(&self, ended: &Ended) -> CallOutcome {
        let path = self.signature.path();
        if ended.code != 0 {
            return Err(self.failure(ended, &path));
        }
        let misfit = |what: &str| {
            let message = format!("{path} wrote {what}");
            invalid_result(message)
        };
        match self.output {
            Output::Json => json::parse(&ended.stdout)
                .map(Answer::Json)
                .map_err(|problem| misfit(&problem.to_string())),
            Output::Text => std::str::from_utf8(&ended.stdout)
                .map(|text| Answer::Value(Value::from(text.trim_end_matches(['\n', '\r']))))
                .map_err(|_| misfit("invalid UTF-8")),
        }
    }

    fn failure(&self, ended: &Ended, path: &str) -> CallError {
        let code = ended.code.to_string();
        let line = [&ended.stderr, &ended.stdout].map(|output| last_line(output));
        let line = line.into_iter().find(|line| !line.is_empty());
        let line = line.map(|line| format!(": {line}")).unwrap_or_default();
        let message = format!("{path} ended with exit code {code}{line}");
        match self.errors.iter().find(|known| *known.reason == *code) {
            Some(known) if known.may_have_happened => {
                CallError::new(known.class.clone(), message, Sent::Maybe)
            }
            Some(known) => CallError::new(known.class.clone(), message, Sent::Refused),
            None => failed(message, Sent::Answered),
        }
    }
}

/// Returns the last line that is not empty, truncated. It is untrusted text.
fn last_line(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let line = text.lines().map(str::trim).rfind(|line| !line.is_empty());
    line.unwrap_or_default()
        .chars()
        .take(MAX_OUTPUT_IN_MESSAGE)
        .collect()
}
