//! Reads secrets from the terminal without displaying them while they are typed.

use std::io;

use parking_lot::Mutex;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// The settings of the terminal before it stopped displaying what is typed; `None` while it displays that.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// Runs `read` while the terminal displays only the end of the line that is typed.
pub(super) fn without_echo<T>(read: impl FnOnce() -> T) -> T {
    // Fails if standard input is not a terminal, which displays nothing.
    if let Ok(settings) = tcgetattr(io::stdin()) {
        let mut hidden = settings.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        hidden.local_modes.insert(LocalModes::ECHONL);
        BEFORE.lock().get_or_insert(settings);
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &hidden);
    }
    let value = read();
    restore();
    value
}

/// Makes the terminal display again what is typed. The process may end while a secret is being read.
pub(super) fn restore() {
    if let Some(settings) = BEFORE.lock().take() {
        // Fails if the terminal is gone.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &settings);
    }
}
