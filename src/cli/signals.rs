//! Handles the signals that interrupt a command: Ctrl-C, and those that terminate programs.

use std::sync::{Once, mpsc};
use std::thread::{Builder, sleep};
use std::time::Duration;

use parking_lot::Mutex;
use planrun_tools::host::runtime_now;
use planrun_tools::tools::kill_programs;
use signal_hook::consts::signal::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use tokio_util::sync::CancellationToken;

use super::terminal::end_prompt;
use super::{Exit, echo};

/// The token that the first signal cancels; without one, the signal ends the process.
static STOPS: Mutex<Option<CancellationToken>> = Mutex::new(None);
/// Tells the user what follows from a signal.
static LISTENER: Mutex<Option<Listener>> = Mutex::new(None);
/// Time after the first signal at which the user is told that the command has not stopped yet.
const NOTICE_DELAY: Duration = Duration::from_millis(500);
/// Maximum time that the end of the process waits for its last message.
const MAX_MESSAGE_TIME: Duration = Duration::from_millis(500);
/// Time after the first signal in which further ones belong to it. Nobody presses Ctrl-C twice so fast.
const ONE_REQUEST: Duration = Duration::from_millis(100);

pub type Listener = Box<dyn Fn(Interrupt) + Send>;

/// The effect of a signal on a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interrupt {
    /// The command stops once its effects in flight have ended.
    Stops,
    /// The process ends at once.
    Ends,
}

/// Sets who tells the user what follows from a signal.
pub fn listen(listener: Option<Listener>) {
    *LISTENER.lock() = listener;
}

fn tell(interrupt: Interrupt) {
    if let Some(listener) = &*LISTENER.lock() {
        listener(interrupt);
    }
}

/// Tells the user that the process ends, unless the terminal accepts no output: that must not keep the process alive.
fn tell_end() {
    let (done, wait_done) = mpsc::channel();
    let telling = Builder::new().spawn(move || {
        tell(Interrupt::Ends);
        done.send(())
    });
    if telling.is_ok() {
        let _ = wait_done.recv_timeout(MAX_MESSAGE_TIME);
    }
}

/// Makes the first signal cancel `cancel`, so that the run stops gracefully: effects in flight are awaited.
pub fn stop_on_signal(cancel: CancellationToken) {
    *STOPS.lock() = Some(cancel);
    end_on_signal();
}

/// Installs the signal handler: a signal ends the process and the programs that it runs, unless there is a token to
/// cancel. No signal is missed once this returns. Signals are awaited in a thread of their own, so that they are
/// handled whatever the run is doing.
pub fn end_on_signal() {
    static WATCHES: Once = Once::new();
    WATCHES.call_once(|| {
        // The thread is started first, because nothing removes the handler again. If one of the two fails, a signal ends the
        // process by default.
        let (sender, installed) = mpsc::channel();
        let watching = Builder::new().spawn(move || installed.recv().map(watch));
        if watching.is_ok()
            && let Ok(signals) = Signals::new(interrupting())
        {
            let _ = sender.send(signals);
        }
    });
}

/// Returns the signals that interrupt the command: SIGHUP not if it is ignored, as for `nohup`.
fn interrupting() -> Vec<i32> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    let is_ignored = mask.is_some_and(|mask| mask >> (SIGHUP - 1) & 1 == 1);
    let mut signals = vec![SIGINT, SIGTERM];
    signals.extend((!is_ignored).then_some(SIGHUP));
    signals
}

fn watch(mut signals: Signals) {
    let mut stopped = None;
    for _ in &mut signals {
        // `timeout` signals the process and its group, and a closed terminal may send SIGHUP twice: that is one request.
        if stopped.is_some_and(|stopped| runtime_now() - stopped < ONE_REQUEST) {
            continue;
        }
        echo::restore();
        let stops = STOPS.lock().take();
        if let Some(cancel) = stops {
            cancel.cancel();
            stopped = Some(runtime_now());
            // In a thread of its own, so that the next signal is not held up.
            let _ = Builder::new().spawn(|| {
                sleep(NOTICE_DELAY);
                tell(Interrupt::Stops);
            });
        } else {
            end_prompt();
            tell_end();
            kill_programs();
            std::process::exit(i32::from(Exit::Interrupted.code()));
        }
    }
}
