//! Reads events back, one segment at a time, each verified by the chain before it is returned.

use std::collections::VecDeque;
use std::num::NonZero;
use std::sync::Arc;
use std::thread::{Builder, available_parallelism, scope};

use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::super::digest::{Digest, link};
use super::super::failure::{Damage, JournalError};
use super::super::interface::Recorded;
use super::commit::{number_at, place, places};

use super::Inner;

/// Number of bytes up to which segments are read together, because each query takes the file's locks.
const READ_AT_ONCE: usize = 1024 * 1024;
/// Number of bytes that justify a thread to verify them.
const PROVED_AT_ONCE: usize = 128 * 1024;

/// The events of a run, up to the last one when reading began. The iterator ends after the first error.
#[derive(Debug)]
pub struct Events {
    journal: Arc<Inner>,
    id: i64,
    run: String,
    /// Number of the first requested event.
    from: u64,
    /// Number of the next event to return.
    next: u64,
    /// The last event on disk when reading began, and the chain after it.
    last: u64,
    head: Digest,
    /// The value of the chain before the next segment.
    chain: Digest,
    /// Segments that were read and have not been verified.
    ahead: VecDeque<Segment>,
    /// The verified segment whose events are being returned, and how many of its bytes were returned.
    text: String,
    given: usize,
    over: bool,
}

/// One row of segments.
#[derive(Debug)]
struct Segment {
    place: i64,
    last: u64,
    chain: Digest,
    text: String,
    /// The value of the chain after its lines, if it begins with that of the previous segment, and the number of lines.
    linked: Option<(Digest, u64)>,
}

impl Segment {
    fn of(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            place: row.get(0)?,
            last: row.get(1)?,
            chain: row.get(2)?,
            text: row.get(3)?,
            linked: None,
        })
    }

    fn link(&mut self, before: Digest) {
        let lines = self.text.split_terminator('\n');
        let linked = lines.fold((before, 0), |(chain, count), line| {
            (link(&chain, line), count + 1)
        });
        self.linked = Some(linked);
    }
}

/// Computes the chain over consecutive segments, in parallel if they are long. Each part begins with the chain value
/// that the previous segment claims, which is checked when that segment is loaded.
fn link_all(segments: &mut [Segment], mut before: Digest) {
    let starts = segments
        .iter()
        .map(|segment| std::mem::replace(&mut before, segment.chain));
    let starts: Vec<Digest> = starts.collect();
    let one_by_one = |segments: &mut [Segment], starts: &[Digest]| {
        for (segment, start) in segments.iter_mut().zip(starts) {
            if segment.linked.is_none() {
                segment.link(*start);
            }
        }
    };
    let bytes: usize = segments.iter().map(|segment| segment.text.len()).sum();
    let threads = available_parallelism().map_or(1, NonZero::get);
    let parts = threads.min(bytes / PROVED_AT_ONCE).max(1);
    let length = segments.len().div_ceil(parts).max(1);
    scope(|scope| {
        let mut parts = segments.chunks_mut(length).zip(starts.chunks(length));
        let own = parts.next();
        for (segments, starts) in parts {
            let others = move || one_by_one(segments, starts);
            // Segments whose thread could not be started are linked below.
            let _ = Builder::new().spawn_scoped(scope, others);
        }
        if let Some((segments, starts)) = own {
            one_by_one(segments, starts);
        }
    });
    one_by_one(segments, &starts);
}

impl Events {
    pub(super) fn of(journal: Arc<Inner>, run: &str, from: u64) -> Result<Self, JournalError> {
        let (id, row) = journal.row(run)?;
        let from = from.max(1);
        let (next, chain) = journal
            .read(|connection| start(connection, id, from))?
            .unwrap_or((1, row.origin()));
        let (run, last, head) = (run.to_owned(), row.events, row.head);
        let over = from > last && last > 0;
        let mut events = Self {
            journal,
            id,
            run,
            from,
            next,
            last,
            head,
            chain,
            ahead: VecDeque::new(),
            text: String::new(),
            given: 0,
            over,
        };
        if last == 0 && chain != head {
            events.over = true;
            return Err(events.damaged(Damage::Run {
                run: events.run.clone(),
                why: "it was altered".into(),
            }));
        }
        Ok(events)
    }

    /// Reads the next segment and verifies it.
    fn load(&mut self) -> Result<(), JournalError> {
        if self.ahead.is_empty()
            && let Err(error) = self.read_ahead()
        {
            let unreadable = matches!(error, JournalError::Damaged { .. });
            return Err(if unreadable {
                self.at_fault(self.last, "unreadable")
            } else {
                error
            });
        }
        let Some(segment) = self.ahead.pop_front() else {
            return Err(self.missing());
        };
        let (first, last) = (number_at(segment.place), segment.last);
        if first != self.next {
            return Err(self.at_fault(first.saturating_sub(1), "missing"));
        }
        let Some((chain, lines)) = segment.linked else {
            return Err(self.missing());
        };
        if last < first
            || last > self.last
            || lines != last - first + 1
            || !segment.text.ends_with('\n')
        {
            return Err(self.at_fault(last.clamp(first, self.last), "truncated or altered"));
        }
        if chain != segment.chain || (last == self.last && chain != self.head) {
            return Err(self.at_fault(last, "altered"));
        }
        (self.chain, self.text, self.given) = (chain, segment.text, 0);
        Ok(())
    }

    /// Reads the next segments. A read error is reported when its segment is reached.
    fn read_ahead(&mut self) -> Result<(), JournalError> {
        let select =
            "SELECT id, last, chain, text FROM segments WHERE id BETWEEN ? AND ? ORDER BY id";
        let between = [place(self.id, self.next), place(self.id, self.last)];
        let ahead = &mut self.ahead;
        self.journal.read(|connection| {
            let mut statement = connection.prepare_cached(select)?;
            let mut rows = statement.query(between)?;
            let mut bytes = 0;
            while bytes < READ_AT_ONCE {
                let segment = match rows.next().and_then(|row| row.map(Segment::of).transpose()) {
                    Ok(Some(segment)) => segment,
                    Err(error) if ahead.is_empty() => return Err(error),
                    Ok(None) | Err(_) => break,
                };
                bytes += segment.text.len();
                ahead.push_back(segment);
            }
            Ok(())
        })?;
        link_all(self.ahead.make_contiguous(), self.chain);
        Ok(())
    }

    /// Returns why events are missing: they were removed, or the run was deleted while it was read.
    fn missing(&self) -> JournalError {
        match self.journal.row(&self.run) {
            Ok(_) => self.at_fault(self.last, "missing"),
            Err(error) => error,
        }
    }

    fn at_fault(&self, last: u64, why: &str) -> JournalError {
        let (run, first, last) = (self.run.clone(), self.next, last.max(self.next));
        self.damaged(Damage::Events {
            run,
            first,
            last,
            why: why.into(),
        })
    }

    fn damaged(&self, what: Damage) -> JournalError {
        self.journal.damaged(what)
    }
}

impl Iterator for Events {
    type Item = Result<Recorded, JournalError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if self.over || (self.next > self.last && self.given == self.text.len()) {
                return None;
            }
            if self.given == self.text.len()
                && let Err(error) = self.load()
            {
                self.over = true;
                return Some(Err(error));
            }
            let rest = &self.text[self.given..];
            let line = rest.split_terminator('\n').next().unwrap_or(rest);
            self.given += line.len() + 1;
            let number = self.next;
            self.next += 1;
            if number >= self.from {
                let line = line.to_owned();
                return Some(Ok(Recorded { number, line }));
            }
        }
    }
}

/// Returns the number and the chain value at which the segment with this event begins; `None` for the first segment.
fn start(connection: &Connection, run: i64, from: u64) -> rusqlite::Result<Option<(u64, Digest)>> {
    let select = "SELECT last, chain FROM segments WHERE id BETWEEN ?1 AND ?2 AND last < ?3 ORDER BY id DESC LIMIT 1";
    connection
        .prepare_cached(select)?
        .query_row(params![place(run, 0), place(run, from), from], |row| {
            Ok((row.get::<_, u64>(0)?.saturating_add(1), row.get(1)?))
        })
        .optional()
}

/// Returns the last event of a run according to its segments, and the chain value after it.
pub(super) fn newest(connection: &Connection, run: i64) -> rusqlite::Result<(u64, Digest)> {
    let select =
        "SELECT last, chain FROM segments WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT 1";
    connection
        .prepare_cached(select)?
        .query_row(places(run), |row| Ok((row.get(0)?, row.get(1)?)))
}

impl Inner {
    /// Returns the hashes of a run's values, beginning with the pinned document.
    pub(super) fn values(&self, run: i64, pinned: Digest) -> Result<Vec<Digest>, JournalError> {
        let select = "SELECT digest FROM refs JOIN blobs ON blobs.id = refs.blob
                      WHERE refs.run = ?1 ORDER BY digest <> ?2, digest";
        self.read(|connection| {
            connection
                .prepare_cached(select)?
                .query_map(rusqlite::params![run, pinned], |row| row.get(0))?
                .collect()
        })
    }
}
