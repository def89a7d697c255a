//! Paths with arguments in braces, such as `/orders/{id}/close`: fills in the arguments, and parses them.

use super::percent;

/// Returns the names in the braces of a path.
pub fn names(template: &str) -> impl Iterator<Item = &str> {
    let behind = template.split('{').skip(1);
    behind.filter_map(|rest| rest.split_once('}').map(|(name, _)| name))
}

/// Fills the arguments into a path. The caller has escaped them already. Returns an error if an argument is missing, or
/// if it would change the structure of the path: a segment that becomes empty, `.` or `..`.
pub fn fill(
    template: &str,
    mut value: impl FnMut(&str) -> Option<String>,
) -> Result<String, String> {
    let mut path = String::new();
    for segment in template.split_inclusive('/') {
        let (mut filled, mut rest) = (String::new(), segment);
        while let Some((before, (name, after))) = rest
            .split_once('{')
            .and_then(|(before, behind)| Some((before, behind.split_once('}')?)))
        {
            filled.push_str(before);
            filled.push_str(&value(name).ok_or_else(|| format!("its path requires `{name}`"))?);
            rest = after;
        }
        filled.push_str(rest);
        let plain = percent::decode(filled.trim_end_matches('/'));
        if segment.contains('{') && matches!(plain.as_str(), "" | "." | "..") {
            let place = segment.trim_end_matches('/');
            return Err(format!("`{plain}` is not allowed in its path for {place}"));
        }
        path.push_str(&filled);
    }
    Ok(path)
}

/// Returns the still escaped arguments of a path that matches the template; `None` if it does not match.
pub fn matched<'a>(template: &'a str, path: &'a str) -> Option<Vec<(&'a str, &'a str)>> {
    let (expected, actual) = (template.split('/'), path.split('/'));
    let mut found = Vec::new();
    if expected.clone().count() != actual.clone().count() {
        return None;
    }
    for (expected, actual) in expected.zip(actual) {
        segment(expected, actual, &mut found)?;
    }
    Some(found)
}

fn segment<'a>(
    template: &'a str,
    text: &'a str,
    found: &mut Vec<(&'a str, &'a str)>,
) -> Option<()> {
    let (mut template, mut text) = (template, text);
    while let Some((before, behind)) = template.split_once('{') {
        let (name, after) = behind.split_once('}')?;
        text = text.strip_prefix(before)?;
        let next = after.split('{').next().unwrap_or_default();
        let end = if next.is_empty() {
            text.len()
        } else {
            text.find(next)?
        };
        let (value, rest) = (text.get(..end)?, text.get(end..)?);
        if value.is_empty() {
            return None;
        }
        found.push((name, value));
        (template, text) = (after, rest);
    }
    (percent::decode(text) == template).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_filled_in_is_read_back() {
        let give = |name: &str| Some(percent::encode(&format!("{name}/1"), percent::RESERVED));
        let template = "/orders/{id}/files/{file}.{ending}";
        let path = fill(template, give).unwrap();
        assert_eq!(path, "/orders/id%2F1/files/file%2F1.ending%2F1");
        let expected = vec![
            ("id", "id%2F1"),
            ("file", "file%2F1"),
            ("ending", "ending%2F1"),
        ];
        assert_eq!(matched(template, &path), Some(expected));
        assert_eq!(matched(template, "/orders/1/files"), None);
        assert_eq!(matched("/orders/{id}", "/orders/"), None);
        assert_eq!(matched("/a b", "/a%20b"), Some(Vec::new()));
        assert_eq!(
            names(template).collect::<Vec<_>>(),
            ["id", "file", "ending"]
        );
    }

    #[test]
    fn no_argument_leads_to_another_path() {
        for value in ["", ".", "..", "%2e%2e"] {
            assert!(
                fill("/orders/{id}", |_| Some(value.to_owned())).is_err(),
                "{value}"
            );
        }
        assert!(fill("/orders/{id}", |_| None).is_err());
        assert!(fill("/orders/{id}.json", |_| Some("..".to_owned())).is_ok());
    }
}
