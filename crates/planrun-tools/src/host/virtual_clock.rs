//! A host in memory whose clocks follow the time of the async runtime. While that is paused, timers of days elapse at
//! once.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use planrun_lang::permission::PathResolver;
use tokio::time::Instant;

use super::{FileKind, Host, MemoryHost};

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
    fn now(&self) -> i128 {
        self.memory
            .now()
            .saturating_add_unsigned(self.elapsed().as_nanos())
    }

    fn monotonic(&self) -> Duration {
        self.memory.monotonic() + self.elapsed()
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.memory.variable(name)
    }

    fn random(&self) -> u64 {
        self.memory.random()
    }

    fn read_file(&self, path: &Path) -> io::Result<String> {
        self.memory.read_file(path)
    }

    fn read_bounded(&self, path: &Path, max: u64) -> io::Result<String> {
        self.memory.read_bounded(path, max)
    }

    fn kind(&self, path: &Path) -> io::Result<FileKind> {
        self.memory.kind(path)
    }

    fn write_file(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        self.memory.write_file(path, content)
    }

    fn write_private_file(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        self.memory.write_private_file(path, content)
    }

    fn append_file(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        self.memory.append_file(path, content)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.memory.remove_file(path)
    }

    fn make_folder(&self, path: &Path) -> io::Result<()> {
        self.memory.make_folder(path)
    }

    fn make_private_folder(&self, path: &Path) -> io::Result<()> {
        self.memory.make_private_folder(path)
    }

    fn list_folder(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        self.memory.list_folder(path)
    }
}
