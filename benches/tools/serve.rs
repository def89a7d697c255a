//! Plan mode from the view of a client, over pipes: the first answer, searches, refusals, and a plan with many reads.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use crate::calls::{bare_pipe, calls_of, runtime};
use crate::report::{Table, Target, alternate, millis, rounds};
use crate::servers::SERVE;

/// Number of pairs; the median is reported.
const PAIRS: usize = 20;
/// Number of reads in one plan, which is the limit of calls for a plan of a model.
const READS: usize = 200;

/// Targets.
const MAX_START: Duration = Duration::from_millis(30);
const MAX_SEARCH: Duration = Duration::from_millis(15);
const MAX_CHECK: Duration = Duration::from_millis(5);
const MAX_OF_READS: f64 = 1.5;

/// A client of a server process.
struct Client {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    last: u64,
}

/// Measures plan mode. `tools` is a project with some hundred locked tools, `reads` one with a server that echoes its
/// input.
///
/// # Errors
/// Returns an error if something cannot be started, or an answer is not the expected one.
pub fn measure(tools: &Path, reads: &Path, table: &mut Table) -> Result<(), String> {
    let empty = crate::report::cold_start::folder()?.join("empty");
    std::fs::create_dir_all(&empty).map_err(|error| error.to_string())?;
    let (ours, other) = alternate(PAIRS, || started(planrun(&empty)), || started(bare()?))?;
    absolute(table, "started and initialized", (ours, other), MAX_START);

    let mut client = Client::new(planrun(tools))?;
    let mut plain = Client::new(bare()?)?;
    let search = json!({ "query": "send a message to a channel" });
    let (ours, other) = alternate(
        rounds(PAIRS),
        || client.time("search", &search),
        || plain.time("echo", &json!({ "text": "x" })),
    )?;
    absolute(table, "a search over 527 tools", (ours, other), MAX_SEARCH);

    let mut client = Client::new(planrun(reads))?;
    let wrong =
        json!({ "plan": "use pipe plan one() -> any { step a = pipe.echo(txt: \"x\") reply a }" });
    let (ours, other) = alternate(
        rounds(PAIRS),
        || client.time("run", &wrong),
        || plain.time("echo", &json!({ "text": "x" })),
    )?;
    absolute(table, "a plan that is refused", (ours, other), MAX_CHECK);

    let text = "use pipe plan many(items: int[]) -> int { step all = each i in items max 200 \
        { step a = pipe.echo(text: \"x\") yield a } reply size(all) }";
    let items: Vec<usize> = (0..READS).collect();
    let many = json!({ "plan": text, "inputs": { "items": items } });
    let runtime = runtime()?;
    let rmcp = runtime.block_on(bare_pipe())?;
    let times = alternate(
        rounds(PAIRS),
        || client.time("read", &many),
        || runtime.block_on(calls_of(&rmcp, READS)),
    )?;
    of_reads(
        table,
        "a plan of 200 reads, against 200 calls of rmcp's client",
        times,
    );
    let times = alternate(
        rounds(PAIRS),
        || client.time("read", &many),
        || {
            let begun = Instant::now();
            for _ in 0..READS {
                plain.call("echo", &json!({ "text": "x" }))?;
            }
            Ok(begun.elapsed())
        },
    )?;
    of_reads(
        table,
        "the same, against a client that only writes and reads lines",
        times,
    );
    Ok(())
}

fn of_reads(table: &mut Table, name: &str, (ours, other): (Duration, Duration)) {
    let ratio = ours.as_secs_f64() / other.as_secs_f64();
    let target = Target::at_most(ratio, MAX_OF_READS);
    table.row(name, &millis(ours), &millis(other), ratio, Some(&target));
}

/// Creates a project with a server over pipes that has a read-only tool.
///
/// # Errors
/// Returns an error if it cannot be written or locked.
pub fn reads() -> Result<PathBuf, String> {
    let folder = crate::report::cold_start::folder()?.join("reads");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let command = json!([program, SERVE, "0"]);
    let settings =
        format!("tools:\n  pipe: {{ mcp: {{ command: {command} }}, classes: {{ echo: read }} }}\n");
    crate::report::cold_start::write(&folder, "planrun.yaml", &settings)?;
    let locked = Command::new(env!("CARGO_BIN_EXE_planrun"))
        .current_dir(&folder)
        .args(["tools", "lock"])
        .output()
        .map_err(|error| error.to_string())?;
    if locked.status.success() {
        Ok(folder)
    } else {
        Err(String::from_utf8_lossy(&locked.stderr).into_owned())
    }
}

fn absolute(table: &mut Table, name: &str, (ours, other): (Duration, Duration), most: Duration) {
    let target = Target {
        text: format!("at most {}", millis(most)),
        met: ours <= most,
    };
    let ratio = ours.as_secs_f64() / other.as_secs_f64();
    table.row(name, &millis(ours), &millis(other), ratio, Some(&target));
}

fn planrun(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_planrun"));
    command.current_dir(folder).args(["serve", "--stdio"]);
    command
}

/// Returns the command of this program as a server with one tool.
fn bare() -> Result<Command, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command.args([SERVE, "0"]);
    Ok(command)
}

/// Returns the time from the start of a server to its first answer.
fn started(command: Command) -> Result<Duration, String> {
    let begun = Instant::now();
    let client = Client::new(command)?;
    let took = begun.elapsed();
    drop(client);
    Ok(took)
}

impl Client {
    fn new(mut command: Command) -> Result<Self, String> {
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = child.map_err(|error| error.to_string())?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("the server has no pipes".to_owned());
        };
        let mut client = Self {
            child,
            input,
            output: BufReader::new(output).lines(),
            last: 0,
        };
        let own = json!({ "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": "bench", "version": "1" } });
        client.request("initialize", &own)?;
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(client)
    }

    fn send(&mut self, message: &Json) -> Result<(), String> {
        let mut line = String::new();
        let _ = writeln!(line, "{message}");
        let sent = self.input.write_all(line.as_bytes());
        sent.and_then(|()| self.input.flush())
            .map_err(|error| error.to_string())
    }

    fn request(&mut self, method: &str, params: &Json) -> Result<Json, String> {
        self.last += 1;
        let id = self.last;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        loop {
            let line = self.output.next().ok_or("the server has gone")?;
            let line = line.map_err(|error| error.to_string())?;
            let message: Json = serde_json::from_str(&line).map_err(|error| error.to_string())?;
            if message["id"] == id {
                return Ok(message["result"].clone());
            }
        }
    }

    fn call(&mut self, tool: &str, arguments: &Json) -> Result<Json, String> {
        let result = self.request(
            "tools/call",
            &json!({ "name": tool, "arguments": arguments }),
        )?;
        let text = result["content"][0]["text"].as_str();
        text.map(|_| result.clone())
            .ok_or_else(|| result.to_string())
    }

    fn time(&mut self, tool: &str, arguments: &Json) -> Result<Duration, String> {
        let begun = Instant::now();
        let result = self.call(tool, arguments)?;
        let elapsed = begun.elapsed();
        // Only the incorrect plan, the argument of `run`, is refused.
        let is_refused = result["isError"] == true;
        if is_refused == (tool == "run") {
            Ok(elapsed)
        } else {
            Err(result.to_string())
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
