//! `planrun runs inbox`: everything that waits for somebody's answer.

use std::path::{Path, PathBuf};

use clap::Args;

use super::Format;
use super::open::Open;
use crate::cli::question::documents;
use crate::cli::workspace::real_host;
use crate::cli::{Exit, Failure, Terminal};
use crate::journal::store::{Filter, Journal, Settings};
use crate::project::journal_file;
use crate::protocol::RunState;

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

pub fn run(
    journal: &Journal,
    project: Option<&Path>,
    arguments: &Arguments,
    terminal: Terminal,
) -> Result<Exit, Failure> {
    let mut waiting = open_of(journal, arguments.plan.as_deref())?;
    for open in &mut waiting {
        open.project = project.map(|folder| folder.display().to_string());
    }
    show(&waiting, arguments, terminal)?;
    Ok(Exit::Fine)
}

/// The questions of every project below the current folder. One whose journal cannot be read hides no other.
pub fn run_everywhere(arguments: &Arguments, terminal: Terminal) -> Result<Exit, Failure> {
    let (mut waiting, mut exit) = (Vec::new(), Exit::Fine);
    for folder in projects_below(Path::new(".")) {
        let journal = Journal::open_there(&journal_file(&folder), Settings::default(), real_host());
        match journal.map_err(Failure::from).and_then(|journal| open_of(&journal, arguments.plan.as_deref())) {
            Ok(mut open) => {
                for open in &mut open {
                    open.project = Some(folder.display().to_string());
                }
                waiting.extend(open);
            }
            Err(error) => {
                terminal.complain(&format!("{}: {error}", folder.display()));
                exit = Exit::Environment;
            }
        }
    }
    show(&waiting, arguments, terminal)?;
    Ok(exit)
}

fn show(waiting: &[Open], arguments: &Arguments, terminal: Terminal) -> Result<(), Failure> {
    let now = real_host().now();
    let wanted = |by: Option<&str>| arguments.by.as_deref().is_none_or(|role| by == Some(role));
    let (mut texts, mut asked) = (Vec::new(), Vec::new());
    for open in waiting {
        for (path, question) in open.questions() {
            if wanted(question.by.as_deref()) {
                let one = open.asked(&path, &question);
                asked.push(one.document());
                texts.push(one.told(now, terminal.look));
            }
        }
    }
    match arguments.format {
        Format::Json => terminal.print(&documents(&asked))?,
        Format::Human if texts.is_empty() => terminal.say("nobody is asked for anything"),
        Format::Human => terminal.print(&texts.join("\n"))?,
    }
    Ok(())
}

/// The runs of a journal that may ask something, the oldest first.
pub(super) fn open_of(journal: &Journal, plan: Option<&str>) -> Result<Vec<Open>, Failure> {
    let states = [RunState::Paused, RunState::Running].map(|state| state.name().to_owned()).to_vec();
    let rows = journal.runs(&Filter { plan: plan.map(str::to_owned), states, ..Filter::default() })?;
    rows.into_iter().rev().filter(|row| !row.ended).map(|row| Open::of(journal, row)).collect()
}

/// The folders of all projects in a folder and below it that have a journal.
fn projects_below(folder: &Path) -> Vec<PathBuf> {
    let mut walk = ignore::WalkBuilder::new(folder);
    walk.standard_filters(false).follow_links(false).max_depth(Some(DEEPEST)).filter_entry(|entry| {
        let name = entry.file_name().to_string_lossy();
        entry.file_type().is_some_and(|kind| kind.is_dir()) && !matches!(&*name, ".git" | "node_modules" | "target")
    });
    let folders = walk.build().filter_map(Result::ok).map(ignore::DirEntry::into_path);
    let mut found: Vec<PathBuf> = folders.filter(|folder| journal_file(folder).is_file()).collect();
    found.sort();
    found
}
