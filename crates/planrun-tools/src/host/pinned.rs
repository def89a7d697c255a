//! A host that records the files that are read, or serves exactly the recorded ones: a run stays bound to what it read
//! when it started, even if the files change later.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use planrun_lang::permission::PathResolver;
use serde::{Deserialize, Serialize};

use super::{FileKind, Host, forward};

/// The files, folders and kinds that were read, by path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pins {
    pub files: BTreeMap<PathBuf, String>,
    pub folders: BTreeMap<PathBuf, Vec<PathBuf>>,
    pub kinds: BTreeMap<PathBuf, FileKind>,
}

/// A host that reads through another host and records the results, or serves only recorded results.
///
/// Two things are never recorded. Environment variables may be secrets. Canonical paths decide what may be reached, so
/// they must be those of the files that a call would reach now.
pub struct PinnedHost {
    inner: Arc<dyn Host>,
    pins: Mutex<Pins>,
    /// Whether only recorded entries exist.
    closed: bool,
}

impl PinnedHost {
    /// Creates a host that records what is read.
    pub fn recording(inner: Arc<dyn Host>) -> Self {
        Self {
            inner,
            pins: Mutex::default(),
            closed: false,
        }
    }

    /// Creates a host from which only `pins` can be read.
    pub fn of(inner: Arc<dyn Host>, pins: Pins) -> Self {
        Self {
            inner,
            pins: Mutex::new(pins),
            closed: true,
        }
    }

    /// Returns everything that has been recorded.
    pub fn pins(&self) -> Pins {
        self.pins.lock().clone()
    }

    fn pinned<T: Clone>(
        &self,
        path: &Path,
        part: impl Fn(&mut Pins) -> &mut BTreeMap<PathBuf, T>,
        read: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        let pins = || self.pins.lock();
        if self.closed {
            return part(&mut pins())
                .get(path)
                .cloned()
                .ok_or_else(|| io::ErrorKind::NotFound.into());
        }
        let found = read()?;
        part(&mut pins()).insert(path.to_owned(), found.clone());
        Ok(found)
    }
}

impl PathResolver for PinnedHost {
    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        self.inner.canonical(path)
    }
}

impl Host for PinnedHost {
    forward! { inner:
        fn now() -> i128;
        fn monotonic() -> Duration;
        fn variable(name: &str) -> Option<String>;
        fn random() -> u64;
        fn write_file(path: &Path, content: &[u8]) -> io::Result<()>;
        fn write_private_file(path: &Path, content: &[u8]) -> io::Result<()>;
        fn append_file(path: &Path, content: &[u8]) -> io::Result<()>;
        fn remove_file(path: &Path) -> io::Result<()>;
        fn make_folder(path: &Path) -> io::Result<()>;
        fn make_private_folder(path: &Path) -> io::Result<()>;
        fn is_of_another_user(path: &Path) -> io::Result<bool>;
        fn lock(path: &Path) -> io::Result<Option<File>>;
        fn try_lock(path: &Path) -> io::Result<Option<File>>;
    }

    fn read_file(&self, path: &Path) -> io::Result<String> {
        self.pinned(path, |pins| &mut pins.files, || self.inner.read_file(path))
    }

    fn read_bounded(&self, path: &Path, max: u64) -> io::Result<String> {
        self.pinned(
            path,
            |pins| &mut pins.files,
            || self.inner.read_bounded(path, max),
        )
    }

    fn kind(&self, path: &Path) -> io::Result<FileKind> {
        self.pinned(path, |pins| &mut pins.kinds, || self.inner.kind(path))
    }

    fn list_folder(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        self.pinned(
            path,
            |pins| &mut pins.folders,
            || self.inner.list_folder(path),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::MemoryHost;

    #[test]
    fn others_can_read_while_a_file_is_read() {
        let host = PinnedHost::recording(Arc::new(MemoryHost::new(1)));
        let path = Path::new("/slow");
        let read = || {
            assert!(host.pins.try_lock().is_some());
            Ok("text".to_owned())
        };
        host.pinned(path, |pins| &mut pins.files, read).unwrap();
        assert_eq!(host.pins().files[path], "text");
    }

    #[test]
    fn what_was_read_stays_as_it_was() {
        let inner = Arc::new(MemoryHost::new(1));
        inner.write_file(Path::new("/a/x.plan"), b"old").unwrap();
        let recording = PinnedHost::recording(inner.clone());
        assert_eq!(recording.read_file(Path::new("/a/x.plan")).unwrap(), "old");
        inner.write_file(Path::new("/a/x.plan"), b"new").unwrap();
        inner
            .write_file(Path::new("/a/y.plan"), b"never read")
            .unwrap();
        let text = serde_json::to_string(&recording.pins()).unwrap();
        let pinned = PinnedHost::of(inner, serde_json::from_str(&text).unwrap());
        assert_eq!(pinned.read_file(Path::new("/a/x.plan")).unwrap(), "old");
        let absent = pinned.read_file(Path::new("/a/y.plan")).unwrap_err();
        assert_eq!(absent.kind(), io::ErrorKind::NotFound);
    }
}
