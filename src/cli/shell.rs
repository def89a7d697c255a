//! Formats commands for a shell.

use planrun_lang::diag::render::visible_line;

/// Quotes a word so that a POSIX shell reads it unchanged. Characters that control a terminal must have been removed.
pub(super) fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:=,@%+".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Returns a command of this program to type into a shell, for the project in this folder.
pub(super) fn command(project: Option<&str>, rest: &str) -> String {
    let project = project
        .map(|folder| format!(" --project {}", quoted(&visible_line(folder))))
        .unwrap_or_default();
    format!("planrun{project} {rest}")
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
    }
}
