//! Numbers with the nouns that they count.

use std::fmt::Display;

/// Formats a number with the noun that it counts: `1 file`, `2 files`. The plural of the noun must be regular.
#[must_use]
pub fn counted<N: Copy + Display + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    let ending = if count == N::from(1) { "" } else { "s" };
    format!("{count} {noun}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_is_singular() {
        let texts = [0_u64, 1, 2].map(|count| counted(count, "more line"));
        assert_eq!(texts, ["0 more lines", "1 more line", "2 more lines"]);
    }
}
