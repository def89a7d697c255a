//! Estimates the number of tokens of a text without the vocabulary of a model.

use std::borrow::Cow;

/// Estimates the number of tokens of a text: a token is three and a half bytes.
///
/// Measured with the vocabulary `o200k` (`gpt-tokenizer`, November 2026; `tests/peers/tokens.sh`), in bytes per token:
/// descriptions of 527 tools 5.0, the Chinese ones among them 4.1, names with their arguments 4.2, the reference of the
/// language 3.8, JSON without spaces 3.4, the guide of the language 3.2. So prose has fewer tokens than estimated, and
/// text that consists of symbols up to a tenth more. Bytes are counted and not characters, because a Chinese character
/// has three bytes and is most of a token.
pub const fn tokens(text: &str) -> usize {
    tokens_of_bytes(text.len())
}

/// Like [`tokens`], for a text of this size in bytes.
pub const fn tokens_of_bytes(bytes: usize) -> usize {
    bytes.saturating_mul(2).div_ceil(7)
}

/// Returns the size in bytes of the longest text that has at most this number of tokens.
pub const fn bytes(tokens: usize) -> usize {
    tokens.saturating_mul(7) / 2
}

/// Truncates a text to at most `max_bytes` bytes, with an ellipsis at the end if it was longer. Returns an empty text
/// if there is no room for the ellipsis.
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
