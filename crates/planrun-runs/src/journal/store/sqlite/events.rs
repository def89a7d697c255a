//! Events read back, a segment at a time, each proved by the chain before it is given.

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

/// Segments are read together until they have so many bytes: each reading asks for the file's locks.
const READ_AT_ONCE: usize = 1024 * 1024;
/// So many bytes are worth a thread that proves them.
const PROVED_AT_ONCE: usize = 128 * 1024;

/// The events of a run as far as they went when the reading began. Ends behind the first that cannot be trusted.
#[derive(Debug)]
pub struct Events {
    journal: Arc<Inner>,
    id: i64,
    run: String,
    /// The first that is wanted.
    from: u64,
    /// The next that is given.
    next: u64,
    /// The last on disk when the reading began, and the chain after it.
    last: u64,
    head: Digest,
    /// The chain before the next segment.
    chain: Digest,
    /// What was read and is not proved yet.
    ahead: VecDeque<Segment>,
    /// The segment that is given away just now, proved, and how much of it was given.
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
    /// The chain after its lines, where it begins with that of the segment before, and their number.
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

/// Links segments that follow each other, beside each other where they are long: where each begins is known, and whether
/// that is true of one is seen when the one before it is held against its chain.
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
            // Where there is no room for a thread, they are linked below.
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

    /// Reads the next segment and proves it.
    fn load(&mut self) -> Result<(), JournalError> {
        if self.ahead.is_empty()
            && let Err(error) = self.read_ahead()
        {
            let told = self.journal.failure(&error);
            let unreadable = matches!(told, JournalError::Damaged { .. });
            return Err(if unreadable {
                self.at_fault(self.last, "they cannot be read")
            } else {
                told
            });
        }
        let Some(segment) = self.ahead.pop_front() else {
            return Err(self.missing());
        };
        let (first, last) = (number_at(segment.place), segment.last);
        if first != self.next {
            return Err(self.at_fault(first.saturating_sub(1), "they are missing"));
        }
        let Some((chain, lines)) = segment.linked else {
            return Err(self.missing());
        };
        if last < first
            || last > self.last
            || lines != last - first + 1
            || !segment.text.ends_with('\n')
        {
            return Err(self.at_fault(last.clamp(first, self.last), "they were cut or altered"));
        }
        if chain != segment.chain || (last == self.last && chain != self.head) {
            return Err(self.at_fault(last, "they were altered"));
        }
        (self.chain, self.text, self.given) = (chain, segment.text, 0);
        Ok(())
    }

    /// Reads the next segments. What cannot be read is told when it is its turn.
    fn read_ahead(&mut self) -> rusqlite::Result<()> {
        let front = self.journal.front();
        let select =
            "SELECT id, last, chain, text FROM segments WHERE id BETWEEN ? AND ? ORDER BY id";
        let mut statement = front.prepare_cached(select)?;
        let mut rows = statement.query([place(self.id, self.next), place(self.id, self.last)])?;
        let mut bytes = 0;
        while bytes < READ_AT_ONCE {
            let segment = match rows.next().and_then(|row| row.map(Segment::of).transpose()) {
                Ok(Some(segment)) => segment,
                Err(error) if self.ahead.is_empty() => return Err(error),
                Ok(None) | Err(_) => break,
            };
            bytes += segment.text.len();
            self.ahead.push_back(segment);
        }
        drop(rows);
        drop(statement);
        drop(front);
        link_all(self.ahead.make_contiguous(), self.chain);
        Ok(())
    }

    /// Nothing is there where events should be: they were taken away, or the run was deleted while it was read.
    fn missing(&self) -> JournalError {
        match self.journal.row(&self.run) {
            Ok(_) => self.at_fault(self.last, "they are missing"),
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

/// The number and the chain where the segment begins that holds this event; none for the first segment.
fn start(connection: &Connection, run: i64, from: u64) -> rusqlite::Result<Option<(u64, Digest)>> {
    let select = "SELECT last, chain FROM segments WHERE id BETWEEN ?1 AND ?2 AND last < ?3 ORDER BY id DESC LIMIT 1";
    connection
        .prepare_cached(select)?
        .query_row(params![place(run, 0), place(run, from), from], |row| {
            Ok((row.get::<_, u64>(0)?.saturating_add(1), row.get(1)?))
        })
        .optional()
}

/// The last event of a run by its segments, and the chain after it.
pub(super) fn newest(connection: &Connection, run: i64) -> rusqlite::Result<(u64, Digest)> {
    let select =
        "SELECT last, chain FROM segments WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT 1";
    connection
        .prepare_cached(select)?
        .query_row(places(run), |row| Ok((row.get(0)?, row.get(1)?)))
}

impl Inner {
    /// The values that a run refers to, the pinned document first.
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
