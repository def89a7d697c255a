//! `files.edit`: replaces parts of a file, each of which must occur in it exactly once.

use planrun_lang::call::CallError;
use planrun_tools::tools::FileAccess;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::failed;

#[derive(Deserialize)]
pub(super) struct Edits {
    path: String,
    edits: Vec<Edit>,
}

#[derive(Deserialize)]
struct Edit {
    search: String,
    replace: String,
}

pub(super) fn edit(files: &FileAccess, Edits { path, edits }: Edits) -> Result<Json, CallError> {
    if edits.is_empty() {
        return Err(failed("there is nothing to replace: `edits` is empty"));
    }
    let text = files.read(&path)?;
    let place = files.writable(&path)?;
    let changed =
        changed(&text, &edits).map_err(|why| failed(format!("{path} was not changed: {why}")))?;
    let written = files.host.write_file(&place, changed.as_bytes());
    written.map_err(|error| failed(format!("{path}: {error}")))?;
    Ok(json!({ "edits": edits.len(), "bytes": changed.len() }))
}

/// Returns the text with all edits applied, one after the other.
fn changed(text: &str, edits: &[Edit]) -> Result<String, String> {
    let mut text = text.to_owned();
    for (index, edit) in edits.iter().enumerate() {
        let which = if edits.len() == 1 {
            String::new()
        } else {
            format!(" of edit {}", index + 1)
        };
        if edit.search.is_empty() {
            return Err(format!(
                "`search`{which} is empty; write the lines to replace"
            ));
        }
        let mut found = Found::of(&text, &edit.search, &edit.replace);
        // The file may have CRLF line endings, whereas a model writes LF.
        if found.times == 0 && text.contains("\r\n") && !edit.search.contains('\r') {
            let with_returns = |text: &str| text.replace("\r\n", "\n").replace('\n', "\r\n");
            found = Found::of(
                &text,
                &with_returns(&edit.search),
                &with_returns(&edit.replace),
            );
        }
        match (found.times, found.text) {
            (1, Some(changed)) => text = changed,
            (0, _) => {
                return Err(format!(
                    "`search`{which} was not found; it must match the text exactly, including indentation"
                ));
            }
            (times, _) => {
                return Err(format!(
                    "`search`{which} occurs {times} times; add surrounding lines until it occurs once"
                ));
            }
        }
    }
    Ok(text)
}

/// The number of occurrences in a text, and the text with the only occurrence replaced.
struct Found {
    times: usize,
    text: Option<String>,
}

impl Found {
    fn of(text: &str, search: &str, replace: &str) -> Self {
        let mut places = text.match_indices(search).map(|(at, _)| at);
        let first = places.next();
        // An overlapping occurrence counts as well.
        let inside = first.and_then(|at| {
            let next = text.get(at..)?.chars().next()?.len_utf8();
            text.get(at + next..)?.find(search)
        });
        let times = match (first, inside) {
            (None, _) => 0,
            (Some(_), None) => 1,
            (Some(_), Some(_)) => 2 + places.count().saturating_sub(1),
        };
        let text = first.filter(|_| times == 1).map(|at| {
            let (before, after) = text.split_at(at);
            let after = after.get(search.len()..).unwrap_or_default();
            format!("{before}{replace}{after}")
        });
        Self { times, text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(text: &str, edits: &[(&str, &str)]) -> Result<String, String> {
        let edits: Vec<Edit> = edits
            .iter()
            .map(|(search, replace)| Edit {
                search: (*search).to_owned(),
                replace: (*replace).to_owned(),
            })
            .collect();
        changed(text, &edits)
    }

    #[test]
    fn s4_18_what_stands_there_once_is_replaced_as_it_is_written() {
        for (text, search, replace, expected) in [
            ("a b c", "b", "$& $1 \\0", "a $& $1 \\0 c"),
            ("  x\n  y\n", "  y\n", "    z\n", "  x\n    z\n"),
            (
                "a\n=======\nb",
                "=======",
                ">>>>>>> REPLACE",
                "a\n>>>>>>> REPLACE\nb",
            ),
            ("a\r\nb\r\nc\n", "a\nb", "x\ny", "x\r\ny\r\nc\n"),
            ("a\r\nb", "a\r\nb", "x\ny", "x\ny"),
            ("one", "one", "", ""),
            ("é读é", "读", "写", "é写é"),
        ] {
            assert_eq!(
                change(text, &[(search, replace)]).as_deref(),
                Ok(expected),
                "{text}"
            );
        }
        let several = change("a b", &[("a", "b c"), ("c b", "d")]);
        assert_eq!(several.as_deref(), Ok("b d"));
    }

    #[test]
    fn s4_18_what_is_not_unique_or_empty_is_refused() {
        for (text, search, why) in [
            ("a", "", "is empty"),
            ("a", "b", "was not found"),
            ("a ", " a", "was not found"),
            ("a a a", "a", "3 times"),
            ("aaa", "aa", "2 times"),
            ("ééé", "éé", "2 times"),
        ] {
            let message = change(text, &[(search, "x")]).unwrap_err();
            assert!(message.contains(why), "{text}: {message}");
        }
        let message = change("a b", &[("a", "c"), ("x", "y")]).unwrap_err();
        assert!(message.contains("of edit 2"), "{message}");
    }
}
