//! Work that holds its thread.

use std::future::pending;
use std::panic::resume_unwind;
use std::sync::Arc;

use tokio::task::spawn_blocking;

/// Does work that waits for files or the journal, or that checks or replays a plan, on a thread of its own: the threads
/// of the runtime answer other requests meanwhile.
pub(crate) async fn blocking<O, T>(
    of: &Arc<O>,
    work: impl FnOnce(&Arc<O>) -> T + Send + 'static,
) -> T
where
    O: Send + Sync + ?Sized + 'static,
    T: Send + 'static,
{
    let of = of.clone();
    match spawn_blocking(move || work(&of)).await {
        Ok(done) => done,
        Err(error) if error.is_panic() => resume_unwind(error.into_panic()),
        // The runtime ends, and drops whatever waits for this.
        Err(_) => pending().await,
    }
}
