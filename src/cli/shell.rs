//! Commands as they are typed into a shell.

use planrun_lang::diag::render::visible_line;

/// A word so that a POSIX shell reads exactly it. Characters that a terminal would act on must be gone.
pub(super) fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:=,@%+".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// A command of this program as it is typed into a shell, about the project in this folder.
pub(super) fn command(place: Option<&str>, rest: &str) -> String {
    let place = place
        .map(|folder| format!(" --project {}", quoted(&visible_line(folder))))
        .unwrap_or_default();
    format!("planrun{place} {rest}")
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
