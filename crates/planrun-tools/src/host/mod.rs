//! The one door outside: files, clock, environment, randomness and ids; a real one and one in memory.

mod memory;
mod pinned;
mod real;
mod revision;
mod runtime_clock;
mod virtual_clock;

use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use planrun_lang::permission::PathResolver;

pub use memory::MemoryHost;
pub use pinned::{PinnedHost, Pins};
pub use real::RealHost;
pub use revision::{Revision, RevisionError};
pub use runtime_clock::runtime_now;
pub use virtual_clock::VirtualHost;

/// What stands at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileKind {
    File,
    Folder,
}

/// Random bits as hexadecimal digits, 64 bits for each of so many words.
#[must_use]
pub fn random_hex(host: &dyn Host, words: usize) -> String {
    (0..words).fold(String::new(), |mut text, _| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{:016x}", host.random());
        text
    })
}

/// What planrun asks of the machine it runs on.
pub trait Host: PathResolver {
    /// Nanoseconds since 1970-01-01T00:00:00Z by the wall clock.
    fn now(&self) -> i128;
    /// Time since some fixed moment, never going back.
    fn monotonic(&self) -> Duration;
    /// The value of an environment variable, if it is set and is Unicode.
    fn variable(&self, name: &str) -> Option<String>;
    /// 64 random bits.
    fn random(&self) -> u64;
    /// The text of a file of at most [`MAX_FILE_BYTES`](planrun_lang::source::MAX_FILE_BYTES); as [`Self::read_bounded`].
    ///
    /// # Errors
    /// Whatever the file system says.
    fn read_file(&self, path: &Path) -> io::Result<String>;
    /// The text of a file of at most `most` bytes; an error of kind `FileTooLarge` where it is larger, and of kind
    /// `InvalidData` where it is not UTF-8. Pipes and devices are not read.
    ///
    /// # Errors
    /// Whatever the file system says.
    fn read_bounded(&self, path: &Path, most: u64) -> io::Result<String>;
    /// What stands at a path, links followed.
    ///
    /// # Errors
    /// Of kind `NotFound` where nothing stands there.
    fn kind(&self, path: &Path) -> io::Result<FileKind>;
    /// A number that is another one once a file, or the list of what is in a folder, has changed: by when it was changed and
    /// how long it is, where the machine tells, else by what it holds.
    ///
    /// # Errors
    /// Whatever the file system says.
    fn version(&self, path: &Path) -> io::Result<u64> {
        let mut hasher = DefaultHasher::new();
        match self.kind(path)? {
            FileKind::File => self.read_file(path)?.hash(&mut hasher),
            FileKind::Folder => self.list_folder(path)?.hash(&mut hasher),
        }
        Ok(hasher.finish())
    }
    /// Replaces a file as a whole: readers see the old or the new text, never a part.
    ///
    /// # Errors
    /// Whatever the file system says.
    fn write_file(&self, path: &Path, content: &[u8]) -> io::Result<()>;
    /// As [`Self::write_file`], for nobody but the user, whatever stood there before.
    ///
    /// # Errors
    /// Whatever the file system says.
    fn write_private_file(&self, path: &Path, content: &[u8]) -> io::Result<()>;
    /// Adds to the end of a file, which is made where there is none.
    ///
    /// # Errors
    /// Whatever the file system says.
    fn append_file(&self, path: &Path, content: &[u8]) -> io::Result<()>;
    /// Removes a file; of a link, the link.
    ///
    /// # Errors
    /// Of kind `NotFound` where nothing stands there.
    fn remove_file(&self, path: &Path) -> io::Result<()>;
    /// Makes a folder and those above it, where they are not there yet.
    ///
    /// # Errors
    /// Whatever the file system says.
    fn make_folder(&self, path: &Path) -> io::Result<()>;
    /// As [`Self::make_folder`]; those that it makes are for nobody but the user.
    ///
    /// # Errors
    /// Whatever the file system says.
    fn make_private_folder(&self, path: &Path) -> io::Result<()>;
    /// The paths in a folder, sorted by name.
    ///
    /// # Errors
    /// Whatever the file system says.
    fn list_folder(&self, path: &Path) -> io::Result<Vec<PathBuf>>;
}
