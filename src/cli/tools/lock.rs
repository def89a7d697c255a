//! `planrun tools lock`: connects to the servers of the project, and pins what they offer.

use std::path::Path;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use planrun_lang::diag::render::visible_line;
use planrun_lang::types::Effect;
use planrun_runs::runs::Workspace;
use planrun_tools::contract::{Lock, LockedServer, LockedTool, suspicions};

use crate::cli::run::wait;
use crate::cli::{Exit, Failure, Terminal};

/// Connect to the servers of the project, and pin what they offer in `planrun.lock`.
#[derive(Debug, Args)]
pub struct LockArguments {
    /// Write nothing; fail where a server offers something else than what is pinned.
    #[arg(long)]
    check: bool,
    /// Take on trust what tools say of their effect.
    #[arg(long, value_name = "CLAIMS", conflicts_with = "check")]
    accept: Option<Claims>,
    /// Only these servers; the others stay as they are pinned.
    #[arg(value_name = "SERVER")]
    servers: Vec<String>,
}

/// What tools say of their effect.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Claims {
    /// That they only read.
    Reads,
    /// That they only read, or that repeating them is harmless.
    All,
}

pub(super) fn run(
    arguments: &LockArguments,
    project: Option<&Path>,
    terminal: Terminal,
) -> Result<Exit, Failure> {
    let workspace = Workspace::open(Path::new("-"), project)?;
    let configured = &workspace.project.servers;
    for wanted in &arguments.servers {
        if !configured.iter().any(|server| *server.name == **wanted) {
            let message = format!("there is no server `{wanted}` in planrun.yaml");
            return Err(Failure::Usage(message));
        }
    }
    let wanted: Vec<Arc<str>> = configured
        .iter()
        .map(|server| server.name.clone())
        .filter(|name| {
            arguments.servers.is_empty() || arguments.servers.contains(&name.to_string())
        })
        .collect();
    let offered = wait(workspace.project.offered(&workspace.host, &wanted))?;
    let before = &workspace.project.lock;
    let mut lock = before.clone();
    lock.servers
        .retain(|name, _| configured.iter().any(|server| *server.name == **name));
    let mut refused = Vec::new();
    for (name, offered) in offered {
        match offered {
            Ok(offered) => {
                let mut renewed = before.servers.get(&*name).cloned().unwrap_or_default();
                renewed = renewed.renewed(offered);
                accept(&mut renewed, arguments.accept);
                lock.servers.insert(name.to_string(), renewed);
            }
            Err(problem) => refused.push(problem.to_string()),
        }
    }
    if configured.is_empty() {
        terminal.say("planrun.yaml names no server");
    }
    terminal.print(&report(before, &lock))?;
    for problem in &refused {
        terminal.complain(&visible_line(problem));
    }
    let is_same = *before == lock;
    if !arguments.check && !is_same {
        let path = workspace.location.folder.join(Lock::FILE);
        let written = workspace.host.write_file(&path, lock.text().as_bytes());
        written.map_err(|problem| {
            Failure::Environment(format!("{} cannot be written: {problem}", path.display()))
        })?;
    }
    Ok(match (refused.is_empty(), arguments.check && !is_same) {
        (false, _) => Exit::Environment,
        (true, true) => Exit::Findings,
        (true, false) => Exit::Fine,
    })
}

/// Accepts what tools say of their effect, as far as that is wanted.
fn accept(server: &mut LockedServer, claims: Option<Claims>) {
    for tool in server.tools.values_mut() {
        tool.accepted |= match (claims, tool.offered.annotations.claim()) {
            (Some(Claims::All), Some(_)) | (Some(Claims::Reads), Some(Effect::Read)) => true,
            (Some(Claims::Reads | Claims::All) | None, _) => false,
        };
    }
}

/// What has changed, a line for each tool, and what is still taken for an effect.
fn report(before: &Lock, after: &Lock) -> String {
    let mut lines = Vec::new();
    let nothing = LockedServer::default();
    for (name, server) in &after.servers {
        let known = before.servers.get(name).unwrap_or(&nothing);
        let who = visible_line(&format!("{} {}", server.server, server.version)).to_string();
        lines.push(format!(
            "{name} ({}): {}",
            who.trim(),
            counted(server.tools.len())
        ));
        for (tool, pinned) in &server.tools {
            let change = change(known.tools.get(tool), pinned);
            lines.extend(change.map(|change| format!("  {name}.{} {change}", visible_line(tool))));
            let description = pinned.offered.description.as_deref().unwrap_or_default();
            let warnings = suspicions(description).into_iter().map(|what| {
                format!(
                    "  warning: the description of {name}.{} {what}",
                    visible_line(tool)
                )
            });
            lines.extend(warnings);
        }
        let gone = known
            .tools
            .keys()
            .filter(|tool| !server.tools.contains_key(*tool));
        lines.extend(gone.map(|tool| format!("  {name}.{} is gone", visible_line(tool))));
    }
    let gone = before
        .servers
        .keys()
        .filter(|name| !after.servers.contains_key(*name));
    lines.extend(gone.map(|name| format!("{name} is not configured any more")));
    lines.extend(awaiting(after));
    lines.into_iter().map(|line| line + "\n").collect()
}

fn change(before: Option<&LockedTool>, after: &LockedTool) -> Option<&'static str> {
    let Some(before) = before else {
        return Some("is new");
    };
    if !after.has_contract_of(before) {
        return Some("has changed its contract");
    }
    (!after.has_documentation_of(before)).then_some("has changed its description")
}

/// The claims that nobody has accepted yet.
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
            "{reads} of {} say that they only read, and count as effects; `planrun tools lock --accept reads` takes that on trust",
            counted(tools.len()),
        ));
    }
    if repeatable > 0 {
        lines.push(format!(
            "{repeatable} of {} say that repeating them is harmless, and count as effects; `planrun tools lock --accept all` takes that on trust",
            counted(tools.len()),
        ));
    }
    lines
}

fn counted(tools: usize) -> String {
    match tools {
        1 => "1 tool".to_owned(),
        tools => format!("{tools} tools"),
    }
}
