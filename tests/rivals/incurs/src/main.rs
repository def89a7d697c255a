//! Runs a program of `programs/` with incurs code mode on the MCP server `desk`. The MCP client is this adapter,
//! because the crates do not contain one.

use std::process::Stdio;
use std::sync::Arc;
use std::time::Instant;
use std::{env, fs};

use async_trait::async_trait;
use incurs::command::McpAnnotations;
use incurs_codemode::{
    CodeMode, ExecutionStatus, McpClient, McpConnector, McpTool, ReplayPolicy, ToolAnnotations,
    ToolOrigin, ToolPolicy, ToolPolicyResolver,
};
use incurs_codemode_local::open_codemode;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::Mutex;

/// The server process; many requests may be pending at the same time.
struct DeskServer {
    wire: Mutex<Wire>,
    _process: Child,
}

struct Wire {
    to: ChildStdin,
    from: Lines<BufReader<ChildStdout>>,
    number: u64,
}

impl DeskServer {
    async fn start() -> Result<Self, String> {
        let words = env::var("RIVALS_DESK").map_err(|error| error.to_string())?;
        let words: Vec<String> = serde_json::from_str(&words).map_err(|error| error.to_string())?;
        let mut process = Command::new(&words[0])
            .args(&words[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| error.to_string())?;
        let (to, from) = (process.stdin.take(), process.stdout.take());
        let (to, from) = to.zip(from).ok_or("the desk has no pipes")?;
        let from = BufReader::new(from).lines();
        let wire = Mutex::new(Wire {
            to,
            from,
            number: 0,
        });
        let desk = Self {
            wire,
            _process: process,
        };
        let client = json!({ "name": "rivals", "version": "1" });
        desk.request(
            "initialize",
            json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client }),
        )
        .await?;
        let begun = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        desk.wire.lock().await.send(&begun).await?;
        Ok(desk)
    }

    async fn request(&self, method: &str, params: Value) -> Result<Value, String> {
        let mut wire = self.wire.lock().await;
        wire.number += 1;
        let id = wire.number;
        wire.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
            .await?;
        while let Some(line) = wire
            .from
            .next_line()
            .await
            .map_err(|error| error.to_string())?
        {
            let answer: Value = serde_json::from_str(&line).map_err(|error| error.to_string())?;
            if answer["id"] == id {
                return match answer.get("error") {
                    Some(error) => Err(error["message"].to_string()),
                    None => Ok(answer["result"].clone()),
                };
            }
        }
        Err("the desk has ended".to_owned())
    }
}

impl Wire {
    async fn send(&mut self, message: &Value) -> Result<(), String> {
        let line = format!("{message}\n");
        self.to
            .write_all(line.as_bytes())
            .await
            .map_err(|error| error.to_string())?;
        self.to.flush().await.map_err(|error| error.to_string())
    }
}

#[async_trait]
impl McpClient for DeskServer {
    async fn list_tools(&self) -> Result<Vec<McpTool>, String> {
        let listed = self.request("tools/list", json!({})).await?;
        let tools = listed["tools"].as_array().cloned().unwrap_or_default();
        let tool = |tool: Value| McpTool {
            name: tool["name"].as_str().unwrap_or_default().to_owned(),
            description: tool["description"].as_str().map(str::to_owned),
            input_schema: tool["inputSchema"].clone(),
            output_schema: tool.get("outputSchema").cloned(),
            annotations: Some(McpAnnotations {
                read_only_hint: tool["annotations"]["readOnlyHint"].as_bool(),
                destructive_hint: tool["annotations"]["destructiveHint"].as_bool(),
                ..McpAnnotations::default()
            }),
        };
        Ok(tools.into_iter().map(tool).collect())
    }

    /// Returns structured content if there is some, else a single text, else the parts as they are.
    async fn call_tool(&self, name: &str, arguments: Value) -> Result<Value, String> {
        let result = self
            .request(
                "tools/call",
                json!({ "name": name, "arguments": arguments }),
            )
            .await?;
        let parts = result["content"].as_array().cloned().unwrap_or_default();
        if result["isError"] == true {
            return Err(parts
                .iter()
                .filter_map(|part| part["text"].as_str())
                .collect());
        }
        Ok(match (result.get("structuredContent"), parts.as_slice()) {
            (Some(value), _) => value.clone(),
            (None, [part]) if part["type"] == "text" => part["text"].clone(),
            (None, _) => Value::Array(parts),
        })
    }
}

/// Reads are allowed, and other calls require an approval if `asks` is set.
struct Policy {
    asks: bool,
}

impl ToolPolicyResolver for Policy {
    fn resolve(&self, _origin: ToolOrigin, annotations: &ToolAnnotations) -> ToolPolicy {
        ToolPolicy {
            requires_approval: self.asks && annotations.read_only != Some(true),
            replay: ReplayPolicy::Log,
        }
    }
}

async fn play() -> Result<Value, String> {
    let desk = Arc::new(DeskServer::start().await?);
    let asks = env::var_os("RIVALS_GATE").is_some();
    let connector = McpConnector::new("desk", desk).with_policy_resolver(Arc::new(Policy { asks }));
    let place = env::var("RIVALS_STATE").map_err(|error| error.to_string())?;
    let store = format!("{place}/codemode.sqlite");
    let codemode = open_codemode(store, Default::default(), vec![Arc::new(connector)])?;
    if env::var_os("RIVALS_RESUME").is_some() {
        return resume(&codemode).await;
    }
    let program = env::args().nth(1).ok_or("which program?")? + ".js";
    let program = fs::read_to_string(&program).map_err(|error| format!("{program}: {error}"))?;
    let program = format!("async () => {{ {program} }}");
    let began = Instant::now();
    let mut state = codemode.execute(&program).await?;
    let mut asked = 0;
    while state.status == ExecutionStatus::Paused {
        let pending = codemode.runtime().pending(Some(&state.id)).await;
        let pending = pending.map_err(|error| error.to_string())?;
        let Some(first) = pending.first() else {
            break;
        };
        asked += 1;
        state = codemode.approve(&state.id, first.seq).await?;
    }
    let mut found = describe(&codemode, &state.id).await?;
    found["asked"] = asked.into();
    found["ms"] = (began.elapsed().as_secs_f64() * 1000.0).into();
    Ok(found)
}

/// Resumes an execution whose process was killed.
async fn resume(codemode: &CodeMode) -> Result<Value, String> {
    let executions = codemode.runtime().executions().await;
    let executions = executions.map_err(|error| error.to_string())?;
    let Some(last) = executions.first() else {
        return Ok(json!({ "outcome": "lost", "said": "there is no execution" }));
    };
    let before = format!("{:?}", last.status).to_lowercase();
    let state = codemode.drive_if_idle(&last.id, Default::default()).await?;
    let mut found = describe(codemode, &state.id).await?;
    found["said"] = format!("found {before}; after its recovery: {}", found["said"]).into();
    Ok(found)
}

/// Returns the description of an execution by its tools for models: large values are references.
async fn describe(codemode: &CodeMode, id: &str) -> Result<Value, String> {
    let state = codemode.execution_snapshot(id).await?;
    Ok(match state.status {
        ExecutionStatus::Completed => {
            let result = state.result.unwrap_or_default();
            json!({ "outcome": "value", "said": result.to_string() })
        }
        status => {
            let message = state.error.unwrap_or_else(|| format!("{status:?}"));
            json!({ "outcome": "error", "said": message })
        }
    })
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let found = play().await;
    println!(
        "{}",
        found.unwrap_or_else(|error| json!({ "outcome": "error", "said": error }))
    );
}
