//! `planrun runs inbox`: everything that waits for somebody's answer.

use std::path::{Path, PathBuf};

use clap::Args;

use super::Format;
use super::open::Open;
use crate::cli::question::documents;
use crate::cli::workspace::{real_host, spoken_at};
use crate::cli::{Exit, Failure, Terminal};
use crate::diag::render::Look;
use crate::journal::store::{Filter, Journal, Settings};
use crate::project::{Location, journal_file};
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

pub fn run(journal: &Journal, arguments: &Arguments, terminal: Terminal) -> Result<Exit, Failure> {
    let waiting = open_of(journal, arguments.plan.as_deref(), terminal.place)?;
    show(waiting.iter().map(|open| (open, terminal.look)), arguments, terminal)?;
    Ok(Exit::Fine)
}

/// The questions of every project below the current folder. One whose journal cannot be read hides no other.
pub fn run_everywhere(arguments: &Arguments, terminal: Terminal) -> Result<Exit, Failure> {
    let (mut waiting, mut exit) = (Vec::new(), Exit::Fine);
    for folder in projects_below(Path::new(".")) {
        let journal = Journal::open_there(&journal_file(&folder), Settings::default(), real_host());
        let place = folder.display().to_string();
        let open = journal.map_err(Failure::from);
        match open.and_then(|journal| open_of(&journal, arguments.plan.as_deref(), Some(&place))) {
            Ok(open) => {
                let location = Location { folder: folder.clone(), file: None };
                let look = terminal.speaking(spoken_at(&*real_host(), &location)).look;
                waiting.extend(open.into_iter().map(|open| (open, look)));
            }
            Err(error) => {
                terminal.complain(&format!("{}: {error}", folder.display()));
                exit = Exit::Environment;
            }
        }
    }
    show(waiting.iter().map(|(open, look)| (open, *look)), arguments, terminal)?;
    Ok(exit)
}

fn show<'a>(
    waiting: impl Iterator<Item = (&'a Open, Look)>,
    arguments: &Arguments,
    terminal: Terminal,
) -> Result<(), Failure> {
    let now = real_host().now();
    let wanted = |by: Option<&str>| arguments.by.as_deref().is_none_or(|role| by == Some(role));
    let (mut texts, mut asked) = (Vec::new(), Vec::new());
    for (open, look) in waiting {
        for (path, question) in open.questions() {
            if wanted(question.by.as_deref()) {
                let one = open.asked(&path, &question);
                asked.push(one.document());
                texts.push(one.told(now, look));
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
pub(super) fn open_of(journal: &Journal, plan: Option<&str>, project: Option<&str>) -> Result<Vec<Open>, Failure> {
    let states = [RunState::Paused, RunState::Running].map(|state| state.name().to_owned()).to_vec();
    let rows = journal.runs(&Filter { plan: plan.map(str::to_owned), states, ..Filter::default() })?;
    rows.into_iter().rev().filter(|row| !row.ended).map(|row| Open::of(journal, row, project)).collect()
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
