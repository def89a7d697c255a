//! What the journal is held against: one fdatasync a step, a group commit as one would write it by hand, rows alone.

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

/// Appends so many bytes and waits until they are on disk, once a step.
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

/// One thread that writes all lines that wait in one transaction, and tells how many are on disk.
pub struct GroupCommit {
    lines: Option<Sender<String>>,
    durable: Receiver<Result<usize, String>>,
    thread: Option<JoinHandle<()>>,
}

impl GroupCommit {
    pub fn start(path: &Path) -> Result<Self, String> {
        let connection = open(path, "FULL")?;
        let (lines, waiting) = channel();
        let (told, durable) = channel();
        let thread = std::thread::spawn(move || write_all(connection, &waiting, &told));
        Ok(Self {
            lines: Some(lines),
            durable,
            thread: Some(thread),
        })
    }

    /// Hands over one group after the other, each when the one before it is on disk.
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

/// Writes the same rows as a chain does, one commit a step, on one thread and without anything else.
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

/// A new file with the tables of the journal and one run.
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
    told: &Sender<Result<usize, String>>,
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
        if told.send(written.map(|()| count)).is_err() {
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

/// The bytes of all events, as the rows have them.
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
