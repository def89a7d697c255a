//! Large files: what is done to their items is done to many at a time.

use rayon::prelude::*;

use crate::source::SourceFile;

/// Smaller files are not worth a thread of their own.
pub(super) const LARGE: usize = 256 * 1024;

/// What `work` makes of each part of a file, in their order. Threads take part only where the caller has some: they have
/// the room on the stack that the caller thinks right.
pub fn map_parts<T: Sync, R: Send>(
    source: &SourceFile,
    parts: &[T],
    work: impl Fn(&T) -> R + Send + Sync,
) -> Vec<R> {
    if source.text().len() >= LARGE && rayon::current_thread_index().is_some() {
        parts.par_iter().map(work).collect()
    } else {
        parts.iter().map(work).collect()
    }
}
