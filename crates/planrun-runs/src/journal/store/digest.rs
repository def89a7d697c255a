//! Hashes of content, and the chain over the events of a run.

use std::fmt;
use std::str::FromStr;

/// A BLAKE3 hash; its text is 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub(super) [u8; 32]);

impl Digest {
    /// Returns the hash of these bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }
}

impl From<[u8; 32]> for Digest {
    fn from(hash: [u8; 32]) -> Self {
        Self(hash)
    }
}

impl From<blake3::Hash> for Digest {
    fn from(hash: blake3::Hash) -> Self {
        Self(*hash.as_bytes())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// The text is not a hash.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not 64 hexadecimal digits")]
pub struct ParseDigestError;

impl FromStr for Digest {
    type Err = ParseDigestError;

    fn from_str(text: &str) -> Result<Self, ParseDigestError> {
        // Uppercase digits would allow two texts of one hash.
        let small = text
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        blake3::Hash::from_hex(text)
            .ok()
            .filter(|_| small)
            .map(Self::from)
            .ok_or(ParseDigestError)
    }
}

/// The immutable properties of a run. The chain begins with their hash, so that events belong to exactly one run.
pub(super) struct Origin<'a> {
    pub run: &'a str,
    pub plan: &'a str,
    pub digest: Digest,
    pub pinned: Digest,
    pub created_at: i64,
}

impl Origin<'_> {
    /// Returns the value of the chain before the first event.
    pub(super) fn head(&self) -> Digest {
        let mut hasher =
            blake3::Hasher::new_derive_key("planrun journal 1, the beginning of a run");
        let created_at = self.created_at.to_le_bytes();
        let parts: [&[u8]; 5] = [
            self.run.as_bytes(),
            self.plan.as_bytes(),
            &self.digest.0,
            &self.pinned.0,
            &created_at,
        ];
        for part in parts {
            // Length prefixes prevent the end of one part from being read as the beginning of the next.
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        hasher.finalize().into()
    }
}

/// Maximum length of a text that is copied and hashed in one call, in bytes.
const SHORT: usize = 512;

/// Returns the value of the chain after one more event: the hash of the previous value and the event's line.
pub(super) fn link(head: &Digest, line: &str) -> Digest {
    // Most lines are short. Hashing them in one call needs no incremental hasher.
    let mut short = [0; SHORT];
    if let Some(text) = short.get_mut(..head.0.len() + line.len()) {
        let (before, behind) = text.split_at_mut(head.0.len());
        before.copy_from_slice(&head.0);
        behind.copy_from_slice(line.as_bytes());
        return blake3::hash(text).into();
    }
    blake3::Hasher::new()
        .update(&head.0)
        .update(line.as_bytes())
        .finalize()
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_hashes_read_back_and_have_one_form() {
        let digest = Digest::of(b"x");
        assert_eq!(digest.to_string().parse(), Ok(digest));
        assert_eq!(
            digest.to_string().to_uppercase().parse::<Digest>(),
            Err(ParseDigestError)
        );
        assert_eq!("12".parse::<Digest>(), Err(ParseDigestError));
    }

    #[test]
    fn a_chain_begins_with_everything_that_names_the_run() {
        let origin = |run, plan, at| {
            Origin {
                run,
                plan,
                digest: Digest::of(b"d"),
                pinned: Digest::of(b"p"),
                created_at: at,
            }
            .head()
        };
        let heads = [
            origin("ab", "c", 1),
            origin("a", "bc", 1),
            origin("ab", "c", 2),
            origin("ab", "", 1),
        ];
        for (index, head) in heads.iter().enumerate() {
            assert!(!heads[..index].contains(head));
            assert_ne!(link(head, "{}"), link(head, "{ }"));
        }
    }
}
