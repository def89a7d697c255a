//! Pseudorandom numbers that depend only on a seed and a place.

/// Derives a number from another number and a text.
pub(super) fn mixed(salt: u64, text: &str) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&salt.to_le_bytes()).update(text.as_bytes());
    let mut bytes = [0; 8];
    hasher.finalize_xof().fill(&mut bytes);
    u64::from_le_bytes(bytes)
}

/// Selects an index below `count`; 0 if `count` is 0.
pub(super) fn below(chance: u64, count: usize) -> usize {
    let count = u64::try_from(count).unwrap_or(u64::MAX).max(1);
    usize::try_from(chance % count).unwrap_or(0)
}
