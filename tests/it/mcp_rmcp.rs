//! An MCP server built with rmcp, over standard input and output: structured content, errors, progress, elicitation and
//! tasks, in the stateless protocol revision and the one before. The server is this test program, started again.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CreateTaskResult,
    DetailedTask, ElicitRequest, ElicitRequestParams, ErrorData, GetTaskParams, GetTaskResult,
    Implementation, InputRequest, InputRequests, InputRequiredResult, JsonObject, ListToolsResult,
    PaginatedRequestParams, ProgressNotificationParam, ProtocolVersion, ServerCapabilities,
    ServerConfig, Task, TaskPayload, TaskStatus, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ServerHandler, ServiceExt as _};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::mcp::run;
use crate::support::folder;

/// Set in the server process, to the latest protocol revision that it knows.
const REVISION: &str = "PLANRUN_TEST_MCP_REVISION";
/// The name of the test that is the server.
const SERVER: &str = "mcp_rmcp::serves";
const MOMENT: &str = "2026-11-23T00:00:00Z";

struct Peer {
    is_stateless: bool,
    /// Number of requests for the state of its task.
    polls: AtomicUsize,
}

fn object(json: Json) -> JsonObject {
    serde_json::from_value(json).unwrap()
}

fn question() -> ElicitRequestParams {
    let schema = json!({ "type": "object", "properties": { "colour": { "type": "string" } }, "required": ["colour"] });
    ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: "Which colour?".to_owned(),
        requested_schema: serde_json::from_value(schema).unwrap(),
    }
}

impl Peer {
    async fn ask(
        &self,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let answer = if self.is_stateless {
            let Some(responses) = &request.input_responses else {
                let asks = InputRequest::Elicitation(ElicitRequest::new(question()));
                let asks = InputRequests::from([("colour".to_owned(), asks)]);
                return Ok(InputRequiredResult::new(Some(asks), Some("half done".into())).into());
            };
            assert_eq!(request.request_state.as_deref(), Some("half done"));
            responses["colour"].clone()
        } else {
            let answer = context.peer.create_elicitation(question()).await.unwrap();
            serde_json::to_value(answer).unwrap()
        };
        Ok(CallToolResult::structured(answer["content"].clone()).into())
    }

    async fn walk(context: &RequestContext<RoleServer>) -> CallToolResult {
        let token = context.meta.get_progress_token().unwrap();
        for step in 1..=3 {
            let progress = ProgressNotificationParam::new(token.clone(), f64::from(step));
            let progress = progress
                .with_total(3.0)
                .with_message(format!("step {step}"));
            context.peer.notify_progress(progress).await.unwrap();
        }
        CallToolResult::success(vec![ContentBlock::text("three steps")])
    }

    fn task() -> Task {
        Task::new("t1", TaskStatus::Working, MOMENT, MOMENT).with_poll_interval_ms(10)
    }
}

impl ServerHandler for Peer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_tasks();
        ServerConfig::new(capabilities.build())
            .with_server_info(Implementation::new("peer", "1.0.0"))
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        let all = ProtocolVersion::KNOWN_VERSIONS;
        let is_known = |version: &&ProtocolVersion| self.is_stateless || version.has_initialize();
        all.iter().filter(is_known).cloned().collect()
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tool = |name: &'static str| {
            let input = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
            Tool::new(name, "", Arc::new(object(input)))
        };
        let degrees = json!({ "type": "object", "properties": { "degrees": { "type": "integer" } }, "required": ["degrees"] });
        Ok(ListToolsResult::with_all_items(vec![
            tool("weather").with_raw_output_schema(Arc::new(object(degrees))),
            tool("refuse"),
            tool("walk"),
            tool("ask"),
            tool("long"),
        ]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        Ok(match &*request.name {
            "weather" => CallToolResult::structured(json!({ "degrees": 21 })).into(),
            "refuse" => {
                CallToolResult::structured_error(json!({ "code": 7, "field": "city" })).into()
            }
            "walk" => Self::walk(&context).await.into(),
            "ask" => return self.ask(&request, &context).await,
            "long" => CreateTaskResult::new(Self::task()).into(),
            name => {
                let data = Some(json!({ "known": ["weather"] }));
                return Err(ErrorData::invalid_params(format!("no {name} here"), data));
            }
        })
    }

    async fn get_task(
        &self,
        _: GetTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let payload = match self.polls.fetch_add(1, Ordering::SeqCst) {
            0 => TaskPayload::Working,
            _ => TaskPayload::Completed {
                result: object(json!(CallToolResult::structured(json!({ "done": true })))),
            },
        };
        Ok(GetTaskResult::new(DetailedTask::new(Self::task(), payload)))
    }
}

/// The server. The test harness writes a few lines that are not messages before it, as real programs do.
#[tokio::test]
#[ignore = "the tests beside it start it as a process of its own"]
async fn serves() {
    let revision = std::env::var(REVISION).unwrap();
    let peer = Peer {
        is_stateless: revision == ProtocolVersion::V_2026_07_28.as_str(),
        polls: AtomicUsize::new(0),
    };
    let running = peer.serve(rmcp::transport::stdio()).await.unwrap();
    running.waiting().await.unwrap();
}

/// Returns a project with the server as `peer`, locked, and this plan.
fn project(revision: &ProtocolVersion, statements: &str) -> TempDir {
    let itself = std::env::current_exe().unwrap();
    let arguments = ["--exact", "--ignored", "--nocapture", "--quiet", SERVER];
    let mut command = vec![json!(itself)];
    command.extend(arguments.iter().map(|argument| json!(argument)));
    let command = Json::Array(command);
    let settings = format!(
        "tools:\n  peer: {{ mcp: {{ command: {command}, env: {{ {REVISION}: \"{revision}\" }} }} }}\n"
    );
    let plan = format!("use peer\n\nplan a() -> any {{\n{statements}}}\n");
    let place = folder([("planrun.yaml", settings), ("a.plan", plan)]);
    let locked = run(&place, &["tools", "lock"]);
    assert_eq!(locked.status, 0, "{locked:?}");
    place
}

#[test]
fn a_server_made_with_rmcp_is_called_in_every_way_and_revision() {
    let statements = "    \
        step weather = peer.weather(city: \"Köln\")
        step refused = peer.refuse() recover tool.failed as e => e.details
        step walked = peer.walk()
        step asked = peer.ask()
        reply { degrees: weather.degrees, refused: refused, walked: walked, asked: asked }\n";
    for revision in [ProtocolVersion::V_2025_11_25, ProtocolVersion::V_2026_07_28] {
        let place = project(&revision, statements);
        let answer = "asked.asked={\"colour\": \"blue\"}";
        let ran = run(
            &place,
            &["run", "a.plan", "--format", "json", "--answer", answer],
        );
        assert_eq!(ran.status, 0, "{revision}: {ran:?}");
        let expected = json!({
            "degrees": 21, "refused": { "code": 7, "field": "city" }, "walked": "three steps", "asked": { "colour": "blue" },
        });
        assert_eq!(ran.json()["reply"], expected, "{revision}: {ran:?}");
        let lines = run(
            &place,
            &["run", "a.plan", "--format", "ndjson", "--answer", answer],
        );
        assert_eq!(lines.status, 0, "{revision}: {lines:?}");
    }
}

#[test]
fn long_work_of_a_server_made_with_rmcp_is_a_task() {
    let place = project(
        &ProtocolVersion::V_2026_07_28,
        "    step done = peer.long()\n    reply done\n",
    );
    let ran = run(
        &place,
        &["run", "a.plan", "--run-id", "long", "--format", "json"],
    );
    assert_eq!(ran.json()["reply"], json!({ "done": true }), "{ran:?}");
    let events = run(&place, &["runs", "events", "long"]).stdout;
    assert!(events.contains("handle.given"), "{events}");
}
