//! A check in a project with 5,000 locked tools, one of which the plan calls.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use planrun_tools::contract::{Lock, LockedServer, OfferedServer, OfferedTool};
use serde_json::{Value as Json, json};

use crate::report::{Table, Target, alternate, cold_start, millis, sized};

/// Number of locked tools.
const TOOLS: usize = 5000;
/// Number of pairs; the median is reported.
const PAIRS: usize = 30;

/// Target: the maximum difference to a check without the tools.
const MAX_MORE: Duration = Duration::from_millis(30);

/// Compares the check with that of a project with one tool, and with that of a project without servers.
///
/// # Errors
/// Returns an error if a file cannot be written or a check cannot be run.
pub fn measure(table: &mut Table) -> Result<(), String> {
    let notes = tool(
        &json!({ "tool": "echo", "description": "Gives back a text.", "inputSchema": {
        "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"] } }),
    );
    let mut servers: BTreeMap<String, OfferedServer> = BTreeMap::new();
    servers.insert("notes".to_owned(), server([notes]));
    let calls = "use notes\n\nplan a() -> any {\n    step given = notes.echo(text: \"x\")\n    reply given\n}\n";
    let few = folder("few", calls, &servers)?;
    for (number, written) in written().iter().cycle().take(sized(TOOLS)).enumerate() {
        let (name, (tool_name, tool)) = (number / 75, tool(written));
        let server = servers.entry(format!("s{name}")).or_default();
        server.tools.insert(format!("{tool_name}_{number}"), tool);
    }
    let many = folder("many", calls, &servers)?;
    let none = "use sys\n\nplan a() -> any {\n    step given = sys.echo(value: \"x\")\n    reply given\n}\n";
    let none = folder("none", none, &BTreeMap::new())?;
    for (name, other) in [
        ("beside a lock of that tool", few),
        ("beside no lock", none),
    ] {
        let (ours, other) = alternate(PAIRS, || check(&many), || check(&other))?;
        let more = ours.saturating_sub(other);
        let target = Target {
            text: format!("at most {} more", millis(MAX_MORE)),
            met: more <= MAX_MORE,
        };
        let ratio = ours.as_secs_f64() / other.as_secs_f64();
        table.row(name, &millis(ours), &millis(other), ratio, Some(&target));
    }
    Ok(())
}

/// Creates a project that locks the tools of real servers, each once.
///
/// # Errors
/// Returns an error if it cannot be written.
pub fn written_tools() -> Result<PathBuf, String> {
    let mut servers: BTreeMap<String, OfferedServer> = BTreeMap::new();
    for (number, written) in written().iter().enumerate() {
        let (name, tool) = tool(written);
        let server = servers.entry(format!("s{}", number / 8)).or_default();
        server.tools.insert(name, tool);
    }
    folder("written", "plan a() {}\n", &servers)
}

/// Returns the tools of real servers if their file exists, else some made-up ones.
fn written() -> Vec<Json> {
    let cases = std::env::var_os("PLANRUN_CASES").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data"),
        PathBuf::from,
    );
    let text = std::fs::read_to_string(cases.join("mcp/tools-527.json"));
    if let Some(tools) = text.ok().and_then(|text| serde_json::from_str(&text).ok()) {
        return tools;
    }
    println!(
        "left out: tools of real servers, since there is no mcp/tools-527.json below {}",
        cases.display()
    );
    let field = |number: usize| {
        let schema = json!({ "type": "string", "description": "One of the things that the tool has to know." });
        (format!("field_{number}"), schema)
    };
    let properties: serde_json::Map<String, Json> = (0..6).map(field).collect();
    vec![
        json!({ "tool": "made_up", "description": "Does what its name says, and tells what came of it.",
        "inputSchema": { "type": "object", "properties": properties, "required": ["field_0"] } }),
    ]
}

fn tool(written: &Json) -> (String, OfferedTool) {
    let text = |name: &str| written[name].as_str().unwrap_or_default().to_owned();
    let tool = OfferedTool {
        description: Some(text("description")),
        input: written["inputSchema"].clone(),
        ..OfferedTool::default()
    };
    (text("tool"), tool)
}

fn server(tools: impl IntoIterator<Item = (String, OfferedTool)>) -> OfferedServer {
    OfferedServer {
        tools: tools.into_iter().collect(),
        ..OfferedServer::default()
    }
}

/// Creates a project with these servers, locked.
fn folder(
    name: &str,
    plan: &str,
    servers: &BTreeMap<String, OfferedServer>,
) -> Result<PathBuf, String> {
    let folder = cold_start::folder()?.join("lock").join(name);
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let (mut settings, mut lock) = ("tools: {}\n".to_owned(), Lock::default());
    if !servers.is_empty() {
        "tools:\n".clone_into(&mut settings);
        for (name, offered) in servers {
            let _ = writeln!(settings, "  {name}: {{ mcp: {{ command: [nothing] }} }}");
            let pinned = LockedServer::default().renewed(offered.clone());
            lock.servers.insert(name.clone(), pinned);
        }
        cold_start::write(&folder, Lock::FILE, &lock.text())?;
    }
    cold_start::write(&folder, "planrun.yaml", &settings)?;
    cold_start::write(&folder, "a.plan", plan)?;
    Ok(folder)
}

fn check(folder: &Path) -> Result<Duration, String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_planrun"));
    command.current_dir(folder).args(["check", "a.plan"]);
    cold_start::time(&mut command)
}
