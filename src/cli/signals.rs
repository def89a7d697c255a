//! Handles the signals that interrupt a command: Ctrl-C, and those that terminate programs.

use std::sync::{Mutex, Once, PoisonError};

use planrun_tools::tools::kill_programs;
use signal_hook::consts::signal::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use tokio_util::sync::CancellationToken;

use super::Exit;

/// The token that the first signal cancels; without one, the signal ends the process.
static STOPS: Mutex<Option<CancellationToken>> = Mutex::new(None);

/// Makes the first signal cancel `cancel`, so that the run stops gracefully: effects in flight are awaited.
pub fn stop_on_signal(cancel: CancellationToken) {
    *STOPS.lock().unwrap_or_else(PoisonError::into_inner) = Some(cancel);
    end_on_signal();
}

/// Installs the signal handler: a signal ends the process and the programs that it runs, unless there is a token to
/// cancel. No signal is missed once this returns. Signals are awaited in a thread of their own, so that they are
/// handled whatever the run is doing.
pub fn end_on_signal() {
    static WATCHES: Once = Once::new();
    WATCHES.call_once(|| {
        // If the handler cannot be installed, a signal ends the process by default.
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
