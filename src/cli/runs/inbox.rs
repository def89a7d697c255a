//! `planrun runs inbox`: everything that waits for somebody's answer.

use std::path::{Path, PathBuf};

use clap::Args;
use planrun_lang::diag::render::Look;
use planrun_tools::project::{Location, Project, journal_file};

use super::Format;
use crate::cli::question::{Asked, documents};
use crate::cli::{Exit, Failure, Terminal};
use planrun_core::journal::Question;
use planrun_runs::runs::{OpenRun, Planrun, real_host};

/// Show every open question: what is asked, of whom, what an answer lets happen, and how to answer.
///
/// What comes from plans, tools and values stands behind a margin; long values are cut in the middle, and `--format json` has
/// all of them.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Only what is asked of this role.
    #[arg(long, value_name = "ROLE")]
    by: Option<String>,
    /// Only what runs of this plan ask.
    #[arg(long, value_name = "PLAN")]
    plan: Option<String>,
    /// What runs of every project below the current folder ask.
    #[arg(long)]
    pub all: bool,
    /// How they are printed.
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: Format,
}

/// How far below the current folder projects are looked for.
const DEEPEST: usize = 8;

pub fn run(planrun: &Planrun, arguments: &Arguments, terminal: Terminal) -> Result<Exit, Failure> {
    let waiting = planrun.inbox(arguments.plan.as_deref())?;
    show(
        waiting
            .iter()
            .map(|open| (open, terminal.place, terminal.look)),
        arguments,
        terminal,
    )?;
    Ok(Exit::Fine)
}

/// The questions of every project below the current folder. One whose journal cannot be read hides no other.
pub fn run_everywhere(arguments: &Arguments, terminal: Terminal) -> Result<Exit, Failure> {
    let (mut waiting, mut exit) = (Vec::new(), Exit::Fine);
    for folder in projects_below(Path::new(".")) {
        let place = folder.display().to_string();
        let location = Location { folder, file: None };
        let planrun = Planrun::with_journal(real_host(), location);
        match planrun.and_then(|planrun| Ok((planrun.inbox(arguments.plan.as_deref())?, planrun))) {
            Ok((open, planrun)) => {
                let look = terminal
                    .speaking(Project::language(&**planrun.host(), planrun.location()))
                    .look;
                waiting.extend(open.into_iter().map(|open| (open, place.clone(), look)));
            }
            Err(error) => {
                terminal.complain(&format!("{place}: {error}"));
                exit = Exit::Environment;
            }
        }
    }
    show(
        waiting
            .iter()
            .map(|(open, place, look)| (open, Some(&**place), *look)),
        arguments,
        terminal,
    )?;
    Ok(exit)
}

/// A question of a run as people and programs see it.
pub(super) fn asked<'a>(
    open: &'a OpenRun,
    project: Option<&'a str>,
    path: &'a str,
    question: &'a Question,
) -> Asked<'a> {
    Asked {
        project,
        run: Some((open.run(), open.plan())),
        path,
        question,
    }
}

/// All questions of a run for people, as lines; empty where nothing is asked.
pub(super) fn questions_of(
    planrun: &Planrun,
    run: &str,
    terminal: Terminal,
) -> Result<String, Failure> {
    let (open, now) = (planrun.questions(run)?, planrun.host().now());
    let questions = open.questions();
    let told = questions
        .iter()
        .map(|(path, question)| asked(&open, terminal.place, path, question));
    Ok(told.map(|asked| asked.told(now, terminal.look)).collect())
}

fn show<'a>(
    waiting: impl Iterator<Item = (&'a OpenRun, Option<&'a str>, Look)>,
    arguments: &Arguments,
    terminal: Terminal,
) -> Result<(), Failure> {
    let now = real_host().now();
    let wanted = |by: Option<&str>| arguments.by.as_deref().is_none_or(|role| by == Some(role));
    let (mut texts, mut documents_of) = (Vec::new(), Vec::new());
    for (open, project, look) in waiting {
        for (path, question) in open.questions() {
            if wanted(question.by.as_deref()) {
                let one = asked(open, project, &path, &question);
                documents_of.push(one.document());
                texts.push(one.told(now, look));
            }
        }
    }
    match arguments.format {
        Format::Json => terminal.print(&documents(&documents_of))?,
        Format::Human if texts.is_empty() => terminal.say("nobody is asked for anything"),
        Format::Human => terminal.print(&texts.join("\n"))?,
    }
    Ok(())
}

/// The folders of all projects in a folder and below it that have a journal.
fn projects_below(folder: &Path) -> Vec<PathBuf> {
    let mut walk = ignore::WalkBuilder::new(folder);
    walk.standard_filters(false)
        .follow_links(false)
        .max_depth(Some(DEEPEST))
        .filter_entry(|entry| {
            let name = entry.file_name().to_string_lossy();
            entry.file_type().is_some_and(|kind| kind.is_dir())
                && !matches!(&*name, ".git" | "node_modules" | "target")
        });
    let folders = walk
        .build()
        .filter_map(Result::ok)
        .map(ignore::DirEntry::into_path);
    let mut found: Vec<PathBuf> = folders
        .filter(|folder| journal_file(folder).is_file())
        .collect();
    found.sort();
    found
}
