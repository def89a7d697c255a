//! Calls over each transport compared with a bare client of the same server, and connecting to many servers.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use planrun_lang::permission::Permissions;
use planrun_lang::value::Value;
use planrun_tools::contract::{Lock, LockedServer};
use planrun_tools::host::{Host, RealHost};
use planrun_tools::project::{Location, Project};
use planrun_tools::tools::{Catalog, Request};
use rmcp::model::CallToolRequestParams;
use rmcp::service::RunningService;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{RoleClient, ServiceExt as _};
use serde_json::json;
use tokio::runtime::Runtime;

use crate::report::{Table, Target, alternate, cold_start, millis, sized};
use crate::servers::{SERVE, serve_web};

/// Number of calls per round, and of rounds; the median is reported.
const CALLS: usize = 1000;
const PAIRS: usize = 9;
/// Number of servers to connect to concurrently, the start-up time of each, and the number of measurements.
const SERVERS: usize = 20;
const DELAY: Duration = Duration::from_millis(200);
const CONNECTS: usize = 5;
/// The text that the tool returns.
const TEXT: &str = "the quick brown fox jumps over the lazy dog";

/// Targets.
const MAX_OF_MCP: f64 = 1.3;
const MAX_OF_HTTP: f64 = 1.2;
const MAX_OF_CONNECT: f64 = 1.5;

/// Measures calls over pipes, over HTTP, and of tools of apps.
///
/// # Errors
/// Returns an error if something cannot be started or called.
pub fn measure(table: &mut Table) -> Result<(), String> {
    let runtime = runtime()?;
    let web = runtime.block_on(serve_web())?;
    let folder = cold_start::folder()?.join("calls");
    let shop = json!({ "name": "shop", "tools": [{
        "name": "echo", "description": "d", "endpoint": format!("{web}/echo"), "effect": "read",
        "parameters": { "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"] },
    }] });
    let settings = format!(
        "apps: [shop.json]\ntools:\n  pipe: {{ mcp: {{ command: {} }} }}\n  web: {{ mcp: {{ url: \"{web}/mcp\" }} }}\n",
        command(Duration::ZERO)?
    );
    let files = [("planrun.yaml", settings), ("shop.json", shop.to_string())];
    let project = project(&folder, &files)?;
    let catalog = pinned(&runtime, &project, &folder)?;

    let pipe = runtime.block_on(bare_pipe())?;
    let (ours, other) = alternate(
        PAIRS,
        || runtime.block_on(planrun_calls(&catalog, "pipe")),
        || runtime.block_on(bare(&pipe)),
    )?;
    row(
        table,
        "MCP over pipes, against rmcp",
        (ours, other),
        MAX_OF_MCP,
    );

    let config = StreamableHttpClientTransportConfig::with_uri(format!("{web}/mcp"));
    let client = client()?;
    let bare_client = client.clone();
    let http = runtime.block_on(async {
        ().serve(StreamableHttpClientTransport::with_client(
            bare_client,
            config,
        ))
        .await
    });
    let http = http.map_err(|error| error.to_string())?;
    let (ours, other) = alternate(
        PAIRS,
        || runtime.block_on(planrun_calls(&catalog, "web")),
        || runtime.block_on(bare(&http)),
    )?;
    row(
        table,
        "MCP over HTTP, against rmcp",
        (ours, other),
        MAX_OF_MCP,
    );

    let address = format!("{web}/echo");
    let (ours, other) = alternate(
        PAIRS,
        || runtime.block_on(planrun_calls(&catalog, "shop")),
        || runtime.block_on(bare_post(&client, &address)),
    )?;
    row(
        table,
        "tools of an app, against reqwest",
        (ours, other),
        MAX_OF_HTTP,
    );
    runtime.block_on(catalog.close());
    Ok(())
}

/// Measures the time until many servers can be called.
///
/// # Errors
/// Returns an error if a server cannot be started.
pub fn connect(table: &mut Table) -> Result<(), String> {
    let runtime = runtime()?;
    let folder = cold_start::folder()?.join("connect");
    let mut settings = "tools:\n".to_owned();
    for number in 0..sized(SERVERS).min(SERVERS) {
        let _ = writeln!(
            settings,
            "  s{number}: {{ mcp: {{ command: {} }} }}",
            command(DELAY)?
        );
    }
    let project = project(&folder, &[("planrun.yaml", settings)])?;
    let names: Vec<_> = project
        .servers
        .iter()
        .map(|server| server.name.clone())
        .collect();
    let host: Arc<dyn Host> = Arc::new(RealHost);
    let time = |names: &[Arc<str>]| {
        let begun = Instant::now();
        for (_, offer) in runtime.block_on(project.offered(&host, names)) {
            offer.map_err(|error| error.to_string())?;
        }
        Ok(begun.elapsed())
    };
    let times = alternate(
        CONNECTS,
        || time(&names),
        || time(names.get(..1).unwrap_or_default()),
    )?;
    row(
        table,
        "all asked for their tools and closed",
        times,
        MAX_OF_CONNECT,
    );
    Ok(())
}

fn row(table: &mut Table, name: &str, (ours, other): (Duration, Duration), most: f64) {
    let ratio = ours.as_secs_f64() / other.as_secs_f64();
    let target = Target::at_most(ratio, most);
    table.row(name, &millis(ours), &millis(other), ratio, Some(&target));
}

pub fn runtime() -> Result<Runtime, String> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    runtime.map_err(|error| error.to_string())
}

/// Returns the command of this program as a server, in the notation of `planrun.yaml`.
fn command(delay: Duration) -> Result<String, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    Ok(json!([program, SERVE, delay.as_millis().to_string()]).to_string())
}

fn project(folder: &Path, files: &[(&str, String)]) -> Result<Project, String> {
    std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    for (name, text) in files {
        cold_start::write(folder, name, text)?;
    }
    open(folder)
}

fn open(folder: &Path) -> Result<Project, String> {
    let location = Location {
        folder: folder.to_path_buf(),
        file: Some(folder.join(Location::FILE)),
    };
    let (project, findings) =
        Project::open(&RealHost, &location).map_err(|error| error.to_string())?;
    let first = findings.iter().flat_map(|found| &found.diagnostics).next();
    first.map_or(Ok(project), |found| Err(found.message.clone()))
}

/// Returns the tools of a project with its servers' contracts locked.
fn pinned(runtime: &Runtime, project: &Project, folder: &Path) -> Result<Catalog, String> {
    let host: Arc<dyn Host> = Arc::new(RealHost);
    let names: Vec<_> = project
        .servers
        .iter()
        .map(|server| server.name.clone())
        .collect();
    let mut lock = Lock::default();
    for (name, offer) in runtime.block_on(project.offered(&host, &names)) {
        let offer = offer.map_err(|error| error.to_string())?;
        let server = LockedServer::default().renewed(offer);
        lock.servers.insert(name.to_string(), server);
    }
    cold_start::write(folder, Lock::FILE, &lock.text())?;
    Ok(open(folder)?.catalog(&host, &Arc::new(Permissions::none()), None))
}

async fn planrun_calls(catalog: &Catalog, namespace: &str) -> Result<Duration, String> {
    let tool = catalog
        .tool(namespace, "echo")
        .ok_or("there is no such tool")?;
    let begun = Instant::now();
    for _ in 0..sized(CALLS) {
        let request = Request::new(
            "a",
            tool.signature.clone(),
            Value::object([("text", TEXT.to_owned().into())]),
            "0123456789abcdef",
        );
        let outcome = tool.transport.call(request).outcome().await;
        outcome.map_err(|error| error.to_string())?;
    }
    Ok(begun.elapsed())
}

/// Starts an rmcp client over pipes.
pub async fn bare_pipe() -> Result<RunningService<RoleClient, ()>, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let child = tokio::process::Command::new(program)
        .args([SERVE, "0"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut child = child.map_err(|error| error.to_string())?;
    let pipes = child.stdout.take().zip(child.stdin.take());
    let pipes = pipes.ok_or("it has no pipes")?;
    ().serve(pipes).await.map_err(|error| error.to_string())
}

async fn bare(service: &RunningService<RoleClient, ()>) -> Result<Duration, String> {
    calls_of(service, sized(CALLS)).await
}

/// Makes this number of calls with an rmcp client, in sequence.
pub async fn calls_of(
    service: &RunningService<RoleClient, ()>,
    calls: usize,
) -> Result<Duration, String> {
    let begun = Instant::now();
    for _ in 0..calls {
        let arguments = json!({ "text": TEXT })
            .as_object()
            .cloned()
            .unwrap_or_default();
        let params = CallToolRequestParams::new("echo").with_arguments(arguments);
        let result = service.peer().call_tool(params).await;
        result.map_err(|error| error.to_string())?;
    }
    Ok(begun.elapsed())
}

fn client() -> Result<reqwest::Client, String> {
    // Fails if a provider is already installed, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().no_proxy().build();
    client.map_err(|error| error.to_string())
}

async fn bare_post(client: &reqwest::Client, address: &str) -> Result<Duration, String> {
    let begun = Instant::now();
    for _ in 0..sized(CALLS) {
        let body = json!({ "tool": "echo", "args": { "text": TEXT } });
        let sent = client
            .post(address)
            .header("content-type", "application/json")
            .body(body.to_string())
            .send()
            .await;
        let response = sent.map_err(|error| error.to_string())?;
        let bytes = response.bytes().await.map_err(|error| error.to_string())?;
        let answer: serde_json::Value =
            serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
        if answer["success"] != true {
            return Err(answer.to_string());
        }
    }
    Ok(begun.elapsed())
}
