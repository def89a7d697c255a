//! Keeps the latest entries within limits, so that a test double that runs for long does not fill the memory.

use std::collections::VecDeque;

/// Maximum size of the entries together, in bytes. The latest entry is kept whatever its size.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// The latest entries, oldest first.
#[derive(Clone, Debug)]
pub struct Recent<T> {
    /// The entries with their sizes.
    entries: VecDeque<(T, usize)>,
    bytes: usize,
    max: usize,
}

impl<T> Recent<T> {
    /// Keeps at most this number of entries.
    pub fn new(max: usize) -> Self {
        Self {
            entries: VecDeque::new(),
            bytes: 0,
            max,
        }
    }

    /// Adds an entry of this size in bytes, and returns the oldest entries that exceed the limits now.
    pub fn add(&mut self, entry: T, bytes: usize) -> Vec<T> {
        self.entries.push_back((entry, bytes));
        self.bytes = self.bytes.saturating_add(bytes);
        let mut removed = Vec::new();
        while self.entries.len() > 1 && (self.entries.len() > self.max || self.bytes > MAX_BYTES) {
            let Some((entry, bytes)) = self.entries.pop_front() else {
                break;
            };
            self.bytes = self.bytes.saturating_sub(bytes);
            removed.push(entry);
        }
        removed
    }

    /// Returns the entries, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.entries.iter().map(|(entry, _)| entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_and_size_of_entries_are_limited() {
        let mut recent = Recent::new(3);
        assert!((1..=3).all(|entry| recent.add(entry, 1).is_empty()));
        assert_eq!(recent.add(4, MAX_BYTES - 2), [1]);
        assert_eq!(recent.add(5, 2), [2, 3]);
        assert_eq!(recent.add(6, MAX_BYTES + 1), [4, 5]);
        assert_eq!(recent.iter().copied().collect::<Vec<_>>(), [6]);
        assert_eq!(recent.add(7, 1), [6]);
    }
}
