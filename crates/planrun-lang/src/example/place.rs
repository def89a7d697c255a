//! How often each place of a value has been made anew, which decides what is tried there next.

use std::collections::BTreeMap;

/// JSON pointers with their counts.
#[derive(Debug, Default)]
pub(super) struct Places {
    counts: BTreeMap<String, u64>,
}

impl Places {
    pub fn count(&self, place: &str) -> u64 {
        self.counts.get(place).copied().unwrap_or(0)
    }

    /// Makes the place anew. Now and then what is around it, too, where the reason may lie.
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
