//! Validates run ids. An id occurs in keys, in headers, and in commands that users copy into their shells.

/// Maximum length of a run id, in characters.
const MAX_LENGTH: usize = 128;

/// Returns the reason why a text is not a valid run id; `None` if it is valid.
#[must_use]
pub fn run_id_fault(id: &str) -> Option<String> {
    let plain =
        |character: char| character.is_alphanumeric() || matches!(character, '-' | '_' | '.' | ':');
    if id.is_empty() {
        return Some("a run id cannot be empty".to_owned());
    }
    if id.chars().count() > MAX_LENGTH {
        return Some(format!("a run id has at most {MAX_LENGTH} characters"));
    }
    if let Some(character) = id.chars().find(|character| !plain(*character)) {
        let escaped = character.escape_debug();
        return Some(format!(
            "a run id cannot contain `{escaped}`: it consists of letters, digits, `-`, `_`, `.` and `:`"
        ));
    }
    let first = id.chars().next().filter(|first| matches!(first, '-' | '.'));
    first.map(|first| format!("a run id cannot begin with `{first}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f25_ids_of_runs_are_words() {
        for id in [
            "0193a1f2-9fd5-7bcc",
            "night",
            "入职:2026-11-22",
            "a.b_c",
            &"x".repeat(MAX_LENGTH),
        ] {
            assert_eq!(run_id_fault(id), None, "{id}");
        }
        let long = "x".repeat(MAX_LENGTH + 1);
        for id in [
            "",
            " ",
            "a b",
            "a\nb",
            "../../x",
            "-x",
            ".x",
            "a\u{202e}b",
            "$(id)",
            "a'b",
            "a\u{9b}",
            &long,
        ] {
            assert!(run_id_fault(id).is_some(), "{id:?}");
        }
    }
}
