//! Text in columns of a terminal, in which a Chinese character takes two.

use unicode_width::UnicodeWidthStr;

/// Returns the number of columns that the widest of these texts takes.
pub(super) fn widest<'t>(texts: impl IntoIterator<Item = &'t str>) -> usize {
    let widths = texts.into_iter().map(UnicodeWidthStr::width);
    widths.max().unwrap_or(0)
}

/// Appends spaces to a text until it takes this many columns.
pub(super) fn padded(text: &str, columns: usize) -> String {
    let missing = columns.saturating_sub(text.width());
    format!("{text}{}", " ".repeat(missing))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wide_character_takes_two_columns() {
        assert_eq!(widest(["ab", "查询", "c"]), 4);
        assert_eq!(padded("查询", 6), "查询  ");
        assert_eq!(padded("abcd", 3), "abcd");
    }
}
