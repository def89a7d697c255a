//! A program with all that it has started, stopped together.

use std::time::Duration;

use tokio::process::Child;

/// Between asking a program to stop and stopping it.
pub(super) const GRACE: Duration = Duration::from_secs(1);

/// The program with all that it started. Dropping it stops them, so that nothing outlives its call.
pub(super) struct ProcessGroup {
    leader: Option<rustix::process::Pid>,
}

impl ProcessGroup {
    /// The group of a program that was started as the leader of one.
    pub(super) fn of(child: &Child) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Self {
            leader: id.and_then(rustix::process::Pid::from_raw),
        }
    }

    /// Asks it to stop, and waits for that; what has not stopped after [`GRACE`] is stopped when this is dropped.
    pub(super) async fn stop(&mut self) {
        let Some(leader) = self.leader else { return };
        // A group that is already gone is what is wanted.
        let _ = rustix::process::kill_process_group(leader, rustix::process::Signal::TERM);
        let waits = Duration::from_millis(20);
        let mut waited = Duration::ZERO;
        while rustix::process::test_kill_process_group(leader).is_ok() {
            if waited >= GRACE {
                return;
            }
            tokio::time::sleep(waits).await;
            waited += waits;
        }
        self.disarm();
    }

    /// It has ended by itself.
    pub(super) fn disarm(&mut self) {
        self.leader = None;
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if let Some(leader) = self.leader {
            let _ = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
        }
    }
}
