//! A host in memory: files, clocks, environment variables and randomness are set by a test or a replay.

use std::collections::BTreeMap;
use std::io;
use std::path::{Component, Path, PathBuf};

use std::time::Duration;

use parking_lot::Mutex;
use planrun_lang::permission::PathResolver;

use super::{FileKind, Host};

/// A host in memory. Its clocks move only when they are set or advanced, and its random numbers are determined by
/// the seed.
#[derive(Debug)]
pub struct MemoryHost {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    files: BTreeMap<PathBuf, Vec<u8>>,
    variables: BTreeMap<String, String>,
    now: i128,
    elapsed: Duration,
    seed: u64,
}

impl MemoryHost {
    /// Creates a host without files and variables whose wall clock is at 2026-01-01T00:00:00Z.
    pub fn new(seed: u64) -> Self {
        let now = 1_767_225_600_000_000_000;
        let (files, variables) = (BTreeMap::new(), BTreeMap::new());
        let state = State {
            files,
            variables,
            now,
            elapsed: Duration::ZERO,
            seed,
        };
        Self {
            state: Mutex::new(state),
        }
    }

    /// Adds a file with this content.
    #[must_use]
    pub fn with_file(self, path: impl AsRef<Path>, content: impl Into<Vec<u8>>) -> Self {
        self.state
            .lock()
            .files
            .insert(plain(path.as_ref()), content.into());
        self
    }

    /// Adds an environment variable.
    #[must_use]
    pub fn with_variable(self, name: &str, value: &str) -> Self {
        self.state
            .lock()
            .variables
            .insert(name.into(), value.into());
        self
    }

    /// Sets the wall clock, in nanoseconds since 1970-01-01T00:00:00Z.
    pub fn set_now(&self, nanoseconds: i128) {
        self.state.lock().now = nanoseconds;
    }

    /// Advances the wall clock and the monotonic clock.
    pub fn advance(&self, by: Duration) {
        let mut state = self.state.lock();
        state.now = state.now.saturating_add_unsigned(by.as_nanos());
        state.elapsed = state.elapsed.saturating_add(by);
    }
}

impl Default for MemoryHost {
    fn default() -> Self {
        Self::new(0)
    }
}

impl PathResolver for MemoryHost {
    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        self.kind(path).map(|_| plain(path))
    }
}

impl Host for MemoryHost {
    fn now(&self) -> i128 {
        self.state.lock().now
    }

    fn monotonic(&self) -> Duration {
        self.state.lock().elapsed
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.state.lock().variables.get(name).cloned()
    }

    /// `SplitMix64`: short, and the same on every platform.
    fn random(&self) -> u64 {
        let mut state = self.state.lock();
        state.seed = state.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state.seed ^ (state.seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn read_file(&self, path: &Path) -> io::Result<String> {
        self.read_bounded(path, u64::MAX)
    }

    fn read_bounded(&self, path: &Path, max: u64) -> io::Result<String> {
        if self.kind(path)? == FileKind::Folder {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let bytes = self
            .state
            .lock()
            .files
            .get(&plain(path))
            .cloned()
            .ok_or(io::ErrorKind::NotFound)?;
        if u64::try_from(bytes.len()).is_ok_and(|length| length > max) {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        String::from_utf8(bytes).map_err(|_| io::ErrorKind::InvalidData.into())
    }

    fn kind(&self, path: &Path) -> io::Result<FileKind> {
        let path = plain(path);
        let state = self.state.lock();
        if state.files.contains_key(&path) {
            return Ok(FileKind::File);
        }
        let folder =
            state.files.keys().any(|file| file.starts_with(&path)) || path == Path::new("/");
        if folder {
            Ok(FileKind::Folder)
        } else {
            Err(io::ErrorKind::NotFound.into())
        }
    }

    fn write_file(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        let mut state = self.state.lock();
        state.files.insert(plain(path), content.to_vec());
        Ok(())
    }

    fn write_private_file(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        self.write_file(path, content)
    }

    fn append_file(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        let mut state = self.state.lock();
        state
            .files
            .entry(plain(path))
            .or_default()
            .extend_from_slice(content);
        Ok(())
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        if self.kind(path)? == FileKind::Folder {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let mut state = self.state.lock();
        state.files.remove(&plain(path));
        Ok(())
    }

    fn make_folder(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn make_private_folder(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn list_folder(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        if self.kind(path)? == FileKind::File {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        let folder = plain(path);
        let state = self.state.lock();
        let inside = state
            .files
            .keys()
            .filter_map(|file| file.strip_prefix(&folder).ok());
        let mut paths: Vec<PathBuf> = inside
            .filter_map(|rest| Some(folder.join(rest.components().next()?)))
            .collect();
        paths.dedup();
        Ok(paths)
    }
}

/// Makes a path absolute and removes `.` and `..`. Relative paths start at `/`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::from("/");
    for component in path.components() {
        match component {
            Component::Normal(name) => plain.push(name),
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_make_folders() {
        let host = MemoryHost::new(1)
            .with_file("a/b.txt", "x")
            .with_file("a/c/d.txt", "y")
            .with_file("z", [0xff]);
        assert_eq!(
            host.list_folder(Path::new("a")).unwrap(),
            [Path::new("/a/b.txt"), Path::new("/a/c")]
        );
        assert_eq!(host.kind(Path::new("a/c")).unwrap(), FileKind::Folder);
        assert_eq!(
            host.canonical(Path::new("a/c/../b.txt")).unwrap(),
            Path::new("/a/b.txt")
        );
        assert_eq!(
            host.read_file(Path::new("z")).unwrap_err().kind(),
            io::ErrorKind::InvalidData
        );
        assert_eq!(
            host.read_file(Path::new("q")).unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
        assert_eq!(
            host.read_file(Path::new("a")).unwrap_err().kind(),
            io::ErrorKind::IsADirectory
        );
        host.write_file(Path::new("/a/b.txt"), b"new").unwrap();
        assert_eq!(host.read_file(Path::new("a/b.txt")).unwrap(), "new");
        host.remove_file(Path::new("a/b.txt")).unwrap();
        assert_eq!(
            host.remove_file(Path::new("a/b.txt")).unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
        assert_eq!(
            host.remove_file(Path::new("a")).unwrap_err().kind(),
            io::ErrorKind::IsADirectory
        );
    }

    #[test]
    fn the_clock_moves_when_told_and_chance_repeats() {
        let host = MemoryHost::new(7);
        let start = host.now();
        assert_eq!(host.now(), start);
        host.advance(Duration::from_secs(2));
        assert_eq!(host.now() - start, 2_000_000_000);
        assert_eq!(host.monotonic(), Duration::from_secs(2));
        assert_eq!(host.random(), MemoryHost::new(7).random());
        assert_ne!(host.random(), host.random());
    }
}
