//! Quotes words for a shell.

/// Quotes a word so that a POSIX shell reads it unchanged. Characters that control a terminal must have been removed.
#[must_use]
pub fn quoted(word: &str) -> String {
    let plain = |character: char| character.is_alphanumeric() || "_-./:=,@%+…".contains(character);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_what_was_meant() {
        assert_eq!(quoted("paid.confirm=true"), "paid.confirm=true");
        assert_eq!(
            quoted(r#"m["a b"].confirm=true"#),
            r#"'m["a b"].confirm=true'"#
        );
        assert_eq!(quoted("it's $(rm)"), r"'it'\''s $(rm)'");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("姓名=…"), "姓名=…");
    }
}
