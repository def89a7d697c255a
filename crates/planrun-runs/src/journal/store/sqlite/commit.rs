//! The statements of one transaction of the writer.

use planrun_core::journal::Summary;
use rusqlite::{Connection, Transaction, TransactionBehavior, params};

use super::super::digest::{Digest, link};
use super::super::failure::JournalError;
use super::nanos;
use super::queue::{Target, Work};
use super::rows::wake_microseconds;

/// Maximum length of a segment in bytes, unless a single event is longer. Longer texts are split, because readers hold
/// one segment at a time.
const MAX_SEGMENT_BYTES: usize = 256 * 1024;

/// The state of one run after the transaction, or why the run was left out.
pub(super) type Outcome = Result<Target, JournalError>;

/// Events that are stored together.
struct Segment<'a> {
    first: u64,
    last: u64,
    chain: Digest,
    text: &'a str,
}

/// Returns the row id of the segment that begins with this event.
pub(super) fn place(run: i64, number: u64) -> i64 {
    (run << 32).saturating_add(i64::try_from(number).unwrap_or(i64::MAX))
}

/// Returns the first and the last row id that segments of a run may have.
pub(super) fn places(run: i64) -> [i64; 2] {
    [place(run, 0), place(run, u64::from(u32::MAX))]
}

/// Returns the number of the event with which the segment in this row begins.
pub(super) fn number_at(place: i64) -> u64 {
    (place & 0xffff_ffff).unsigned_abs()
}

/// Writes everything, or nothing if the file refuses. A run whose lease was lost is left out by itself.
pub(super) fn write(
    connection: &mut Connection,
    works: &[Work],
    until: i64,
) -> rusqlite::Result<Vec<Outcome>> {
    // Hash before the file is locked.
    let cut: Vec<_> = works
        .iter()
        .map(|work| segments(&work.target, &work.batch.text))
        .collect();
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut outcomes = Vec::with_capacity(works.len());
    for (work, segments) in works.iter().zip(&cut) {
        outcomes.push(write_one(&transaction, work, segments, until)?);
    }
    transaction.commit()?;
    Ok(outcomes)
}

fn write_one(
    transaction: &Transaction<'_>,
    work: &Work,
    segments: &[Segment<'_>],
    until: i64,
) -> rusqlite::Result<Outcome> {
    let mut target = work.target.clone();
    if work.failed {
        // Nothing may be written after the missing events. Its driver keeps the lease until it reports its end.
        if work.close {
            release(transaction, &target)?;
        }
        return Ok(Ok(target));
    }
    if let Some(segment) = segments.last() {
        (target.last, target.head) = (segment.last, segment.chain);
    }
    if !advance(transaction, &target, work.batch.summary.as_ref(), until)? {
        return Ok(Err(JournalError::Fenced { run: target.run }));
    }
    for (digest, bytes) in &work.batch.blobs {
        keep(transaction, target.id, digest, bytes)?;
    }
    let mut insert = transaction
        .prepare_cached("INSERT INTO segments (id, last, chain, text) VALUES (?, ?, ?, ?)")?;
    for segment in segments {
        insert.execute(params![
            place(target.id, segment.first),
            segment.last,
            segment.chain,
            segment.text
        ])?;
    }
    for message in &work.batch.taken {
        let delete = "DELETE FROM messages WHERE id = ? AND run = ?";
        transaction
            .prepare_cached(delete)?
            .execute([*message, target.id])?;
    }
    if work.close {
        // Whoever sent a message before this was told that the run is driven.
        target.newest_message = newest_message(transaction, target.id)?;
        release(transaction, &target)?;
    }
    Ok(Ok(target))
}

/// Returns the number of the newest message to a run; 0 if there is none.
pub(super) fn newest_message(connection: &Connection, run: i64) -> rusqlite::Result<u64> {
    let select = "SELECT coalesce(max(id), 0) FROM messages WHERE run = ?";
    connection
        .prepare_cached(select)?
        .query_row([run], |row| row.get(0))
}

/// Updates the row of the run, if its lease is still held.
fn advance(
    transaction: &Transaction<'_>,
    target: &Target,
    summary: Option<&(Summary, i128)>,
    until: i64,
) -> rusqlite::Result<bool> {
    let changed = match summary {
        None => transaction
            .prepare_cached("UPDATE runs SET last = ?3, head = ?4, driven_until = ?5 WHERE id = ?1 AND epoch = ?2")?
            .execute(params![target.id, target.epoch, target.last, target.head, until])?,
        Some((summary, at)) => transaction
            .prepare_cached(
                "UPDATE runs SET last = ?3, head = ?4, driven_until = ?5, state = ?6, ended = ?7, error = ?8,
                                 note = ?9, wake_at = ?10, updated_at = ?11, steps_done = ?12, steps_all = ?13
                 WHERE id = ?1 AND epoch = ?2",
            )?
            .execute(params![
                target.id,
                target.epoch,
                target.last,
                target.head,
                until,
                summary.state.name(),
                summary.state.is_ended(),
                summary.error,
                summary.note,
                summary.wake.map(wake_microseconds),
                nanos(*at),
                summary.steps_done,
                summary.steps_all,
            ])?,
    };
    Ok(changed == 1)
}

/// Stores a value once, and the reference of the run to it.
pub(super) fn keep(
    connection: &Connection,
    run: i64,
    digest: &Digest,
    bytes: &[u8],
) -> rusqlite::Result<()> {
    let insert = "INSERT INTO blobs (digest, bytes) VALUES (?, ?) ON CONFLICT (digest) DO NOTHING";
    connection
        .prepare_cached(insert)?
        .execute(params![digest, bytes])?;
    let refer = "INSERT INTO refs (blob, run) SELECT id, ?2 FROM blobs WHERE digest = ?1 ON CONFLICT DO NOTHING";
    connection
        .prepare_cached(refer)?
        .execute(params![digest, run])?;
    Ok(())
}

/// Releases the lease, if it is still held.
pub(super) fn release(connection: &Connection, target: &Target) -> rusqlite::Result<()> {
    let update =
        "UPDATE runs SET driver = NULL, process = NULL, machine = NULL, driven_since = NULL, driven_until = NULL
                  WHERE id = ? AND epoch = ?";
    connection
        .prepare_cached(update)?
        .execute([target.id, target.epoch])?;
    Ok(())
}

/// Renews all leases. Returns those that were lost.
pub(super) fn renew(
    connection: &mut Connection,
    targets: &[(u64, Target)],
    until: i64,
) -> rusqlite::Result<Vec<(u64, String)>> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut lost = Vec::new();
    {
        let update = "UPDATE runs SET driven_until = ? WHERE id = ? AND epoch = ?";
        let mut update = transaction.prepare_cached(update)?;
        for (key, target) in targets {
            if update.execute([until, target.id, target.epoch])? == 0 {
                lost.push((*key, target.run.clone()));
            }
        }
    }
    transaction.commit()?;
    Ok(lost)
}

/// Splits lines into segments and computes the chain after each.
fn segments<'a>(target: &Target, text: &'a str) -> Vec<Segment<'a>> {
    let mut segments = Vec::new();
    let (mut chain, mut last) = (target.head, target.last);
    let (mut begin, mut end, mut first) = (0, 0, last + 1);
    for line in text.split_inclusive('\n') {
        if end > begin && end - begin + line.len() > MAX_SEGMENT_BYTES {
            segments.push(Segment {
                first,
                last,
                chain,
                text: &text[begin..end],
            });
            (begin, first) = (end, last + 1);
        }
        chain = link(&chain, line.strip_suffix('\n').unwrap_or(line));
        last += 1;
        end += line.len();
    }
    if end > begin {
        segments.push(Segment {
            first,
            last,
            chain,
            text: &text[begin..end],
        });
    }
    segments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_between_lines_and_the_chain_goes_on() {
        let target = Target {
            id: 3,
            run: "r".into(),
            epoch: 1,
            last: 7,
            head: Digest::of(b"h"),
            newest_message: 0,
        };
        let line = format!("{}\n", "x".repeat(100_000));
        let text = line.repeat(5);
        let cut = segments(&target, &text);
        let numbers: Vec<_> = cut
            .iter()
            .map(|segment| (segment.first, segment.last))
            .collect();
        assert_eq!(numbers, [(8, 9), (10, 11), (12, 12)]);
        assert_eq!(
            cut.iter().map(|segment| segment.text).collect::<String>(),
            text
        );
        let whole = text
            .lines()
            .fold(target.head, |head, line| link(&head, line));
        assert_eq!(cut.last().unwrap().chain, whole);
        assert!(segments(&target, "").is_empty());
    }

    #[test]
    fn a_place_tells_run_and_number() {
        assert_eq!(place(3, 8), (3 << 32) + 8);
        assert_eq!(number_at(place(3, 8)), 8);
        assert_eq!(
            number_at(place(1, u64::from(u32::MAX))),
            u64::from(u32::MAX)
        );
    }
}
