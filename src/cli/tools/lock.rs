//! `planrun tools lock`: connects to the servers of the project, and pins the contracts of their tools.

use clap::{Args, ValueEnum};
use planrun_lang::diag::render::{command, visible_line};
use planrun_lang::lint::suspicions;
use planrun_lang::types::Effect;
use planrun_lang::value::counted;
use planrun_runs::runs::Workspace;
use planrun_tools::contract::{Lock, LockedServer, sounds_like_a_read};
use planrun_tools::project::ServerSettings;
use serde_json::Value as Json;

use super::renewal::{Renewal, differences};
use crate::cli::{Exit, Failure, Result, Terminal};

/// Connect to the servers of the project, and pin the contracts of their tools in `planrun.lock`
#[derive(Debug, Args)]
pub struct LockArguments {
    /// Write nothing, and exit with 1 if a server offers something different from what is pinned
    #[arg(long)]
    check: bool,
    /// Trust the claims of tools about their effects
    #[arg(long, value_name = "CLAIMS", conflicts_with = "check")]
    accept: Option<Claims>,
    /// Lock only these servers; the others keep their pinned contracts
    #[arg(value_name = "SERVER")]
    servers: Vec<String>,
}

/// Claims of tools about their effects.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Claims {
    /// Trust the claim to only read
    Reads,
    /// Trust the claims to only read and to be safe to repeat
    All,
}

pub fn run(arguments: &LockArguments, workspace: &Workspace, terminal: Terminal) -> Result<Exit> {
    let before = &workspace.project.lock;
    let Renewal {
        mut lock,
        refused,
        answered,
        left_out,
    } = Renewal::of(workspace, &arguments.servers)?;
    for name in &answered {
        if let Some(server) = lock.servers.get_mut(name) {
            accept(server, arguments.accept);
        }
    }
    if workspace.project.servers.is_empty() {
        terminal.note("planrun.yaml configures no servers");
    }
    let mut lines = report(before, &lock);
    lines.extend(guesses(&lock, &workspace.project.servers));
    terminal.print(&lines.concat())?;
    for what in &left_out {
        terminal.note(&format!("warning: {what}"));
    }
    for problem in &refused {
        terminal.error(&visible_line(problem));
    }
    let is_same = **before == lock;
    if !arguments.check {
        write(workspace, &lock)?;
    }
    Ok(match (refused.is_empty(), arguments.check && !is_same) {
        (false, _) => Exit::Environment,
        (true, true) => Exit::Findings,
        (true, false) => Exit::Fine,
    })
}

/// Writes the lock file of a project if it has changed. Returns an error if it cannot be written.
pub(super) fn write(workspace: &Workspace, lock: &Lock) -> Result<()> {
    if *workspace.project.lock == *lock {
        return Ok(());
    }
    let path = workspace.location.folder.join(Lock::FILE);
    let written = workspace.host.write_file(&path, lock.text().as_bytes());
    written.map_err(|problem| Failure::cannot_write(&path, &problem))
}

/// Accepts the claims of tools about their effects that the user trusts.
fn accept(server: &mut LockedServer, claims: Option<Claims>) {
    for tool in server.tools.values_mut() {
        let accepts = match (claims, tool.offered.annotations.claim()) {
            (Some(Claims::All), Some(_)) | (Some(Claims::Reads), Some(Effect::Read)) => true,
            (Some(Claims::Reads | Claims::All) | None, _) => false,
        };
        if accepts {
            tool.accept();
        }
    }
}

/// Returns the lines about each server, with its changed tools and suspicious descriptions, about servers that are no
/// longer configured, and about claims that are not accepted.
fn report(before: &Lock, after: &Lock) -> Vec<String> {
    let mut lines = Vec::new();
    let nothing = LockedServer::default();
    for (name, server) in &after.servers {
        let known = before.servers.get(name).unwrap_or(&nothing);
        let who = visible_line(&format!("{} {}", server.server, server.version)).to_string();
        lines.push(format!(
            "{name} ({}): {}",
            who.trim(),
            counted(server.tools.len(), "tool")
        ));
        let differences = differences(name, known, server);
        lines.extend(
            differences
                .iter()
                .map(|one| format!("  {}", one.sentence())),
        );
        for (tool, pinned) in &server.tools {
            let tool = visible_line(tool);
            let description = pinned.offered.description.as_deref().unwrap_or_default();
            let warning = |what| format!("  warning: the description of {name}.{tool} {what}");
            lines.extend(suspicions(description).into_iter().map(warning));
            let mut inside = Vec::new();
            let schemas = [Some(&pinned.offered.input), pinned.offered.output.as_ref()];
            for schema in schemas.into_iter().flatten() {
                descriptions(schema, &mut inside);
            }
            let mut found: Vec<&str> = inside.into_iter().flat_map(suspicions).collect();
            found.sort_unstable();
            found.dedup();
            let warning =
                |what| format!("  warning: a description in the schema of {name}.{tool} {what}");
            lines.extend(found.into_iter().map(warning));
        }
    }
    let removed = before
        .servers
        .keys()
        .filter(|name| !after.servers.contains_key(*name));
    lines.extend(removed.map(|name| format!("{name} is no longer configured")));
    lines.extend(awaiting(after));
    lines.into_iter().map(|line| line + "\n").collect()
}

/// Collects the texts for readers in a schema.
fn descriptions<'j>(schema: &'j Json, found: &mut Vec<&'j str>) {
    match schema {
        Json::Object(fields) => {
            for (name, value) in fields {
                match (name.as_str(), value) {
                    ("description" | "title", Json::String(text)) => found.push(text),
                    _ => descriptions(value, found),
                }
            }
        }
        Json::Array(items) => items.iter().for_each(|item| descriptions(item, found)),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
    }
}

/// Returns one line for each kind of claim that is not accepted yet.
fn awaiting(lock: &Lock) -> Vec<String> {
    let tools: Vec<_> = lock
        .servers
        .values()
        .flat_map(|server| server.tools.values())
        .collect();
    let waiting = |effect: Effect| {
        let claims = tools.iter().filter(|tool| tool.waits_for_acceptance());
        claims
            .filter(|tool| tool.offered.annotations.claim() == Some(effect))
            .count()
    };
    let (reads, repeatable) = (waiting(Effect::Read), waiting(Effect::Idempotent));
    let mut lines = Vec::new();
    if reads > 0 {
        lines.push(format!(
            "{reads} of {} claim to be read-only, but count as effects; trust these claims with `{}`",
            counted(tools.len(), "tool"),
            command("tools lock --accept reads"),
        ));
    }
    if repeatable > 0 {
        lines.push(format!(
            "{repeatable} of {} claim to be idempotent, but count as effects; trust these claims with `{}`",
            counted(tools.len(), "tool"),
            command("tools lock --accept all"),
        ));
    }
    lines
}

/// Suggests settings for tools that claim nothing but whose names sound as if they only read.
fn guesses(lock: &Lock, servers: &[ServerSettings]) -> Vec<String> {
    let mut guessed = 0;
    let mut lines = Vec::new();
    for (name, server) in &lock.servers {
        let settings = servers.iter().find(|one| *one.name == **name);
        let is_declared = |tool: &str| settings.is_some_and(|one| one.classes.contains_key(tool));
        let tools = server.tools.iter().filter(|(tool, pinned)| {
            let is_silent = !pinned.offered.annotations.declares_effect();
            is_silent && sounds_like_a_read(tool) && !is_declared(tool)
        });
        let classes: Vec<String> = tools
            .map(|(tool, _)| format!("{}: read", Json::from(&**tool)))
            .collect();
        guessed += classes.len();
        if !classes.is_empty() {
            let line = format!("    {name}: {{ classes: {{ {} }} }}\n", classes.join(", "));
            lines.push(visible_line(line.trim_end()).into_owned() + "\n");
        }
    }
    if guessed == 0 {
        return lines;
    }
    let head = format!(
        "{} of {} declare no effect and count as effects, but their names suggest that they only read; if so, declare it in \
         planrun.yaml:\n  tools:\n",
        guessed,
        counted(
            lock.servers
                .values()
                .map(|server| server.tools.len())
                .sum::<usize>(),
            "tool"
        ),
    );
    lines.insert(0, head);
    lines
}
