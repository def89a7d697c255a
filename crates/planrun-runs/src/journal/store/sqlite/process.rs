//! Processes that drive runs: each holds a lock on a file of its own while it is alive.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use planrun_tools::host::Host;

use super::file::{folder, make_folder};

/// The file in which Linux identifies the current boot. Containers on one machine share it, as they share locks.
const BOOT: &str = "/proc/sys/kernel/random/boot_id";

/// One boot of one machine, whose processes see each other's locks.
#[derive(Clone, Debug)]
pub(super) struct Machine {
    /// Prefix of the ids of its drivers.
    mark: String,
    /// Name of the machine, for people.
    pub(super) name: String,
}

impl Machine {
    pub(super) fn here(host: &dyn Host) -> Self {
        let name = node(host);
        let boot = host.read_bounded(Path::new(BOOT), 64).unwrap_or_default();
        let mark = blake3::hash(format!("{name} {}", boot.trim()).as_bytes()).to_hex();
        Self {
            mark: mark.chars().take(12).collect(),
            name,
        }
    }

    /// Returns true if the lock of this driver can be tested here.
    fn is_of(&self, driver: &str) -> bool {
        driver
            .split_once('-')
            .is_some_and(|(mark, _)| mark == self.mark)
    }
}

#[cfg(unix)]
fn node(_: &dyn Host) -> String {
    rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned()
}

#[cfg(not(unix))]
fn node(host: &dyn Host) -> String {
    host.variable("COMPUTERNAME").unwrap_or_default()
}

/// Whether a driver is alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Liveness {
    Alive,
    Dead,
    /// It belongs to another machine, or to an earlier boot of this one.
    Unknown,
}

/// The lock of this process as a driver, which shows others that the process is alive, as long as this value exists.
#[derive(Debug)]
pub(super) struct ProcessLock {
    pub(super) driver: String,
    path: PathBuf,
    _locked: File,
}

impl ProcessLock {
    /// Creates and locks a file next to the journal, and removes the files of dead drivers.
    pub(super) fn take(journal: &Path, machine: &Machine, host: &dyn Host) -> io::Result<Self> {
        let drivers = drivers(journal);
        make_folder(&drivers)?;
        clear(&drivers, machine);
        loop {
            let driver = format!("{}-{:016x}", machine.mark, host.random());
            // The file gets its final name after it is locked, so that no process takes it for that of a dead driver.
            let (new, path) = (
                drivers.join(format!("{driver}.new")),
                drivers.join(format!("{driver}.lock")),
            );
            let mut options = File::options();
            options.write(true).create_new(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            let file = options.open(&new)?;
            let locked = match file.try_lock() {
                Ok(()) => fs::rename(&new, &path),
                Err(TryLockError::Error(error)) => return Err(error),
                Err(TryLockError::WouldBlock) => Err(io::ErrorKind::NotFound.into()),
            };
            match locked {
                Ok(()) => {
                    return Ok(Self {
                        driver,
                        path,
                        _locked: file,
                    });
                }
                // Another process removed the file in between.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl Drop for ProcessLock {
    fn drop(&mut self) {
        // The next process removes a file that remains.
        let _ = fs::remove_file(&self.path);
    }
}

/// Returns whether a driver is alive.
pub(super) fn liveness(journal: &Path, machine: &Machine, driver: &str) -> Liveness {
    if !machine.is_of(driver) {
        return Liveness::Unknown;
    }
    test_lock(&drivers(journal).join(format!("{driver}.lock")))
}

/// Tries to take a shared lock, so that two processes that test it do not take each other for the driver.
fn test_lock(path: &Path) -> Liveness {
    match File::open(path) {
        Ok(file) => match file.try_lock_shared() {
            Ok(()) => Liveness::Dead,
            Err(TryLockError::WouldBlock) => Liveness::Alive,
            Err(TryLockError::Error(_)) => Liveness::Unknown,
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Liveness::Dead,
        Err(_) => Liveness::Unknown,
    }
}

/// Removes the files of dead drivers of this machine.
fn clear(drivers: &Path, machine: &Machine) {
    let Ok(entries) = fs::read_dir(drivers) else {
        return;
    };
    for path in entries.filter_map(Result::ok).map(|entry| entry.path()) {
        let own = path
            .file_name()
            .and_then(|name| name.to_str())
            .is_some_and(|name| machine.is_of(name));
        if own && test_lock(&path) == Liveness::Dead {
            // Another process may have removed it already.
            let _ = fs::remove_file(&path);
        }
    }
}

fn drivers(journal: &Path) -> PathBuf {
    folder(journal).join("drivers")
}

#[cfg(test)]
mod tests {
    use super::*;
    use planrun_tools::host::MemoryHost;

    #[test]
    fn a_driver_lives_as_long_as_it_is_present() {
        let folder = tempfile::tempdir().unwrap();
        let journal = folder.path().join("journal.db");
        let host = MemoryHost::new(1).with_file(BOOT, "one");
        let machine = Machine::here(&host);
        let presence = ProcessLock::take(&journal, &machine, &host).unwrap();
        let driver = presence.driver.clone();
        assert_eq!(liveness(&journal, &machine, &driver), Liveness::Alive);
        let other = Machine::here(&MemoryHost::new(1).with_file(BOOT, "two"));
        assert_eq!(liveness(&journal, &other, &driver), Liveness::Unknown);
        drop(presence);
        assert_eq!(liveness(&journal, &machine, &driver), Liveness::Dead);
    }

    #[test]
    fn files_of_the_dead_are_cleared_away_and_those_of_others_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let journal = folder.path().join("journal.db");
        let host = MemoryHost::new(1).with_file(BOOT, "one");
        let machine = Machine::here(&host);
        let drivers = drivers(&journal);
        fs::create_dir(&drivers).unwrap();
        let dead = drivers.join(format!("{}-1.lock", machine.mark));
        let half = drivers.join(format!("{}-2.new", machine.mark));
        let elsewhere = drivers.join("0123456789ab-3.lock");
        for path in [&dead, &half, &elsewhere] {
            fs::write(path, "").unwrap();
        }
        let presence = ProcessLock::take(&journal, &machine, &host).unwrap();
        let next = ProcessLock::take(&journal, &machine, &host).unwrap();
        assert_eq!(
            (
                dead.exists(),
                half.exists(),
                elsewhere.exists(),
                presence.path.exists(),
                next.path.exists()
            ),
            (false, false, true, true, true)
        );
    }
}
