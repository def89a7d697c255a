//! Paths of fields within values: names joined by dots. In a name, a dot is written `\.`, and a backslash `\\`.

use std::borrow::Cow;
use std::sync::Arc;

/// Returns the path of a place below a field; the empty path is the field itself.
#[must_use]
pub fn path_below(field: &str, path: &str) -> Arc<str> {
    let field = escaped(field);
    if path.is_empty() {
        field.into()
    } else {
        format!("{field}.{path}").into()
    }
}

/// Returns the rest of a path that begins with a field; the empty path is the field itself. `None` if the path begins
/// with another field.
#[must_use]
pub fn path_in<'p>(field: &str, path: &'p str) -> Option<&'p str> {
    let (first, rest) = split_path(path);
    (first == field).then_some(rest)
}

/// Returns the name of the first field of a path, and the rest of the path, which is empty after the last field.
#[must_use]
pub fn split_path(path: &str) -> (Cow<'_, str>, &str) {
    let plain = path.find(['.', '\\']).unwrap_or(path.len());
    let (first, rest) = path.split_at(plain);
    if !rest.starts_with('\\') {
        return (first.into(), rest.strip_prefix('.').unwrap_or(rest));
    }
    let mut name = first.to_owned();
    let mut characters = rest.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '.' => return (name.into(), &rest[at + 1..]),
            // A backslash in front of anything else stands for itself.
            '\\' if rest[at + 1..].starts_with(['.', '\\']) => {
                name.extend(characters.next().map(|(_, escaped)| escaped));
            }
            _ => name.push(character),
        }
    }
    (name.into(), "")
}

fn escaped(name: &str) -> Cow<'_, str> {
    if name.contains(['.', '\\']) {
        name.replace('\\', "\\\\").replace('.', "\\.").into()
    } else {
        name.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_dots_and_backslashes_are_one_field() {
        for (path, first, rest) in [
            ("", "", ""),
            ("a", "a", ""),
            ("a.b.c", "a", "b.c"),
            (r"X\.Api\.Key", "X.Api.Key", ""),
            (r"X\.Key.b\.c", "X.Key", r"b\.c"),
            (r"a\\.b", r"a\", "b"),
            (r"a\b.c", r"a\b", "c"),
            (r"a\", r"a\", ""),
        ] {
            assert_eq!(split_path(path), (first.into(), rest), "{path}");
            assert_eq!(path_in(first, path), Some(rest), "{path}");
        }
        assert_eq!(path_in("a", "ab.c"), None);
        assert_eq!(path_in("X", r"X\.Key"), None);
        for name in ["plain", "a.b", r"a\.b", r"a\", ".", ""] {
            let path = path_below(name, "x.y");
            assert_eq!(split_path(&path), (name.into(), "x.y"), "{path}");
            assert_eq!(path_in(name, &path_below(name, "")), Some(""));
        }
        assert_eq!(&*path_below("plain", "x"), "plain.x");
    }
}
