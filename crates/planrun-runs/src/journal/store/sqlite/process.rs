//! Which processes drive runs, and whether they still live: each holds a lock on a file of its own.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use planrun_tools::host::Host;

use super::file::{folder, make_folder};

/// Where Linux tells which start of which machine this is. Containers of one machine share it, as they share locks.
const BOOT: &str = "/proc/sys/kernel/random/boot_id";

/// One start of one machine: processes of it see each other's locks.
#[derive(Clone, Debug)]
pub(super) struct Machine {
    /// Begins the ids of its drivers.
    mark: String,
    /// Tells people which it is.
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

    /// Whether a driver of this id can be asked for its lock.
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

/// What can be known of a driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    Alive,
    Dead,
    /// It is of another machine, or of this one before it was started again.
    Unknown,
}

/// This process as a driver: the lock that tells others that it lives, as long as this value does.
#[derive(Debug)]
pub(super) struct ProcessLock {
    pub(super) driver: String,
    path: PathBuf,
    _locked: File,
}

impl ProcessLock {
    /// Takes a lock of its own beside the journal, and clears away the files of drivers that are dead.
    pub(super) fn take(journal: &Path, machine: &Machine, host: &dyn Host) -> io::Result<Self> {
        let drivers = drivers(journal);
        make_folder(&drivers)?;
        clear(&drivers, machine);
        loop {
            let driver = format!("{}-{:016x}", machine.mark, host.random());
            // The file gets its name when it is locked, so that nobody takes it for one of the dead.
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
                // Somebody who cleared away was in between.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl Drop for ProcessLock {
    fn drop(&mut self) {
        // What stays behind is cleared away by the next.
        let _ = fs::remove_file(&self.path);
    }
}

/// Whether a driver lives.
pub(super) fn life(journal: &Path, machine: &Machine, driver: &str) -> Life {
    if !machine.is_of(driver) {
        return Life::Unknown;
    }
    is_free(&drivers(journal).join(format!("{driver}.lock")))
}

/// Asks for a shared lock, so that two who ask do not take each other for the driver.
fn is_free(path: &Path) -> Life {
    match File::open(path) {
        Ok(file) => match file.try_lock_shared() {
            Ok(()) => Life::Dead,
            Err(TryLockError::WouldBlock) => Life::Alive,
            Err(TryLockError::Error(_)) => Life::Unknown,
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Life::Dead,
        Err(_) => Life::Unknown,
    }
}

/// Removes the files of drivers of this machine that are dead.
fn clear(drivers: &Path, machine: &Machine) {
    let Ok(entries) = fs::read_dir(drivers) else {
        return;
    };
    for path in entries.filter_map(Result::ok).map(|entry| entry.path()) {
        let own = path
            .file_name()
            .and_then(|name| name.to_str())
            .is_some_and(|name| machine.is_of(name));
        if own && is_free(&path) == Life::Dead {
            // Another process may have been faster.
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
        assert_eq!(life(&journal, &machine, &driver), Life::Alive);
        let other = Machine::here(&MemoryHost::new(1).with_file(BOOT, "two"));
        assert_eq!(life(&journal, &other, &driver), Life::Unknown);
        drop(presence);
        assert_eq!(life(&journal, &machine, &driver), Life::Dead);
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
