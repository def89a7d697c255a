//! `planrun runs inbox`: lists the open questions of runs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;
use planrun_lang::diag::render::{Appearance, command_in, project, quoted};
use planrun_tools::project::{Location, Project};
use serde_json::json;

use super::{Format, of_plan};
use crate::cli::journals::has_journal;
use crate::cli::question::QuestionView;
use crate::cli::suggest::did_you_mean;
use crate::cli::{Exit, Result, Terminal};
use planrun_core::journal::Question;
use planrun_runs::runs::{Inbox, OpenRun, Planrun, real_host};

/// List open questions, with what an answer allows and how to answer
///
/// Text from plans, tools and values is printed behind a margin. Long values are cut in the middle; `--format json`
/// prints them completely.
#[derive(Debug, Args)]
pub struct Arguments {
    /// List only questions to this role
    #[arg(long, value_name = "ROLE")]
    by: Option<String>,
    /// List only questions of runs of this plan
    #[arg(long, value_name = "PLAN")]
    plan: Option<String>,
    /// List questions of runs of every project below the current folder
    #[arg(long)]
    pub all: bool,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: Format,
}

/// Maximum depth below the current folder at which projects are found.
const MAX_DEPTH: usize = 8;

pub fn run(planrun: &Planrun, arguments: &Arguments, terminal: Terminal) -> Result<Exit> {
    let inbox = planrun.inbox(arguments.plan.as_deref())?;
    let exit = report_unreadable(&inbox, project(), terminal);
    show(
        inbox
            .runs
            .iter()
            .map(|open| (open, project(), terminal.style)),
        &unreadable(&inbox, project()),
        arguments,
        || of_plan(planrun, arguments.plan.as_deref()),
        terminal,
    )?;
    Ok(exit)
}

/// Returns the runs whose questions cannot be read, for programs.
fn unreadable(inbox: &Inbox, project: Option<&str>) -> Vec<serde_json::Value> {
    let document = |(run, error): &(String, _)| json!({ "project": project, "run": run, "message": format!("{error}") });
    inbox.unreadable.iter().map(document).collect()
}

/// Reports the runs whose questions cannot be read, with the command that deletes them.
pub(super) fn report_unreadable(inbox: &Inbox, project: Option<&str>, terminal: Terminal) -> Exit {
    for (run, error) in &inbox.unreadable {
        let delete = command_in(project, &format!("runs prune --damaged {}", quoted(run)));
        terminal.error(&format!("{run}: {error}; `{delete}` deletes the run"));
    }
    if inbox.unreadable.is_empty() {
        Exit::Fine
    } else {
        Exit::Environment
    }
}

/// Prints the questions of every project at or below the current folder. An unreadable journal does not hide the
/// questions of other projects.
pub fn run_everywhere(arguments: &Arguments, terminal: Terminal) -> Result<Exit> {
    let (mut waiting, mut damaged, mut exit) = (Vec::new(), Vec::new(), Exit::Fine);
    for folder in projects_below(Path::new(".")) {
        let project = folder.display().to_string();
        let location = Location { folder, file: None };
        let planrun = Planrun::with_journal(real_host(), location);
        match planrun.and_then(|planrun| Ok((planrun.inbox(arguments.plan.as_deref())?, planrun))) {
            Ok((inbox, planrun)) => {
                if report_unreadable(&inbox, Some(&project), terminal) != Exit::Fine {
                    exit = Exit::Environment;
                }
                damaged.extend(unreadable(&inbox, Some(&project)));
                let style = terminal
                    .with_language(Project::language(&**planrun.host(), planrun.location()))
                    .style;
                waiting.extend(
                    inbox
                        .runs
                        .into_iter()
                        .map(|open| (open, project.clone(), style)),
                );
            }
            Err(error) => {
                terminal.error(&format!("{project}: {error}"));
                exit = Exit::Environment;
            }
        }
    }
    show(
        waiting
            .iter()
            .map(|(open, project, style)| (open, Some(&**project), *style)),
        &damaged,
        arguments,
        || Ok(String::new()),
        terminal,
    )?;
    Ok(exit)
}

pub(super) fn question_view<'a>(
    open: &'a OpenRun,
    project: Option<&'a str>,
    path: &'a str,
    question: &'a Question,
) -> QuestionView<'a> {
    QuestionView {
        project,
        run: Some((open.run(), open.plan())),
        path,
        question,
    }
}

/// Renders all questions of a run for people; empty if there are none.
pub(super) fn questions_of(planrun: &Planrun, run: &str, terminal: Terminal) -> Result<String> {
    let (open, now) = (planrun.questions(run)?, planrun.host().now());
    let questions = open.questions();
    let views = questions
        .iter()
        .map(|(path, question)| question_view(&open, project(), path, question));
    Ok(views.map(|view| view.render(now, terminal.style)).collect())
}

fn show<'a>(
    waiting: impl Iterator<Item = (&'a OpenRun, Option<&'a str>, Appearance)>,
    unreadable: &[serde_json::Value],
    arguments: &Arguments,
    of_plan: impl Fn() -> Result<String>,
    terminal: Terminal,
) -> Result<()> {
    let now = real_host().now();
    let matches = |by: Option<&str>| arguments.by.as_deref().is_none_or(|role| by == Some(role));
    let (mut texts, mut documents) = (Vec::new(), Vec::new());
    let mut others = BTreeSet::new();
    for (open, project, style) in waiting {
        for (path, question) in open.questions() {
            if matches(question.by.as_deref()) {
                let one = question_view(open, project, &path, &question);
                documents.push(one.document());
                texts.push(one.render(now, style));
            } else {
                others.extend(question.by);
            }
        }
    }
    if texts.is_empty() {
        let to_role = arguments.by.as_ref().map(|role| {
            let hint = did_you_mean(role, others.iter().map(|role| &**role));
            format!(" to `{role}`{hint}")
        });
        let to_role = to_role.unwrap_or_default();
        terminal.note(&format!("no open questions{}{to_role}", of_plan()?));
    }
    match arguments.format {
        Format::Json => {
            terminal.print_document(&json!({
                "version": 1,
                "questions": documents,
                "unreadable": unreadable,
            }))?;
        }
        Format::Human => terminal.print(&texts.join("\n"))?,
    }
    Ok(())
}

/// Returns the folders of all projects at or below a folder that have a journal.
fn projects_below(folder: &Path) -> Vec<PathBuf> {
    let mut walk = ignore::WalkBuilder::new(folder);
    walk.standard_filters(false)
        .follow_links(false)
        .max_depth(Some(MAX_DEPTH))
        .filter_entry(|entry| {
            let name = entry.file_name().to_string_lossy();
            entry.file_type().is_some_and(|kind| kind.is_dir())
                && !matches!(&*name, ".git" | "node_modules" | "target")
        });
    let folders = walk
        .build()
        .filter_map(Result::ok)
        .map(ignore::DirEntry::into_path);
    let host = real_host();
    let mut found: Vec<PathBuf> = folders
        .filter(|folder| has_journal(&*host, folder))
        .collect();
    found.sort();
    found
}
