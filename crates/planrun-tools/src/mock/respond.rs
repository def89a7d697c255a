//! Answers one call: validates its arguments, applies configured failures, and evaluates the tool's cases.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use planrun_lang::diag::closest;
use planrun_lang::diag::render::visible_line;
use planrun_lang::example::{Choice, Examples};
use planrun_lang::types::{Contract, SchemaError, Signature};
use planrun_lang::value::timestamp_text;
use serde_json::{Map, Value as Json, json};

use super::calls::{Answer, Calls, Known, LoggedCall};
use super::template::fill;
use crate::host::Host;
use crate::tools::app::script::{Case, Reaction, Script};
use crate::tools::app::{App, Received, Rest};

/// The state that answers need, shared by all connections.
pub(super) struct Responder {
    tools: Vec<MockTool>,
    /// Indices into `tools` by tool name and by `APP/TOOL`. Without an app, the first app that has the tool is used.
    names: HashMap<String, usize>,
    seed: u64,
    host: Arc<dyn Host>,
    log: Option<PathBuf>,
    pub calls: Mutex<Calls>,
}

struct MockTool {
    app: Arc<str>,
    signature: Arc<Signature>,
    /// The HTTP request that a call is sent as, if the tool does not use the envelope.
    rest: Option<Arc<Rest>>,
    script: Script,
    /// Generates results. Prepared on first use.
    results: OnceLock<Result<Examples, SchemaError>>,
}

/// A call as it was received.
pub(super) struct Call<'a> {
    /// The app that the path names, if any.
    pub app: Option<&'a str>,
    pub tool: &'a str,
    pub arguments: &'a Map<String, Json>,
    /// The idempotency key, if one was sent.
    pub key: Option<&'a str>,
}

impl Responder {
    /// Reads the `mock:` sections of all tools. Fails with a message that names the tool if its section is invalid.
    pub fn new(
        apps: &[App],
        seed: u64,
        log: Option<PathBuf>,
        host: Arc<dyn Host>,
    ) -> Result<Self, String> {
        let (mut tools, mut names) = (Vec::new(), HashMap::new());
        for (app, tool) in apps
            .iter()
            .flat_map(|app| app.tools.iter().map(move |tool| (app, tool)))
        {
            let signature = tool.signature.clone();
            let script = Script::read(tool.mock.as_ref());
            let script = script.map_err(|problem| {
                format!(
                    "{}: mock of {}: {problem}",
                    app.file.display(),
                    signature.path()
                )
            })?;
            names
                .entry(signature.name.to_string())
                .or_insert(tools.len());
            names.insert(format!("{}/{}", app.name, signature.name), tools.len());
            tools.push(MockTool {
                app: app.name.clone(),
                signature,
                rest: tool.rest.clone(),
                script,
                results: OnceLock::new(),
            });
        }
        Ok(Self {
            tools,
            names,
            seed,
            host,
            log,
            calls: Mutex::default(),
        })
    }

    /// Makes the first calls of these tools fail. Replaces the previous configuration and resets all counts. Fails with
    /// a message if there is no such tool; the configuration then stays as it was.
    pub fn configure(&self, failures: BTreeMap<String, u64>) -> Result<(), String> {
        let names = || self.tools.iter().map(|tool| &*tool.signature.name);
        let unknown = |name: &&String| names().all(|known| known != name.as_str());
        if let Some(name) = failures.keys().find(unknown) {
            // A name with its app is not similar to the name alone.
            let near = names().find(|known| name.ends_with(&format!(".{known}")));
            let near = near.or_else(|| closest(name, names()));
            let hint = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            let name = visible_line(name);
            return Err(format!("no app has a tool named `{name}`{hint}"));
        }
        self.calls.lock().configure(failures);
        Ok(())
    }

    pub fn has_app(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| &*tool.app == name)
    }

    /// Answers a request that calls a tool with a `request`, and returns the delay of the answer; `None` for any other
    /// request.
    pub fn rest_answer(
        &self,
        received: &Received,
        key: Option<&str>,
    ) -> Option<(Answer, Duration)> {
        let matching = self.tools.iter().filter_map(|tool| {
            let rest = tool.rest.as_ref()?;
            let arguments = rest.arguments(received, &tool.signature)?;
            Some((rest.path.matches('{').count(), tool, rest, arguments))
        });
        // Literal path segments take precedence over parameters.
        let (_, tool, rest, arguments) = matching.min_by_key(|(count, ..)| *count)?;
        let (answer, delay) = self.answer(&Call {
            app: Some(&tool.app),
            tool: &tool.signature.name,
            arguments: &arguments,
            key,
        });
        let text = |name: &str| answer.body.get(name).and_then(Json::as_str);
        let is_success = answer.body.get("success") == Some(&Json::Bool(true));
        let body = rest.answer(if is_success {
            Ok(answer.body.get("data").cloned().unwrap_or_default())
        } else {
            Err((text("reason"), text("error").unwrap_or_default()))
        });
        let status = if is_success || answer.status != 200 {
            answer.status
        } else {
            400
        };
        let answer = Answer {
            status,
            body,
            ..answer
        };
        Some((answer, delay))
    }

    /// Returns true if a tool of this name is called with an envelope.
    pub fn takes_envelope(&self, tool: &str) -> bool {
        let mut named = self
            .tools
            .iter()
            .filter(|known| *known.signature.name == *tool);
        named.any(|known| known.rest.is_none())
    }

    /// Answers a call, and returns the delay of the answer.
    pub fn answer(&self, call: &Call<'_>) -> (Answer, Duration) {
        let request = || {
            format!(
                "{}/{} {}",
                call.app.unwrap_or_default(),
                call.tool,
                Json::Object(call.arguments.clone())
            )
        };
        if let Some(key) = call.key {
            match self.calls.lock().known(key, &request()) {
                Known::New => {}
                Known::Repeated(answer) => return (answer, Duration::ZERO),
                Known::Misused => {
                    return (
                        refusal("key_reused", "this idempotency key belongs to another call"),
                        Duration::ZERO,
                    );
                }
            }
        }
        let (answer, delay, attempt) = self.perform(call);
        self.record(call, &answer, attempt);
        // A call that was refused before it had an effect may be repeated with the same key.
        if let Some(key) = call.key
            && (200..=299).contains(&answer.status)
            && answer.body["success"] != json!(false)
        {
            self.calls
                .lock()
                .remember(key.to_owned(), request(), answer.clone());
        }
        (answer, delay)
    }

    fn perform(&self, call: &Call<'_>) -> (Answer, Duration, u64) {
        let Some(tool) = self.find(call) else {
            return (
                self.unknown(call),
                Duration::ZERO,
                self.calls.lock().count(call.tool),
            );
        };
        let attempt = self.calls.lock().count(call.tool);
        if let Some(error) = self.calls.lock().failure(call.tool, attempt) {
            return (
                plain(json!({"success": false, "error": error})),
                Duration::ZERO,
                attempt,
            );
        }
        if let Some(refusal) = tool.refuse(call.arguments) {
            return (refusal, Duration::ZERO, attempt);
        }
        let (answer, delay) = self.scripted(tool, call);
        (answer, delay, attempt)
    }

    fn find(&self, call: &Call<'_>) -> Option<&MockTool> {
        let index = match call.app {
            Some(app) => self.names.get(&format!("{app}/{}", call.tool)),
            None => self.names.get(call.tool),
        };
        self.tools.get(*index?)
    }

    fn unknown(&self, call: &Call<'_>) -> Answer {
        let known = self
            .tools
            .iter()
            .filter(|tool| call.app.is_none_or(|app| *tool.app == *app));
        let names: Vec<&str> = known.map(|tool| &*tool.signature.name).collect();
        let near =
            closest(call.tool, names.iter().copied()).map(|name| format!("; did you mean {name}?"));
        let error = format!(
            "no app has a tool {}{}",
            call.tool,
            near.unwrap_or_default()
        );
        plain(
            json!({"success": false, "reason": "unknown_tool", "error": error, "available": names}),
        )
    }

    fn scripted(&self, tool: &MockTool, call: &Call<'_>) -> (Answer, Duration) {
        match &tool.script {
            Script::Generated => (self.generate(tool, call, None), Duration::ZERO),
            Script::Value(value) => (
                success(tool, &fill(value, call.arguments), None),
                Duration::ZERO,
            ),
            Script::Cases(cases) => {
                let name = tool.signature.path();
                let mut calls = self.calls.lock();
                let mut open = cases
                    .iter()
                    .enumerate()
                    .filter(|(_, case)| case.is_for(call.arguments));
                let chosen = open.find(|(index, case)| calls.take(&name, *index, case.times));
                drop(calls);
                let Some((_, case)) = chosen else {
                    let error = format!("no case under `mock` of {name} matches this call");
                    return (refusal("no_mock", &error), Duration::ZERO);
                };
                (self.react(tool, call, case), case.delay)
            }
        }
    }

    fn react(&self, tool: &MockTool, call: &Call<'_>, case: &Case) -> Answer {
        match &case.reaction {
            Reaction::Generated => self.generate(tool, call, case.message.as_deref()),
            Reaction::Data(data) => {
                success(tool, &fill(data, call.arguments), case.message.as_deref())
            }
            Reaction::Fail { reason, error } => {
                let mut body =
                    json!({"success": false, "error": fill(&json!(error), call.arguments)});
                if let Some(reason) = reason {
                    body["reason"] = json!(reason);
                }
                plain(body)
            }
            Reaction::Status {
                status,
                retry_after,
            } => {
                let body = json!({"success": false, "error": format!("Mock status {status} for {}", tool.signature.name)});
                Answer {
                    status: *status,
                    retry_after: *retry_after,
                    body,
                }
            }
        }
    }

    fn generate(&self, tool: &MockTool, call: &Call<'_>, message: Option<&str>) -> Answer {
        let arguments = Json::Object(call.arguments.clone()).to_string();
        let hash =
            blake3::hash(format!("{} {} {arguments}", self.seed, tool.signature.path()).as_bytes());
        let seed = hash
            .as_bytes()
            .first_chunk::<8>()
            .map_or(self.seed, |bytes| u64::from_le_bytes(*bytes));
        let examples = tool
            .results
            .get_or_init(|| match tool.signature.output_schema.as_deref() {
                Some(contract) => Examples::new(contract.normalized()),
                None => Examples::of_type(&tool.signature.returns),
            });
        let made = match examples {
            Ok(examples) => examples
                .make(call.arguments, seed, Choice::Usual)
                .map_err(|problem| problem.to_string()),
            Err(problem) => Err(problem.to_string()),
        };
        match made {
            Ok(data) => success(tool, &data, message),
            Err(problem) => refusal("no_mock", &format!("{}: {problem}", tool.signature.path())),
        }
    }

    fn record(&self, call: &Call<'_>, answer: &Answer, attempt: u64) {
        let success = answer.body.get("success") == Some(&Json::Bool(true));
        let error = answer
            .body
            .get("error")
            .and_then(Json::as_str)
            .map(str::to_owned);
        let logged = LoggedCall {
            timestamp: timestamp_text(self.host.now()),
            tool: call.tool.to_owned(),
            args: call.arguments.clone(),
            source: "mock_api",
            success,
            attempt,
            status: if success { "success" } else { "failed" },
            error,
        };
        // Maps with string keys and plain values can always be serialized.
        let line = serde_json::to_string(&logged).unwrap_or_default() + "\n";
        // The log is written under the lock, so that its lines are in the order of the calls.
        let mut calls = self.calls.lock();
        if let Some(path) = &self.log {
            // The log was writable when the server started; a disk that fills up later does not fail calls.
            let _ = self.host.append_file(path, line.as_bytes());
        }
        calls.record(logged, line.len());
    }
}

/// Returns the JSON Schema of one argument.
fn contract(parameter: &planrun_lang::types::Parameter) -> Option<&Json> {
    parameter.schema.as_deref().map(Contract::schema)
}

/// Returns true if a schema explicitly allows an empty text.
fn admits_empty_text(schema: &Json) -> bool {
    let choices = schema.get("enum").and_then(Json::as_array);
    schema.get("minLength") == Some(&json!(0))
        || choices.is_some_and(|choices| choices.contains(&json!("")))
}

impl MockTool {
    /// Returns the answer that refuses invalid arguments; `None` if they are valid.
    fn refuse(&self, arguments: &Map<String, Json>) -> Option<Answer> {
        let given =
            |parameter: &planrun_lang::types::Parameter| match arguments.get(&*parameter.name) {
                None | Some(Json::Null) => false,
                // An empty text is a form field that was not filled in, unless the contract explicitly allows it.
                Some(Json::String(text)) if text.is_empty() => {
                    contract(parameter).is_some_and(admits_empty_text)
                }
                Some(_) => true,
            };
        let missing: Vec<_> = self
            .signature
            .parameters
            .iter()
            .filter(|parameter| parameter.required && !given(parameter))
            .collect();
        if missing.is_empty() {
            let violation = self
                .signature
                .input_schema
                .as_ref()?
                .violations(&Json::Object(arguments.clone()))
                .into_iter()
                .next()?;
            return Some(refusal("invalid_params", &violation.to_string()));
        }
        let describe = |parameter: &&planrun_lang::types::Parameter| {
            let schema = contract(parameter);
            let select = schema.is_some_and(|schema| schema.get("enum").is_some());
            let label = schema
                .and_then(|schema| schema.get("title"))
                .and_then(Json::as_str)
                .unwrap_or(&parameter.name);
            let description = json!({
                "type": if select { "select" } else { "input" }, "label": label,
                "description": parameter.description.as_deref().unwrap_or_default(), "required": true,
            });
            (parameter.name.to_string(), description)
        };
        let required: Map<String, Json> = missing.iter().map(describe).collect();
        let names: Vec<&str> = missing.iter().map(|parameter| &*parameter.name).collect();
        let error = format!("Missing required parameters: {}", names.join(", "));
        let body = json!({"success": false, "reason": "missing_params", "required_params": required, "error": error});
        Some(plain(body))
    }
}

fn success(tool: &MockTool, data: &Json, message: Option<&str>) -> Answer {
    let usual = format!("Mock tool '{}' executed and logged.", tool.signature.name);
    let message = message.unwrap_or(&usual);
    plain(json!({"success": true, "data": data, "message": message}))
}

fn refusal(reason: &str, error: &str) -> Answer {
    plain(json!({"success": false, "reason": reason, "error": error}))
}

fn plain(body: Json) -> Answer {
    Answer {
        status: 200,
        retry_after: None,
        body,
    }
}
