//! How many tokens a text has, estimated without the vocabulary of any model.

use std::borrow::Cow;

/// How many tokens a text has: a token is three and a half bytes.
///
/// Measured with the vocabulary `o200k` (`gpt-tokenizer`, November 2026; `tests/peers/tokens.sh`), in bytes a token: descriptions of 527
/// tools 5.0, of those the Chinese ones 4.1, names with their arguments 4.2, the reference of the language 3.8, JSON without
/// spaces 3.4, the guide of the language 3.2. So what is prose has fewer tokens than this says, and what is all signs up to a
/// tenth more. Bytes and not characters, since a Chinese character has three of them and is most of a token.
#[must_use]
pub const fn tokens(text: &str) -> usize {
    tokens_of_bytes(text.len())
}

/// The same of a text of so many bytes.
#[must_use]
pub const fn tokens_of_bytes(bytes: usize) -> usize {
    bytes.saturating_mul(2).div_ceil(7)
}

/// The bytes of the longest text that has so many tokens.
#[must_use]
pub const fn bytes(tokens: usize) -> usize {
    tokens.saturating_mul(7) / 2
}

/// A text of at most so many bytes: where it is longer, its beginning and an ellipsis; nothing where there is no room for one.
#[must_use]
pub fn cut(text: &str, max_bytes: usize) -> Cow<'_, str> {
    const ELLIPSIS: &str = "…";
    if text.len() <= max_bytes {
        return Cow::Borrowed(text);
    }
    let Some(room) = max_bytes.checked_sub(ELLIPSIS.len()) else {
        return Cow::Borrowed("");
    };
    let kept = text.get(..text.floor_char_boundary(room));
    Cow::Owned(kept.unwrap_or_default().trim_end().to_owned() + ELLIPSIS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_text_of_so_many_tokens_has_no_more() {
        for count in 0..200 {
            assert_eq!(tokens_of_bytes(bytes(count)), count);
            assert_eq!(tokens_of_bytes(bytes(count) + 1), count + 1);
        }
        assert_eq!(tokens("查询"), 2);
    }

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(cut("plain", 5), "plain");
        assert_eq!(cut("plainly", 6), "pla…");
        assert_eq!(cut("查询天气", 10), "查询…");
        assert_eq!(cut("查询", 2), "");
    }
}
