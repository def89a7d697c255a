//! Whether the messages to a run, such as answers and signals, have been taken.

use super::{Error, Planrun};

/// Whether the messages to a run were taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Delivery {
    /// A process has taken all of them, or the run has ended.
    Taken,
    /// The process that drives the run has not taken all of them yet. If it was asked to stop, it leaves them to the next
    /// one.
    Driven,
    /// No process drives the run. The next one takes them.
    Unread,
}

/// Returns what has become of the messages to a run, given by its id or a prefix of it.
///
/// # Errors
/// Returns an error if there is no such run, or if the journal cannot be read.
pub fn delivery(planrun: &Planrun, run: &str) -> Result<Delivery, Error> {
    let journal = planrun.shared.journal_of(run)?;
    // The row is read first: a process takes messages before it releases the run.
    let row = journal.run(run)?;
    let driven = journal.is_driven(&row);
    Ok(if row.ended || journal.inbox(&row.run)?.is_empty() {
        Delivery::Taken
    } else if driven {
        Delivery::Driven
    } else {
        Delivery::Unread
    })
}
