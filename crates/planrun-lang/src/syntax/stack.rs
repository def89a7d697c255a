//! Room on the native stack for the nesting that the caps allow.

/// Nesting that every thread has room for, debug builds included.
const SHALLOW: usize = 24;
/// Bytes of stack for the deepest nesting that the caps allow, several times what debug builds use.
const ROOM: usize = 256 * 1024 * 1024;

/// Runs `work` here, or, for a deeply nested text, on a thread with a large stack. `None` where the system refuses one.
#[must_use]
pub fn with_room<T: Send>(depth: usize, work: impl FnOnce() -> T + Send) -> Option<T> {
    if depth <= SHALLOW {
        return Some(work());
    }
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .stack_size(ROOM)
            .spawn_scoped(scope, work)
            .ok()?;
        thread.join().ok()
    })
}
