//! Counts how often each place of a value has been regenerated, which determines the next choice there.

use std::collections::BTreeMap;

/// JSON pointers and their counts.
#[derive(Debug, Default)]
pub(super) struct Places {
    counts: BTreeMap<String, u64>,
}

impl Places {
    pub fn count(&self, place: &str) -> u64 {
        self.counts.get(place).copied().unwrap_or(0)
    }

    /// Marks a place for regeneration; in some rounds also its parent or the root, where the cause may be.
    pub fn renew(&mut self, place: &str, round: u64) {
        self.bump(place);
        if round % 3 == 2
            && let Some((around, _)) = place.rsplit_once('/')
        {
            self.bump(around);
        }
        if round % 13 == 12 && !place.is_empty() {
            self.bump("");
        }
    }

    pub fn bump(&mut self, place: &str) {
        *self.counts.entry(place.to_owned()).or_default() += 1;
    }
}
