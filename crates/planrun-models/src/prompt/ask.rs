//! `ask`: a model that acts as an agent calls the tools of that agent until it can answer.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use planrun_lang::call::{Answer, CallError, CallOutcome, sensitive_result};
use planrun_lang::protocol::Sent;
use planrun_lang::secrets::redact_paths;
use planrun_lang::types::{CallKind, Contract, ErrorClass, Signature, Validation, decode};
use planrun_lang::value::Value;
use planrun_tools::contract::arguments_type;
use planrun_tools::host::random_hex;
use planrun_tools::tools::{
    BoxFuture, Conversation, Described, Identity, Progress, Request, Tool, Transport,
};
use serde_json::{Map, Value as Json};

use super::exchange::{Exchange, stopped};
use super::{MAX_REPAIRS, OpenModels};
use crate::arguments::{Fault, ReadCall, calls};
use crate::model::{Message, OfferedTool, ToolCall, offered_name};

/// Maximum number of turns of the model for one `ask`, including its rejected answers.
pub const MAX_ROUNDS: usize = 16;
/// Maximum number of tool calls of one `ask`.
pub const MAX_CALLS_OF_ASK: usize = 64;
/// Maximum size of a result that the model reads, in bytes.
const MAX_RESULT_BYTES: usize = 32 * 1024;

/// A model that acts as an agent.
pub(super) struct Ask {
    models: Arc<OpenModels>,
    context: Option<Arc<str>>,
    /// The tools, by the names under which the model calls them.
    tools: Arc<BTreeMap<String, Tool>>,
}

impl Ask {
    pub(super) fn new(
        models: Arc<OpenModels>,
        context: Option<&Arc<str>>,
        tools: Vec<Tool>,
    ) -> Self {
        let mut named = BTreeMap::new();
        for tool in tools {
            let name = offered_name(&tool.signature.name, |name| named.contains_key(name));
            named.insert(name, tool);
        }
        Self {
            models,
            context: context.cloned(),
            tools: Arc::new(named),
        }
    }
}

impl Transport for Ask {
    fn call(&self, request: Request) -> Conversation {
        let (models, context) = (self.models.clone(), self.context.clone());
        let tools = self.tools.clone();
        Conversation::with_events(move |events| async move {
            let offered = tools.iter().map(|(name, tool)| offer(name, tool)).collect();
            let context = context.as_deref();
            let exchange = Exchange::begin(&models, &request, context, offered, events)?;
            let mut agent = Agent {
                exchange,
                models: &models,
                tools: &tools,
                request: &request,
                calls: 0,
                tool_answered: false,
            };
            let cancel = request.cancel.clone();
            let ended = cancel.run_until_cancelled(agent.answer()).await;
            ended.unwrap_or_else(|| Err(stopped(agent.exchange.sent())))
        })
    }

    fn identify(&self, identity: &mut Identity) {
        self.models.models.identify(identity);
        for tool in self.tools.values() {
            tool.transport.identify(identity);
        }
    }

    fn describe(&self) -> BoxFuture<'_, Described> {
        Box::pin(async { Ok(Vec::new()) })
    }
}

fn offer(name: &str, tool: &Tool) -> OfferedTool {
    OfferedTool {
        name: name.to_owned(),
        description: tool
            .signature
            .description
            .as_deref()
            .unwrap_or_default()
            .to_owned(),
        parameters: tool.signature.arguments_schema(),
    }
}

/// An `ask` in progress.
struct Agent<'a> {
    exchange: Exchange,
    models: &'a OpenModels,
    tools: &'a BTreeMap<String, Tool>,
    request: &'a Request,
    calls: usize,
    tool_answered: bool,
}

impl Agent<'_> {
    async fn answer(&mut self) -> CallOutcome {
        let mut repairs = 0;
        for _ in 0..MAX_ROUNDS {
            let turn = self.exchange.turn().await?;
            if turn.calls.is_empty() {
                self.check_tool_answered()?;
                let why = match self.exchange.read(&turn) {
                    Ok(answer) => return Ok(answer),
                    Err(why) => why,
                };
                if repairs == MAX_REPAIRS {
                    return Err(self.exchange.gives_up(&why));
                }
                repairs += 1;
                self.exchange.reject(&why);
            }
            for ReadCall { call, arguments } in self.read(turn.calls) {
                let outcome = self.call(&call, arguments).await;
                let is_error = outcome.is_err();
                let text = outcome.unwrap_or_else(|why| why);
                self.exchange.request.messages.push(Message::Tool {
                    call: call.id,
                    name: call.name,
                    text,
                    is_error,
                });
            }
        }
        let why = format!("it gave no answer in {MAX_ROUNDS} rounds");
        Err(self.exchange.gives_up(&why))
    }

    /// Returns an error if a read-only agent answers although none of its tools has returned a result: such an answer
    /// has no basis.
    fn check_tool_answered(&self) -> Result<(), CallError> {
        if self.tool_answered || self.request.signature.kind != CallKind::ReadOnlyAgent {
            return Ok(());
        }
        let message = "it answered without evidence: none of its tools has returned a result";
        let class = ErrorClass::Validation(Validation::Result);
        Err(CallError::new(class, message, Sent::No))
    }

    /// Parses the arguments of the calls of a turn; a call with several argument objects becomes several calls.
    fn read(&mut self, written: Vec<ToolCall>) -> Vec<ReadCall> {
        let host = self.models.models.host();
        let read = written.into_iter().flat_map(|call| {
            let tool = self.tools.get(&call.name).map(|tool| &tool.signature);
            let schema = tool.map(|tool| Contract::of_arguments(tool.arguments_schema()));
            let changes_something = tool.is_none_or(|tool| !tool.effect.is_read_only());
            let new_id = || format!("call_{}", random_hex(host, 1));
            calls(call, schema.as_ref(), changes_something, new_id)
        });
        let read: Vec<ReadCall> = read.collect();
        let restated = read.iter().map(|read| read.call.clone()).collect();
        self.exchange.request.restate(restated);
        read
    }

    /// Makes a call, and returns its result or error as text for the model.
    async fn call(
        &mut self,
        call: &ToolCall,
        given: Result<Map<String, Json>, Fault>,
    ) -> Result<String, String> {
        let Some(tool) = self.tools.get(&call.name) else {
            let known: Vec<&str> = self.tools.keys().map(String::as_str).collect();
            return Err(format!(
                "there is no tool `{}`; available: {}",
                call.name,
                known.join(", ")
            ));
        };
        if self.calls == MAX_CALLS_OF_ASK {
            return Err(format!(
                "at most {MAX_CALLS_OF_ASK} calls can be made; answer now"
            ));
        }
        self.calls += 1;
        let key: Arc<str> = format!("{}-{}", self.request.idempotency_key, self.calls).into();
        let given = given.map_err(|fault| fault.to_string())?;
        let arguments = arguments(given, &tool.signature, &key)?;
        let path = tool.signature.path();
        self.exchange.events.progress(Progress::message(&path));
        self.exchange.has_acted |= !tool.signature.effect.is_read_only();
        let request = Request {
            path: self.request.path.clone(),
            signature: tool.signature.clone(),
            arguments,
            idempotency_key: key,
            handle: None,
            cancel: self.request.cancel.clone(),
        };
        let outcome = tool.transport.call(request).outcome().await;
        self.tool_answered |= match &outcome {
            Ok(_) => true,
            Err(error) => error.sent == Sent::Answered,
        };
        match outcome {
            Ok(answer) => Ok(shortened(&without_secrets(answer, &tool.signature))),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// Converts the arguments that a model gives to those of the tool, and validates them. An argument that the tool does
/// not declare is refused, as in plans.
fn arguments(
    mut given: Map<String, Json>,
    signature: &Signature,
    key: &str,
) -> Result<Value, String> {
    let is_unknown = |name: &&String| signature.parameter(name).is_none();
    if let Some(unknown) = given.keys().find(is_unknown)
        && !signature.extra_arguments
    {
        let names: Vec<&str> = signature.parameters.iter().map(|one| &*one.name).collect();
        return Err(format!(
            "nothing was called: there is no argument `{unknown}`; available: {}",
            names.join(", ")
        ));
    }
    if let Some(argument) = &signature.key_argument {
        given.insert(argument.to_string(), key.into());
    }
    let given = Json::Object(given);
    if let Some(contract) = &signature.input_schema
        && let Some(violation) = contract.violations(&given).first()
    {
        return Err(format!("the arguments do not fit: {violation}"));
    }
    decode(&given, &arguments_type(signature))
        .map_err(|mismatch| format!("the arguments do not fit: {mismatch}"))
}

/// Returns the result of a tool without what its contract declares secret: only plans and tools get that.
fn without_secrets(answer: Answer, signature: &Signature) -> Value {
    let value = match answer {
        Answer::Value(value) => value,
        Answer::Json(json) => Value::from_json(&json),
    };
    redact_paths(&value, &sensitive_result(signature, &value))
}

/// Returns the result as text, truncated for the model.
fn shortened(result: &Value) -> String {
    let mut text = match result {
        Value::String(text) => text.to_string(),
        other => other.to_json().to_string(),
    };
    if text.len() > MAX_RESULT_BYTES {
        let all = text.len();
        text.truncate(text.floor_char_boundary(MAX_RESULT_BYTES));
        let _ = write!(text, "… (truncated: {all} bytes in total)");
    }
    text
}
