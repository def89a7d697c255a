//! Processes the items of large files in parallel.

use rayon::prelude::*;

use crate::source::SourceFile;

/// Size, in bytes, from which on parallel processing pays.
pub(super) const LARGE: usize = 256 * 1024;

/// Maps the parts of a file, keeping their order. Large files are processed in parallel, but only inside a thread pool
/// of the caller, which determines the stack size of the threads.
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
