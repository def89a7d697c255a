//! `PATH=JSON` for answers, and matching of the paths of questions.

use serde_json::Value as Json;

/// Splits `PATH=JSON` at the first `=` outside of brackets, because keys of elements may contain any text.
///
/// # Errors
/// Returns a sentence that says what is wrong and how it is written.
pub fn split(text: &str) -> Result<(String, String), String> {
    let mut at = None;
    walk(text, |index, character, inside| {
        if character == '=' && !inside && at.is_none() {
            at = Some(index);
        }
    });
    match at.and_then(|at| Some((text.get(..at)?, text.get(at + 1..)?))) {
        Some((path, value)) if !path.is_empty() => Ok((canonical(path), value.to_owned())),
        Some(_) => Err("the path before `=` is empty".to_owned()),
        None => Err("write PATH=JSON, such as paid.confirm=true".to_owned()),
    }
}

/// Returns true if a path that a user wrote matches this one: `[*]` matches every element.
pub(super) fn path_matches(written: &str, path: &str) -> bool {
    let (written, path) = (parts(written), parts(path));
    let same = |(written, path): (&&str, &&str)| {
        written == path || (*written == "[*]" && path.starts_with('['))
    };
    written.len() == path.len() && written.iter().zip(&path).all(same)
}

/// Returns a path as the run itself writes it: the escapes in its keys may differ, with the same meaning.
fn canonical(path: &str) -> String {
    let part = |part: &str| {
        let key = part
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'));
        let key = key
            .and_then(|key| serde_json::from_str::<Json>(key).ok())
            .filter(Json::is_string);
        key.map_or_else(|| part.to_owned(), |key| format!("[{key}]"))
    };
    parts(path).into_iter().map(part).collect()
}

/// Splits a path into the parts in brackets and the parts between them.
fn parts(path: &str) -> Vec<&str> {
    let mut cuts = vec![0];
    walk(path, |index, character, inside| match character {
        '[' if !inside => cuts.push(index),
        ']' if !inside => cuts.push(index + 1),
        _ => {}
    });
    cuts.push(path.len());
    cuts.windows(2)
        .filter_map(|cut| path.get(cut.first().copied()?..cut.last().copied()?))
        .filter(|part| !part.is_empty())
        .collect()
}

/// Visits every character with its index, and whether it is inside of brackets; the brackets themselves are not.
fn walk(text: &str, mut visit: impl FnMut(usize, char, bool)) {
    let (mut inside, mut quoted, mut escaped) = (false, false, false);
    for (index, character) in text.char_indices() {
        match character {
            ']' if inside && !quoted => inside = false,
            '"' if inside && !escaped => quoted = !quoted,
            _ => {}
        }
        visit(index, character, inside);
        escaped = inside && character == '\\' && !escaped;
        inside |= character == '[' && !quoted;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_may_hold_any_text() {
        let split = |text| split(text).unwrap();
        assert_eq!(split("a.confirm=true"), ("a.confirm".into(), "true".into()));
        assert_eq!(
            split(r#"m["a=b]\"["].x={"c": "="}"#),
            (r#"m["a=b]\"["].x"#.into(), r#"{"c": "="}"#.into())
        );
        assert_eq!(
            split("m[\"a\\u0020\\u202eb\"]=1").0,
            "m[\"a \u{202e}b\"]",
            "as the run writes it"
        );
        assert!(super::split("a").is_err() && super::split("=1").is_err());
    }

    #[test]
    fn a_star_stands_for_every_element_and_nothing_else() {
        assert!(path_matches(
            "mails[*].sent.confirm",
            r#"mails["a].sent"].sent.confirm"#
        ));
        assert!(path_matches("a[*].b[2].c", "a[0].b[2].c") && path_matches("x", "x"));
        assert!(
            !path_matches("mails[*].sent", "mails[1].told")
                && !path_matches("mails[*]", "mails")
                && !path_matches("*", "x")
        );
    }
}
