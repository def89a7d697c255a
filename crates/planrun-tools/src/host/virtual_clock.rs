//! A host in memory whose clocks follow the time of the async runtime. While that is paused, timers of days elapse at
//! once.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use planrun_lang::permission::PathResolver;
use tokio::time::Instant;

use super::{FileKind, Host, MemoryHost, forward};

/// A host in memory whose clocks start at the memory host's time and then follow the runtime.
#[derive(Debug)]
pub struct VirtualHost {
    memory: MemoryHost,
    begun: Instant,
}

impl VirtualHost {
    /// Starts the clocks of a memory host.
    pub fn new(memory: MemoryHost) -> Self {
        Self {
            memory,
            begun: Instant::now(),
        }
    }

    /// The time since the clocks were started.
    pub fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }
}

impl PathResolver for VirtualHost {
    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        self.memory.canonical(path)
    }
}

impl Host for VirtualHost {
    forward! { memory:
        fn variable(name: &str) -> Option<String>;
        fn random() -> u64;
        fn read_file(path: &Path) -> io::Result<String>;
        fn read_bounded(path: &Path, max: u64) -> io::Result<String>;
        fn kind(path: &Path) -> io::Result<FileKind>;
        fn write_file(path: &Path, content: &[u8]) -> io::Result<()>;
        fn write_private_file(path: &Path, content: &[u8]) -> io::Result<()>;
        fn append_file(path: &Path, content: &[u8]) -> io::Result<()>;
        fn remove_file(path: &Path) -> io::Result<()>;
        fn make_folder(path: &Path) -> io::Result<()>;
        fn make_private_folder(path: &Path) -> io::Result<()>;
        fn list_folder(path: &Path) -> io::Result<Vec<PathBuf>>;
    }

    fn now(&self) -> i128 {
        self.memory
            .now()
            .saturating_add_unsigned(self.elapsed().as_nanos())
    }

    fn monotonic(&self) -> Duration {
        self.memory.monotonic() + self.elapsed()
    }
}
