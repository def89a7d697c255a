//! What a run may be called: its id stands in keys, in headers, in commands that people copy, and in their shells.

/// The longest id of a run, in characters.
const MAX_LENGTH: usize = 128;

/// Why a text cannot be the id of a run; nothing where it can.
#[must_use]
pub fn run_id_fault(id: &str) -> Option<String> {
    let plain =
        |character: char| character.is_alphanumeric() || matches!(character, '-' | '_' | '.' | ':');
    if id.is_empty() {
        return Some("the id of a run cannot be empty".to_owned());
    }
    if id.chars().count() > MAX_LENGTH {
        return Some(format!(
            "the id of a run has at most {MAX_LENGTH} characters"
        ));
    }
    if let Some(character) = id.chars().find(|character| !plain(*character)) {
        let shown = character.escape_debug();
        return Some(format!(
            "`{shown}` cannot stand in the id of a run: it is of letters, digits, `-`, `_`, `.` and `:`"
        ));
    }
    let first = id.chars().next().filter(|first| matches!(first, '-' | '.'));
    first.map(|first| format!("the id of a run cannot begin with `{first}`"))
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
