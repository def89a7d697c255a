//! `planrun tools lock`: connects to the servers of the project, and pins what they offer.

use std::path::Path;

use clap::{Args, ValueEnum};
use planrun_lang::diag::render::visible_line;
use planrun_lang::lint::suspicions;
use planrun_lang::types::Effect;
use planrun_runs::runs::Workspace;
use planrun_tools::contract::{Lock, LockedServer, sounds_like_a_read};
use planrun_tools::project::ServerSettings;
use serde_json::Value as Json;

use super::renewal::{Renewal, differences};
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
    let before = &workspace.project.lock;
    let Renewal {
        mut lock,
        refused,
        asked,
        left_out,
    } = Renewal::of(&workspace, &arguments.servers)?;
    for name in &asked {
        if let Some(server) = lock.servers.get_mut(name) {
            accept(server, arguments.accept);
        }
    }
    if workspace.project.servers.is_empty() {
        terminal.say("planrun.yaml names no server");
    }
    let mut lines = report(before, &lock);
    lines.extend(guesses(&lock, &workspace.project.servers));
    terminal.print(&lines.concat())?;
    for what in &left_out {
        terminal.say(&format!("warning: {what}"));
    }
    for problem in &refused {
        terminal.complain(&visible_line(problem));
    }
    let is_same = **before == lock;
    if !arguments.check {
        write(&workspace, &lock)?;
    }
    Ok(match (refused.is_empty(), arguments.check && !is_same) {
        (false, _) => Exit::Environment,
        (true, true) => Exit::Findings,
        (true, false) => Exit::Fine,
    })
}

/// Writes the lock of a project where it is another one.
///
/// # Errors
/// Where it cannot be written.
pub(super) fn write(workspace: &Workspace, lock: &Lock) -> Result<(), Failure> {
    if *workspace.project.lock == *lock {
        return Ok(());
    }
    let path = workspace.location.folder.join(Lock::FILE);
    let written = workspace.host.write_file(&path, lock.text().as_bytes());
    written.map_err(|problem| {
        Failure::Environment(format!("{} cannot be written: {problem}", path.display()))
    })
}

/// Accepts what tools say of their effect, as far as that is wanted.
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

/// What has changed, a line for each tool, and what is still taken for an effect.
fn report(before: &Lock, after: &Lock) -> Vec<String> {
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
        let differences = differences(name, known, server);
        lines.extend(
            differences
                .iter()
                .map(|one| format!("  {}", one.sentence())),
        );
        for (tool, pinned) in &server.tools {
            let description = pinned.offered.description.as_deref().unwrap_or_default();
            let warnings = suspicions(description).into_iter().map(|what| {
                format!(
                    "  warning: the description of {name}.{} {what}",
                    visible_line(tool)
                )
            });
            lines.extend(warnings);
        }
    }
    let gone = before
        .servers
        .keys()
        .filter(|name| !after.servers.contains_key(*name));
    lines.extend(gone.map(|name| format!("{name} is not configured any more")));
    lines.extend(awaiting(after));
    lines.into_iter().map(|line| line + "\n").collect()
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

/// What the project could say of tools that say nothing themselves and sound as if they only looked.
fn guesses(lock: &Lock, servers: &[ServerSettings]) -> Vec<String> {
    let mut guessed = 0;
    let mut lines = Vec::new();
    for (name, server) in &lock.servers {
        let settings = servers.iter().find(|one| *one.name == **name);
        let said = |tool: &str| settings.is_some_and(|one| one.classes.contains_key(tool));
        let tools = server.tools.iter().filter(|(tool, pinned)| {
            let is_silent = !pinned.offered.annotations.speaks_of_effect();
            is_silent && sounds_like_a_read(tool) && !said(tool)
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
        "{} of {} say nothing of their effect, count as effects, and sound as if they only read; where that is so, \
         planrun.yaml can say it:\n  tools:\n",
        guessed,
        counted(lock.servers.values().map(|server| server.tools.len()).sum()),
    );
    lines.insert(0, head);
    lines
}

fn counted(tools: usize) -> String {
    match tools {
        1 => "1 tool".to_owned(),
        tools => format!("{tools} tools"),
    }
}
