//! Commands of this program in texts, to be pasted into a shell in the current folder.

use std::fmt::Write as _;
use std::sync::OnceLock;

use crate::characters::is_hidden;

/// The folder that commands pass with `--project`; not set if they find the project without it.
static PROJECT: OnceLock<String> = OnceLock::new();

/// Makes commands in texts pass this folder with `--project` from now on. A process works with one project, so only the
/// first call has an effect.
pub fn set_project(folder: String) {
    PROJECT.get_or_init(|| folder);
}

/// Returns the folder that commands have to pass with `--project`.
#[must_use]
pub fn project() -> Option<&'static str> {
    PROJECT.get().map(String::as_str)
}

/// Returns a command of this program for the project of this process.
#[must_use]
pub fn command(rest: &str) -> String {
    command_in(project(), rest)
}

/// Returns a command of this program for the project in this folder.
#[must_use]
pub fn command_in(project: Option<&str>, rest: &str) -> String {
    let project = project
        .map(|folder| format!(" --project {}", quoted(folder)))
        .unwrap_or_default();
    format!("planrun{project} {rest}")
}

/// Quotes a word so that a POSIX shell reads it unchanged. Characters that control a terminal are escaped.
#[must_use]
pub fn quoted(word: &str) -> String {
    let plain = |character: char| character.is_alphanumeric() || "_-./:=,@%+…".contains(character);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    if word.chars().any(is_hidden) {
        return escaped(word);
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

fn escaped(word: &str) -> String {
    let mut text = String::from("$'");
    for character in word.chars() {
        if is_hidden(character) {
            for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                // Writing to a string cannot fail.
                let _ = write!(text, "\\x{byte:02x}");
            }
            continue;
        }
        if matches!(character, '\'' | '\\') {
            text.push('\\');
        }
        text.push(character);
    }
    text + "'"
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
        assert_eq!(quoted("a\nb \u{202e}'c\\"), r"$'a\x0ab \xe2\x80\xae\'c\\'");
    }

    #[test]
    fn a_command_names_the_project_that_it_would_not_find() {
        assert_eq!(command_in(None, "runs list"), "planrun runs list");
        assert_eq!(
            command_in(Some("my shop"), "runs list"),
            "planrun --project 'my shop' runs list"
        );
    }
}
