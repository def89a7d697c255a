//! A program and all processes that it has started, which are stopped together.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use rustix::process::{
    Pid, Signal, kill_process, kill_process_group, test_kill_process, test_kill_process_group,
};
use tokio::process::{Child, Command};

use crate::tools::conversation::abandon_calls;

/// Time between asking a program to stop and killing it.
pub(in crate::tools) const GRACE: Duration = Duration::from_secs(1);
/// The environment variable that marks a program and its descendants, so that those that leave the process group are
/// found.
const MARK_VARIABLE: &str = "PLANRUN_PROGRAM";
/// Maximum number of searches for marked processes. A search may miss processes that are started during it.
const MAX_SEARCHES: usize = 8;

/// The running programs by their marks, so that they can be killed when planrun exits without dropping each of them.
static RUNNING: Mutex<BTreeMap<Arc<str>, Pid>> = Mutex::new(BTreeMap::new());

/// Kills all running programs and everything that they have started, immediately. Used when planrun exits: no call of
/// this process ends any more.
pub fn kill_programs() {
    abandon_calls();
    let running = std::mem::take(&mut *RUNNING.lock());
    for (mark, leader) in running {
        kill(leader, &mark);
    }
}

/// Kills the programs that another process of planrun has left running, and everything that they have started. Nothing
/// happens if that process is still running.
pub fn kill_left_by(process: u32) {
    let id = i32::try_from(process).ok().and_then(Pid::from_raw);
    if id.is_some_and(has_ended) {
        let owner = format!("{process}-");
        kill_marked(&|mark| mark.starts_with(owner.as_bytes()));
    }
}

/// Returns true if a process has ended, even if its parent has not taken note of that yet.
fn has_ended(process: Pid) -> bool {
    test_kill_process(process).is_err() || is_zombie(process)
}

/// Returns true if a process has ended and only its parent keeps it in the list of processes. Known only where `/proc`
/// exists.
fn is_zombie(process: Pid) -> bool {
    let stat = fs::read(format!("/proc/{process}/stat")).unwrap_or_default();
    // The state follows the name of the program, which may contain any character.
    let state = String::from_utf8_lossy(&stat);
    let state = state.rsplit_once(") ").map(|(_, state)| state);
    state.is_some_and(|state| state.starts_with(['Z', 'X']))
}

/// A program and all processes that it has started. They are killed on drop, so that nothing outlives its call.
pub(in crate::tools) struct ProcessGroup {
    leader: Option<Pid>,
    mark: Arc<str>,
}

impl ProcessGroup {
    /// Starts a program as the leader of a process group, with a mark that its descendants inherit. Fails with any
    /// error of the operating system.
    pub(in crate::tools) fn start(command: &mut Command) -> std::io::Result<(Self, Child)> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let mark = format!("{}-{number}", std::process::id());
        let child = command.process_group(0).env(MARK_VARIABLE, &mark).spawn()?;
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        let (leader, mark) = (id.and_then(Pid::from_raw), Arc::from(mark));
        if let Some(leader) = leader {
            let mut running = RUNNING.lock();
            running.insert(Arc::clone(&mark), leader);
        }
        Ok((Self { leader, mark }, child))
    }

    /// Limits the address space of the leader, and of each program that it starts from now on, in bytes. Returns an
    /// error if the system cannot limit a running program.
    #[cfg(target_os = "linux")]
    pub(super) fn bound_memory(&self, bytes: u64) -> std::io::Result<()> {
        use rustix::process::{Resource, Rlimit, prlimit};
        let limit = Rlimit {
            current: Some(bytes),
            maximum: Some(bytes),
        };
        match prlimit(self.leader, Resource::As, limit) {
            // A program that has exited needs no limit.
            Ok(_) | Err(rustix::io::Errno::SRCH) => Ok(()),
            Err(problem) => Err(problem.into()),
        }
    }

    /// Limits the address space of the leader, and of each program that it starts from now on, in bytes. Always: this
    /// system cannot limit a running program.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn bound_memory(&self, _bytes: u64) -> std::io::Result<()> {
        Err(std::io::ErrorKind::Unsupported.into())
    }

    /// Asks the group to stop and waits for at most [`GRACE`], then kills what is left.
    pub(in crate::tools) async fn stop(&mut self) {
        let Some(leader) = self.leader else { return };
        // An error means that the group is already gone.
        let _ = kill_process_group(leader, Signal::TERM);
        let waits = Duration::from_millis(20);
        let mut waited = Duration::ZERO;
        while test_kill_process_group(leader).is_ok() && waited < GRACE {
            tokio::time::sleep(waits).await;
            waited += waits;
        }
        self.end().await;
    }

    /// Kills what is left of the group.
    pub(super) async fn end(&mut self) {
        if let Some((leader, mark)) = self.take() {
            // Searching all processes takes longer than the async runtime may be blocked.
            let _ = tokio::task::spawn_blocking(move || kill(leader, &mark)).await;
        }
    }

    /// Returns what has to be killed, unless that has been done already.
    fn take(&mut self) -> Option<(Pid, Arc<str>)> {
        let leader = self.leader.take()?;
        let mut running = RUNNING.lock();
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

/// Kills a group and the marked processes that have left it.
fn kill(leader: Pid, mark: &str) {
    let _ = kill_process_group(leader, Signal::KILL);
    kill_marked(&|found| found == mark.as_bytes());
}

fn kill_marked(is_meant: &dyn Fn(&[u8]) -> bool) {
    for _ in 0..MAX_SEARCHES {
        let marked = marked(is_meant);
        if marked.is_empty() {
            return;
        }
        for process in marked {
            let _ = kill_process(process, Signal::KILL);
        }
    }
}

/// Returns the processes with such a mark; empty if the system has no `/proc`. Zombies have no environment and are not
/// found.
fn marked(is_meant: &dyn Fn(&[u8]) -> bool) -> Vec<Pid> {
    let start = format!("{MARK_VARIABLE}=");
    let Ok(processes) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let process = |entry: std::io::Result<fs::DirEntry>| {
        let entry = entry.ok()?;
        let id = entry.file_name().to_str()?.parse().ok()?;
        let environment = fs::read(entry.path().join("environ")).ok()?;
        let mut variables = environment.split(|byte| *byte == 0);
        variables
            .any(|variable| {
                variable
                    .strip_prefix(start.as_bytes())
                    .is_some_and(is_meant)
            })
            .then(|| Pid::from_raw(id))
            .flatten()
    };
    processes.filter_map(process).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_ended_before_its_parent_takes_note() {
        let own = std::process::id();
        let id = |id: u32| Pid::from_raw(i32::try_from(id).unwrap()).unwrap();
        assert!(!has_ended(id(own)));
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let ended = id(child.id());
        if cfg!(target_os = "linux") {
            while !has_ended(ended) {
                std::thread::yield_now();
            }
            assert!(is_zombie(ended), "nobody has waited for it");
        }
        child.wait().unwrap();
        assert!(has_ended(ended));
    }
}
