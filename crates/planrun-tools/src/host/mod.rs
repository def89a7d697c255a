//! Access to the operating system: files, clocks, environment variables, randomness and ids, as a real host and as one
//! in memory.

mod memory;
mod pinned;
mod real;
mod revision;
mod runtime_clock;
mod virtual_clock;

use std::fmt::Write as _;
use std::fs::File;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use planrun_lang::permission::PathResolver;

pub use memory::MemoryHost;
pub use pinned::{PinnedHost, Pins};
pub use real::RealHost;
pub use revision::{Revision, RevisionError};
pub use runtime_clock::{runtime_now, sleep_until};
pub use virtual_clock::VirtualHost;

/// Implements methods of [`Host`] by those of the host in a field.
macro_rules! forward {
    ($host:ident: $(fn $name:ident($($argument:ident: $of:ty),*) -> $returned:ty;)*) => {
        $(fn $name(&self, $($argument: $of),*) -> $returned {
            self.$host.$name($($argument),*)
        })*
    };
}
use forward;

/// The kind of entry at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileKind {
    File,
    Folder,
}

/// A file or folder that stays the same one, whatever happens to its path.
#[derive(Debug)]
pub struct Held {
    path: PathBuf,
    /// Keeps the path valid.
    _open: Option<File>,
}

impl Held {
    /// Returns the path by which it is accessed, which is not its own one.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Returns random bits as hexadecimal digits: 64 bits, 16 digits, for each of `words` words.
pub fn random_hex(host: &dyn Host, words: usize) -> String {
    (0..words).fold(String::new(), |mut text, _| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{:016x}", host.random());
        text
    })
}

/// The operations of the operating system that planrun uses. Those on files return any error of the file system.
pub trait Host: PathResolver {
    /// The wall-clock time, in nanoseconds since 1970-01-01T00:00:00Z.
    fn now(&self) -> i128;
    /// The time since a fixed moment. It never decreases.
    fn monotonic(&self) -> Duration;
    /// The value of an environment variable; `None` if it is unset or not Unicode.
    fn variable(&self, name: &str) -> Option<String>;
    /// Returns 64 random bits.
    fn random(&self) -> u64;
    /// Reads a file of at most [`MAX_FILE_BYTES`](planrun_lang::source::MAX_FILE_BYTES) bytes, like
    /// [`Self::read_bounded`]. Fails with the errors of [`Self::read_bounded`].
    fn read_file(&self, path: &Path) -> io::Result<String>;
    /// Reads a file of at most `max` bytes as text. Pipes and devices are not read. Returns an error of kind
    /// `FileTooLarge` if the file is larger, of kind `InvalidData` if it is not UTF-8, and any other error of the file
    /// system.
    fn read_bounded(&self, path: &Path, max: u64) -> io::Result<String>;
    /// Returns the kind of entry at a path. Symbolic links are followed. Returns an error of kind `NotFound` if nothing
    /// exists there.
    fn kind(&self, path: &Path) -> io::Result<FileKind>;
    /// Holds the file or folder at a canonical path, so that what was checked is what is accessed. Returns `None` if a
    /// part of the path is a link by now. A host that cannot hold files returns the path itself. Returns an error of
    /// kind `NotFound` if nothing exists there.
    fn hold(&self, canonical: &Path) -> io::Result<Option<Held>> {
        Ok(Some(Held {
            path: canonical.to_owned(),
            _open: None,
        }))
    }
    /// Returns true if the file at a path belongs to another user, who is not the administrator. Returns an error of kind
    /// `NotFound` if nothing exists there.
    fn is_of_another_user(&self, _path: &Path) -> io::Result<bool> {
        Ok(false)
    }
    /// Returns a number that changes when a file, or the list of entries of a folder, changes. It is derived from the
    /// modification time and the length where the host knows them, otherwise from the content.
    fn version(&self, path: &Path) -> io::Result<u64> {
        let mut hasher = DefaultHasher::new();
        match self.kind(path)? {
            FileKind::File => self.read_file(path)?.hash(&mut hasher),
            FileKind::Folder => self.list_folder(path)?.hash(&mut hasher),
        }
        Ok(hasher.finish())
    }
    /// Replaces a whole file atomically: readers see the old or the new text, never a part.
    fn write_file(&self, path: &Path, content: &[u8]) -> io::Result<()>;
    /// Like [`Self::write_file`], but only the user can read the file, whatever the permissions of the replaced file
    /// were.
    fn write_private_file(&self, path: &Path, content: &[u8]) -> io::Result<()>;
    /// Appends to a file, which is created if it does not exist.
    fn append_file(&self, path: &Path, content: &[u8]) -> io::Result<()>;
    /// Removes a file. If the path is a symbolic link, the link itself is removed. Returns an error of kind `NotFound`
    /// if nothing exists there.
    fn remove_file(&self, path: &Path) -> io::Result<()>;
    /// Creates a folder and its parents where they do not exist yet.
    fn make_folder(&self, path: &Path) -> io::Result<()>;
    /// Like [`Self::make_folder`], but only the user can access the folders that it creates.
    fn make_private_folder(&self, path: &Path) -> io::Result<()>;
    /// Returns the paths in a folder, sorted by name.
    fn list_folder(&self, path: &Path) -> io::Result<Vec<PathBuf>>;
    /// Waits until no other process holds the lock of a file, and holds it until the result is dropped. The file is
    /// created if it does not exist, and only the user can access it. `None` if no other process can access these files.
    fn lock(&self, _path: &Path) -> io::Result<Option<File>> {
        Ok(None)
    }
    /// Like [`Self::lock`], but returns an error of the kind `WouldBlock` at once if another process holds the lock.
    fn try_lock(&self, _path: &Path) -> io::Result<Option<File>> {
        Ok(None)
    }
}
