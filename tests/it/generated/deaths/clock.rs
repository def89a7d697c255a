//! A host whose clock goes with the time of the runtime, from a moment that the process before has left.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use planrun::host::{FileKind, Host, MemoryHost, Stamp};
use tokio::time::Instant;

pub struct Clocked {
    inner: MemoryHost,
    begun: Instant,
}

impl Clocked {
    /// A host of a process that begins at this moment, in nanoseconds since 1970.
    pub fn new(seed: u64, now: i128) -> Self {
        let inner = MemoryHost::new(seed);
        inner.set_now(now);
        Self { inner, begun: Instant::now() }
    }
}

impl Host for Clocked {
    fn now(&self) -> i128 {
        self.inner.now().saturating_add_unsigned(self.begun.elapsed().as_nanos())
    }

    fn monotonic(&self) -> Duration {
        self.begun.elapsed()
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.inner.variable(name)
    }

    fn random(&self) -> u64 {
        self.inner.random()
    }

    fn read_file(&self, path: &Path) -> io::Result<String> {
        self.inner.read_file(path)
    }

    fn read_bounded(&self, path: &Path, most: u64) -> io::Result<String> {
        self.inner.read_bounded(path, most)
    }

    fn kind(&self, path: &Path) -> io::Result<FileKind> {
        self.inner.kind(path)
    }

    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        self.inner.canonical(path)
    }

    fn write_file(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        self.inner.write_file(path, content)
    }

    fn append_file(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        self.inner.append_file(path, content)
    }

    fn stamp(&self, path: &Path) -> io::Result<Stamp> {
        self.inner.stamp(path)
    }

    fn make_folder(&self, path: &Path) -> io::Result<()> {
        self.inner.make_folder(path)
    }

    fn program(&self) -> io::Result<PathBuf> {
        self.inner.program()
    }

    fn list_folder(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        self.inner.list_folder(path)
    }
}
