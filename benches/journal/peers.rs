//! The alternatives to compare with: one fdatasync per step, a hand-written group commit, plain rows.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::{Connection, params};

/// The tables of the journal, so that both write the same.
const SCHEMA: &str =
    include_str!("../../crates/planrun-runs/src/journal/store/sqlite/format_1.sql");

/// Appends this many bytes per step, and waits after each until they are on disk.
pub fn append_and_sync(path: &Path, steps: usize, bytes: usize) -> Result<Duration, String> {
    let _ = std::fs::remove_file(path);
    let line = vec![b'x'; bytes];
    let mut file = File::options()
        .append(true)
        .create_new(true)
        .open(path)
        .map_err(text)?;
    let begun = Instant::now();
    for _ in 0..steps {
        file.write_all(&line).map_err(text)?;
        file.sync_data().map_err(text)?;
    }
    Ok(begun.elapsed())
}

/// A thread that writes all pending lines in one transaction, and reports how many are on disk.
pub struct GroupCommit {
    lines: Option<Sender<String>>,
    durable: Receiver<Result<usize, String>>,
    thread: Option<JoinHandle<()>>,
}

impl GroupCommit {
    pub fn start(path: &Path) -> Result<Self, String> {
        let connection = open(path, "FULL")?;
        let (lines, waiting) = channel();
        let (reports, durable) = channel();
        let thread = std::thread::spawn(move || write_all(connection, &waiting, &reports));
        Ok(Self {
            lines: Some(lines),
            durable,
            thread: Some(thread),
        })
    }

    /// Writes the groups in sequence, each after the one before it is on disk.
    pub fn write(&mut self, groups: &[Vec<String>]) -> Result<Duration, String> {
        let begun = Instant::now();
        for group in groups {
            let lines = self.lines.as_ref().ok_or("the writer is gone")?;
            group
                .iter()
                .try_for_each(|line| lines.send(line.clone()))
                .map_err(text)?;
            let mut left = group.len();
            while left > 0 {
                left -= self.durable.recv().map_err(text)??;
            }
        }
        Ok(begun.elapsed())
    }
}

impl Drop for GroupCommit {
    fn drop(&mut self) {
        self.lines = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Writes the same rows as a chain, with one commit per step, on one thread and with no other work.
pub fn commit_each(path: &Path, steps: usize, bytes: usize) -> Result<Duration, String> {
    let _ = std::fs::remove_file(path);
    let mut connection = open(path, "NORMAL")?;
    let line = "x".repeat(bytes);
    let begun = Instant::now();
    for step in 0..steps {
        write(&mut connection, &line, step, 1).map_err(text)?;
    }
    Ok(begun.elapsed())
}

/// Creates a file with the tables of the journal and one run.
fn open(path: &Path, synchronous: &str) -> Result<Connection, String> {
    let connection = Connection::open(path).map_err(text)?;
    connection
        .pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))
        .map_err(text)?;
    connection
        .pragma_update(None, "synchronous", synchronous)
        .map_err(text)?;
    connection.execute_batch(SCHEMA).map_err(text)?;
    let insert = "INSERT INTO runs (run, plan, digest, pinned, created_at, updated_at, state, last, head, epoch)
                  VALUES ('r', 'measured', zeroblob(32), zeroblob(32), 1, 1, 'running', 0, zeroblob(32), 1)";
    connection.execute(insert, []).map_err(text)?;
    Ok(connection)
}

fn write_all(
    mut connection: Connection,
    waiting: &Receiver<String>,
    reports: &Sender<Result<usize, String>>,
) {
    let mut last = 0;
    while let Ok(first) = waiting.recv() {
        let (mut batch, mut count) = (first, 1);
        batch.push('\n');
        for line in waiting.try_iter() {
            batch.push_str(&line);
            batch.push('\n');
            count += 1;
        }
        let written = write(&mut connection, &batch, last, count).map_err(text);
        last += count;
        if reports.send(written.map(|()| count)).is_err() {
            return;
        }
    }
}

fn write(
    connection: &mut Connection,
    batch: &str,
    last: usize,
    count: usize,
) -> rusqlite::Result<()> {
    let transaction = connection.transaction()?;
    transaction
        .prepare_cached("INSERT INTO segments (id, last, chain, text) VALUES (4294967296 + ?1, ?2, zeroblob(32), ?3)")?
        .execute(params![last + 1, last + count, batch])?;
    transaction
        .prepare_cached("UPDATE runs SET last = ?1, driven_until = ?1 WHERE id = 1")?
        .execute([last + count])?;
    transaction.commit()
}

/// Returns the total size of all events, from plain rows.
pub fn read_rows(folder: &Path) -> Result<usize, String> {
    let connection = Connection::open(folder.join("journal.db")).map_err(text)?;
    let mut statement = connection
        .prepare("SELECT text FROM segments ORDER BY id")
        .map_err(text)?;
    let texts = statement
        .query_map([], |row| row.get::<_, String>(0))
        .map_err(text)?;
    texts
        .map(|text| text.map(|text| text.len()))
        .sum::<rusqlite::Result<usize>>()
        .map_err(text)
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
