//! Runs that are written down, and what is done with them afterwards.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use planrun_core::journal::{Event, ReplayState};
use planrun_core::run::{Outcome, Program};
use planrun_runs::journal::store::{
    Created, Digest, Journal, NewRun, Settings, SqliteLease, Summary, Synchronous, ahead,
};
use planrun_tools::host::RealHost;

use super::plans;
use super::world::World;

/// The run that is resumed and read.
const LARGE: &str = "large";

/// Runs one after the other in one journal.
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

    /// A new run, from its first row to its last event on disk.
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

    /// How many bytes its events take.
    pub fn bytes_of_last(&self) -> Result<usize, String> {
        bytes(&self.journal, &self.last())
    }

    /// Its events as somebody would group them who knows the plan: one group for each layer, with the answers of the layer
    /// above it and what its own steps are sent out with.
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

/// Writes a run that has done everything but its last step.
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

/// A copy of a journal that nobody has open.
pub fn copied(from: &Path, to: &Path) -> Result<PathBuf, String> {
    let _ = std::fs::remove_dir_all(to);
    std::fs::create_dir_all(to).map_err(text)?;
    std::fs::copy(from.join("journal.db"), to.join("journal.db")).map_err(text)?;
    Ok(to.to_owned())
}

/// Opens the journal, checks the plan, and goes on with the run to its end. The program that resumes a run prints the
/// outcome and ends without freeing it, so whoever measures frees it afterwards.
pub fn resume(world: &World, folder: &Path, elements: usize) -> Result<Outcome, String> {
    let journal = open(folder, Synchronous::Full)?;
    let driver = journal.drive(LARGE).map_err(text)?;
    let past = folded(&journal)?;
    let program = world.plan(&plans::elements(elements))?;
    world.go_on(&program, LARGE, Box::new(driver), past)
}

/// How many bytes the events of the large run have, each proved.
pub fn read_events(folder: &Path) -> Result<usize, String> {
    bytes(&open(folder, Synchronous::Full)?, LARGE)
}

/// Where every step of the large run stands.
pub fn fold(folder: &Path) -> Result<ReplayState, String> {
    folded(&open(folder, Synchronous::Full)?)
}

fn folded(journal: &Journal) -> Result<ReplayState, String> {
    let mut past = ReplayState::default();
    let mut kept = |digest: &str| Err(format!("{digest}: nothing is as large as that"));
    for event in ahead(Box::new(journal.events(LARGE, 1).map_err(text)?)) {
        let line = event.map_err(text)?.line;
        let event = Event::read(line.as_bytes(), &mut kept).map_err(text)?;
        past.take(event).map_err(text)?;
    }
    Ok(past)
}

/// A project with many runs that have ended.
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
        driver.summary(Summary {
            state: "completed".to_owned(),
            ended: true,
            error: None,
            note: None,
            wake_at: None,
            updated_at: at,
            steps_done: 3,
            steps_all: Some(3),
        });
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
