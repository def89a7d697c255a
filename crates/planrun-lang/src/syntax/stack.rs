//! Provides enough native stack for the maximum nesting depth.

/// Nesting depth for which the stack of any thread suffices, even in debug builds.
const SHALLOW: usize = 24;
/// Stack size in bytes for the maximum nesting depth, several times what debug builds use.
const STACK_BYTES: usize = 256 * 1024 * 1024;

/// Runs `work` on this thread or, for a deeply nested text, on one with a large stack. Returns `None` if the system
/// cannot start that thread or the thread panics.
#[must_use]
pub fn with_stack<T: Send>(depth: usize, work: impl FnOnce() -> T + Send) -> Option<T> {
    if depth <= SHALLOW {
        return Some(work());
    }
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, work)
            .ok()?;
        thread.join().ok()
    })
}
