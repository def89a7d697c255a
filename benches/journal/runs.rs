//! Runs with a journal, and the operations on them afterwards.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use planrun_core::journal::{Event, ReplayState, Summary};
use planrun_core::run::{Outcome, Program};
use planrun_lang::protocol::RunState;
use planrun_runs::journal::store::{
    Created, Digest, Journal, JournalError, NewRun, Recorded, Settings, SqliteLease, Synchronous,
    read_ahead,
};
use planrun_tools::host::RealHost;

use super::plans;
use super::world::World;

/// The id of the run to resume and read.
const LARGE: &str = "large";

/// Consecutive runs in one journal.
pub struct Runs {
    journal: Journal,
    count: usize,
}

impl Runs {
    pub fn open(folder: &Path, synchronous: Synchronous) -> Result<Self, String> {
        Ok(Self {
            journal: open(folder, synchronous)?,
            count: 0,
        })
    }

    /// Measures a new run, from its first row to its last event on disk.
    pub fn run(&mut self, world: &World, program: &Arc<Program>) -> Result<Duration, String> {
        self.count += 1;
        let run = self.last();
        let begun = Instant::now();
        let driver = create(&self.journal, &run, world.host().now())?;
        world.run_with(program, &run, Box::new(driver))?;
        Ok(begun.elapsed())
    }

    fn last(&self) -> String {
        format!("run-{}", self.count)
    }

    /// Returns the size of the events of the last run, in bytes.
    pub fn bytes_of_last(&self) -> Result<usize, String> {
        bytes(&self.journal, &self.last())
    }

    /// Returns the events of the last run in the groups of an ideal group commit: one group per layer, with the results
    /// of the layer above it and the starts of its own steps.
    pub fn layers_of_last(&self, side: usize) -> Result<Vec<Vec<String>>, String> {
        let mut groups: Vec<Vec<String>> = vec![Vec::new(); side + 1];
        for event in self.journal.events(&self.last(), 1).map_err(text)? {
            let line = event.map_err(text)?.line;
            let step = line
                .split("\"path\":\"s")
                .nth(1)
                .and_then(|rest| rest.split('"').next()?.parse::<usize>().ok());
            let answers = usize::from(!line.contains("\"step.running\""));
            let layer = step.map_or(0, |step| step / side + answers);
            if let Some(group) = groups.get_mut(layer) {
                group.push(line);
            }
        }
        Ok(groups)
    }
}

/// Writes a run that has completed everything except its last step.
pub fn interrupted_before_its_last_step(
    world: &World,
    folder: &Path,
    elements: usize,
) -> Result<(), String> {
    let journal = open(folder, Synchronous::Normal)?;
    let program = world.plan(&plans::elements(elements))?;
    let driver = create(&journal, LARGE, world.host().now())?;
    world.run_until_last(&program, LARGE, Box::new(driver))
}

/// Copies a journal that no process has open.
pub fn copied(from: &Path, to: &Path) -> Result<PathBuf, String> {
    let _ = std::fs::remove_dir_all(to);
    std::fs::create_dir_all(to).map_err(text)?;
    std::fs::copy(from.join("journal.db"), to.join("journal.db")).map_err(text)?;
    Ok(to.to_owned())
}

/// Opens the journal, checks the plan, and resumes the run to its end. The outcome is returned so that the caller can
/// free it outside of the measured time: the program that resumes a run exits without freeing it.
pub fn resume(world: &World, folder: &Path, elements: usize) -> Result<Outcome, String> {
    let journal = open(folder, Synchronous::Full)?;
    let driver = journal.drive(LARGE).map_err(text)?;
    let replay = folded(&journal)?;
    let program = world.plan(&plans::elements(elements))?;
    world.resume_run(&program, LARGE, Box::new(driver), replay)
}

/// Returns the total size of the large run's events, each verified.
pub fn read_events(folder: &Path) -> Result<usize, String> {
    bytes(&open(folder, Synchronous::Full)?, LARGE)
}

/// Returns the replay state of the large run.
pub fn fold(folder: &Path) -> Result<ReplayState, String> {
    folded(&open(folder, Synchronous::Full)?)
}

fn folded(journal: &Journal) -> Result<ReplayState, String> {
    let mut replay = ReplayState::default();
    let parse =
        |recorded: Result<Recorded, JournalError>| -> Result<Event, Box<dyn Error + Send + Sync>> {
            let mut kept = |digest: &str| Err(format!("{digest}: nothing is as large as that"));
            Ok(Event::read(recorded?.line.as_bytes(), &mut kept)?)
        };
    let lines = read_ahead(Box::new(journal.events(LARGE, 1).map_err(text)?));
    for event in read_ahead(Box::new(lines.map(parse))) {
        replay.take(event.map_err(text)?).map_err(text)?;
    }
    Ok(replay)
}

/// Creates a project with many runs that have ended.
pub fn many_short_runs(folder: &Path, count: usize) -> Result<(), String> {
    let journal = open(&folder.join(".planrun"), Synchronous::Normal)?;
    std::fs::write(folder.join("planrun.yaml"), "apps: []\n").map_err(text)?;
    for run in 0..count {
        let at = 1_700_000_000_000_000_000 + i128::try_from(run).unwrap_or(0) * 1_000_000_000;
        let mut driver = create(&journal, &format!("0193a1f2-{run:08}"), at)?;
        driver.append(
            1,
            b"{\"number\":1,\"at\":\"2023-11-14T22:13:20.000Z\",\"event\":\"run.settled\",\"status\":\"completed\"}",
        );
        let summary = Summary {
            state: RunState::Completed,
            error: None,
            note: None,
            wake: None,
            steps_done: 3,
            steps_all: 3,
        };
        driver.summary(summary, at);
        driver.close().map_err(text)?;
    }
    Ok(())
}

fn open(folder: &Path, synchronous: Synchronous) -> Result<Journal, String> {
    let settings = Settings {
        synchronous,
        ..Settings::default()
    };
    Journal::open(&folder.join("journal.db"), settings, Arc::new(RealHost)).map_err(text)
}

fn create(journal: &Journal, run: &str, at: i128) -> Result<SqliteLease, String> {
    let new = NewRun {
        run,
        plan: "measured",
        digest: Digest::of(b"measured"),
        pinned: b"{}",
        at,
    };
    match journal.create(&new).map_err(text)? {
        Created::New(driver) => Ok(driver),
        Created::Exists(row) => Err(format!("the run {} is there", row.run)),
    }
}

fn bytes(journal: &Journal, run: &str) -> Result<usize, String> {
    let mut bytes = 0;
    for event in journal.events(run, 1).map_err(text)? {
        bytes += event.map_err(text)?.line.len() + 1;
    }
    Ok(bytes)
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
