//! Wraps text by display width, in which wide characters count as two columns.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Wraps `text` at `width` columns, at least 8. Existing line breaks are kept; a word that is too wide is split.
#[must_use]
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(8);
    let mut lines = Vec::new();
    for paragraph in text.split('\n') {
        let mut line = String::new();
        let mut used = 0;
        for word in paragraph.split(' ') {
            let columns = word.width();
            if used > 0 && used + 1 + columns > width {
                lines.push(std::mem::take(&mut line));
                used = 0;
            } else if !line.is_empty() {
                line.push(' ');
                used += 1;
            }
            used = push_word(&mut lines, &mut line, used, word, width);
        }
        lines.push(line);
    }
    lines
}

/// Appends a word at column `used`, splitting it at the width; returns the column after it.
fn push_word(
    lines: &mut Vec<String>,
    line: &mut String,
    mut used: usize,
    word: &str,
    width: usize,
) -> usize {
    for character in word.chars() {
        let columns = character.width().unwrap_or(0);
        if used + columns > width {
            lines.push(std::mem::take(line));
            used = 0;
        }
        line.push(character);
        used += columns;
    }
    used
}

#[cfg(test)]
mod tests {
    use super::wrap;

    #[test]
    fn words_move_to_the_next_line_and_wide_text_is_cut_by_columns() {
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("员工入职流程", 8), ["员工入职", "流程"]);
        assert_eq!(wrap("a\nb", 8), ["a", "b"]);
        assert_eq!(wrap("", 8), [""]);
    }
}
