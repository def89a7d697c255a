//! What interrupts a command: Ctrl-C, and the signals by which a system ends programs.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Mutex, Once, PoisonError};

use planrun_tools::tools::kill_programs;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::Exit;

/// What the first signal stops; without one, it ends the process.
static STOPS: Mutex<Option<CancellationToken>> = Mutex::new(None);

/// From now on the first signal stops gracefully: effects in flight are awaited.
pub fn stop_on_signal(cancel: CancellationToken) {
    *STOPS.lock().unwrap_or_else(PoisonError::into_inner) = Some(cancel);
    end_on_signal();
}

/// From now on a signal that nothing stops at ends the process, and the programs that it runs. Signals are waited for in a thread of
/// their own, so that they count whatever the run is busy with; once this returns, none is missed.
pub fn end_on_signal() {
    static WATCHES: Once = Once::new();
    WATCHES.call_once(|| {
        let (ready, is_ready) = sync_channel(1);
        // Without the thread, the system ends the process as ever.
        let _ = std::thread::Builder::new().spawn(move || watch(&ready));
        let _ = is_ready.recv();
    });
}

fn watch(ready: &SyncSender<()>) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let mut hangup = signal(SignalKind::hangup())?;
        let _ = ready.send(());
        loop {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hangup.recv() => {}
            }
            let stops = STOPS.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(cancel) = stops {
                cancel.cancel();
            } else {
                kill_programs();
                std::process::exit(i32::from(Exit::Interrupted.code()));
            }
        }
    })
}
