//! A program with all that it has started, stopped together.

use std::time::Duration;

use rustix::process::{Pid, Signal};
use tokio::process::Child;

/// Between asking a program to stop and stopping it.
pub(in crate::tools) const GRACE: Duration = Duration::from_secs(1);

/// The program with all that it started. Dropping it stops them, so that nothing outlives its call.
pub(in crate::tools) struct ProcessGroup {
    leader: Option<Pid>,
}

impl ProcessGroup {
    /// The group of a program that was started as the leader of one.
    pub(in crate::tools) fn of(child: &Child) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Self {
            leader: id.and_then(Pid::from_raw),
        }
    }

    /// Bounds the address space of the leader, and of each program that it starts from now on, in bytes.
    ///
    /// # Errors
    /// Where the system cannot do that to a program that has been started.
    #[cfg(target_os = "linux")]
    pub(super) fn bound_memory(&self, bytes: u64) -> std::io::Result<()> {
        use rustix::process::{Resource, Rlimit, prlimit};
        let limit = Rlimit {
            current: Some(bytes),
            maximum: Some(bytes),
        };
        match prlimit(self.leader, Resource::As, limit) {
            // One that has ended needs none.
            Ok(_) | Err(rustix::io::Errno::SRCH) => Ok(()),
            Err(problem) => Err(problem.into()),
        }
    }

    /// Bounds the address space of the leader, and of each program that it starts from now on, in bytes.
    ///
    /// # Errors
    /// Always: the system cannot do that to a program that has been started.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn bound_memory(&self, _bytes: u64) -> std::io::Result<()> {
        Err(std::io::ErrorKind::Unsupported.into())
    }

    /// Asks it to stop, and waits for that; what has not stopped after [`GRACE`] is stopped when this is dropped.
    pub(in crate::tools) async fn stop(&mut self) {
        let Some(leader) = self.leader else { return };
        // A group that is already gone is what is wanted.
        let _ = rustix::process::kill_process_group(leader, Signal::TERM);
        let waits = Duration::from_millis(20);
        let mut waited = Duration::ZERO;
        while rustix::process::test_kill_process_group(leader).is_ok() {
            if waited >= GRACE {
                return;
            }
            tokio::time::sleep(waits).await;
            waited += waits;
        }
        self.leader = None;
    }

    /// Its leader has ended by itself: what it has left behind is stopped at once.
    pub(super) fn end(&mut self) {
        if let Some(leader) = self.leader.take() {
            let _ = rustix::process::kill_process_group(leader, Signal::KILL);
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.end();
    }
}
