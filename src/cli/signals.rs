//! What interrupts a command: Ctrl-C, and the signals by which a system ends programs.

use std::sync::{Mutex, Once, PoisonError};

use planrun_tools::tools::kill_programs;
use signal_hook::consts::signal::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use tokio_util::sync::CancellationToken;

use super::Exit;

/// What the first signal stops; without one, it ends the process.
static STOPS: Mutex<Option<CancellationToken>> = Mutex::new(None);

/// From now on the first signal stops gracefully: effects in flight are awaited.
pub fn stop_on_signal(cancel: CancellationToken) {
    *STOPS.lock().unwrap_or_else(PoisonError::into_inner) = Some(cancel);
    end_on_signal();
}

/// From now on a signal that nothing stops at ends the process, and the programs that it runs. None is missed once this
/// returns. Signals are waited for in a thread of their own, so that they count whatever the run is busy with.
pub fn end_on_signal() {
    static WATCHES: Once = Once::new();
    WATCHES.call_once(|| {
        // Where the system has no room for it, it ends the process as ever.
        if let Ok(signals) = Signals::new([SIGINT, SIGTERM, SIGHUP]) {
            let _ = std::thread::Builder::new().spawn(move || watch(signals));
        }
    });
}

fn watch(mut signals: Signals) {
    for _ in &mut signals {
        let stops = STOPS.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(cancel) = stops {
            cancel.cancel();
        } else {
            kill_programs();
            std::process::exit(i32::from(Exit::Interrupted.code()));
        }
    }
}
