//! A program with all that it has started, stopped together.

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process_group};
use tokio::process::{Child, Command};

/// Between asking a program to stop and stopping it.
pub(in crate::tools) const GRACE: Duration = Duration::from_secs(1);
/// The variable by which what a program has started is found, wherever it has gone.
const MARK_VARIABLE: &str = "PLANRUN_PROGRAM";
/// What is started while the rest is being stopped is looked for so often.
const MAX_SEARCHES: usize = 8;

/// The programs that run, and their marks: for a process that has no time to let go of each.
static RUNNING: Mutex<BTreeMap<Arc<str>, Pid>> = Mutex::new(BTreeMap::new());

/// Stops every program that runs, with all that it has started, at once.
pub fn kill_programs() {
    let running = std::mem::take(&mut *RUNNING.lock().unwrap_or_else(PoisonError::into_inner));
    for (mark, leader) in running {
        kill(leader, &mark);
    }
}

/// The program with all that it started. Dropping it stops them, so that nothing outlives its call.
pub(in crate::tools) struct ProcessGroup {
    leader: Option<Pid>,
    mark: Arc<str>,
}

impl ProcessGroup {
    /// Starts a program as the leader of a group, with a mark that what it starts inherits.
    ///
    /// # Errors
    /// What the system says.
    pub(in crate::tools) fn start(command: &mut Command) -> std::io::Result<(Self, Child)> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let mark = format!("{}-{number}", std::process::id());
        let child = command.process_group(0).env(MARK_VARIABLE, &mark).spawn()?;
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        let (leader, mark) = (id.and_then(Pid::from_raw), Arc::from(mark));
        if let Some(leader) = leader {
            let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
            running.insert(Arc::clone(&mark), leader);
        }
        Ok((Self { leader, mark }, child))
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
        let _ = kill_process_group(leader, Signal::TERM);
        let waits = Duration::from_millis(20);
        let mut waited = Duration::ZERO;
        while test_kill_process_group(leader).is_ok() && waited < GRACE {
            tokio::time::sleep(waits).await;
            waited += waits;
        }
        self.end().await;
    }

    /// Stops what is left of it.
    pub(super) async fn end(&mut self) {
        if let Some((leader, mark)) = self.take() {
            // Looking through all processes takes longer than a run may stand still.
            let _ = tokio::task::spawn_blocking(move || kill(leader, &mark)).await;
        }
    }

    /// What has to be stopped, if that has not been done.
    fn take(&mut self) -> Option<(Pid, Arc<str>)> {
        let leader = self.leader.take()?;
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        running.remove(&self.mark);
        Some((leader, Arc::clone(&self.mark)))
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if let Some((leader, mark)) = self.take() {
            kill(leader, &mark);
        }
    }
}

/// Stops a group, and what has left it.
fn kill(leader: Pid, mark: &str) {
    let _ = kill_process_group(leader, Signal::KILL);
    for _ in 0..MAX_SEARCHES {
        let marked = marked(mark);
        if marked.is_empty() {
            return;
        }
        for process in marked {
            let _ = kill_process(process, Signal::KILL);
        }
    }
}

/// The processes with this mark, where the system tells environments; those that are gone and only not yet reaped have none.
fn marked(mark: &str) -> Vec<Pid> {
    let wanted = format!("{MARK_VARIABLE}={mark}");
    let Ok(processes) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let process = |entry: std::io::Result<fs::DirEntry>| {
        let entry = entry.ok()?;
        let id = entry.file_name().to_str()?.parse().ok()?;
        let environment = fs::read(entry.path().join("environ")).ok()?;
        let mut variables = environment.split(|byte| *byte == 0);
        variables
            .any(|variable| variable == wanted.as_bytes())
            .then(|| Pid::from_raw(id))
            .flatten()
    };
    processes.filter_map(process).collect()
}
