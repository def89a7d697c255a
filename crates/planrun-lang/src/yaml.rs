//! Parses YAML and JSON files into trees with the position of each part. No other module of this crate reads YAML.

use crate::source::Span;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Number, Value as Json};
use serde_yaml::{Location, Spanned};

/// Maximum nesting depth; deeper files are rejected.
const MAX_DEPTH: usize = 96;

/// A part of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub span: Span,
    pub content: Content,
}

/// The content of a part.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// A key and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub name: String,
    /// Position of the key.
    pub span: Span,
    pub value: Node,
}

/// A YAML syntax error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct YamlError {
    /// The problem, without its position.
    pub message: String,
    pub span: Span,
}

/// Parses YAML, which includes JSON. Only `true` and `false` are Booleans: `no` and `on` are strings. An empty text is
/// null.
///
/// # Errors
/// If the text is not YAML, has a duplicate key, is nested too deep, or expands too much through aliases.
pub fn parse(text: &str) -> Result<Node, YamlError> {
    let budget = serde_yaml::budget! { max_depth: MAX_DEPTH };
    let options = serde_yaml::options! {
        strict_booleans: true,
        with_snippet: false,
        budget: budget,
    };
    match serde_yaml::from_str_with_options::<Spanned<Content>>(text, options) {
        Ok(spanned) => Ok(node(spanned)),
        Err(error) => {
            let location = error.location().unwrap_or(Location::UNKNOWN);
            Err(YamlError {
                message: message(&error),
                span: place(text, location),
            })
        }
    }
}

impl Node {
    /// Converts this part to plain JSON.
    #[must_use]
    pub fn to_json(&self) -> Json {
        match &self.content {
            Content::Null => Json::Null,
            Content::Bool(truth) => Json::Bool(*truth),
            Content::Number(number) => Json::Number(number.clone()),
            Content::Text(text) => Json::String(text.clone()),
            Content::List(items) => Json::Array(items.iter().map(Self::to_json).collect()),
            Content::Map(entries) => Json::Object(
                entries
                    .iter()
                    .map(|entry| (entry.name.clone(), entry.value.to_json()))
                    .collect(),
            ),
        }
    }

    /// Returns the value of a key of a mapping.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Self> {
        self.entries()?
            .iter()
            .find(|entry| entry.name == name)
            .map(|entry| &entry.value)
    }

    /// Returns the entries of a mapping.
    #[must_use]
    pub fn entries(&self) -> Option<&[Entry]> {
        if let Content::Map(entries) = &self.content {
            Some(entries)
        } else {
            None
        }
    }

    /// Returns the elements of a list.
    #[must_use]
    pub fn items(&self) -> Option<&[Self]> {
        if let Content::List(items) = &self.content {
            Some(items)
        } else {
            None
        }
    }

    /// Returns the text of a string.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        if let Content::Text(text) = &self.content {
            Some(text)
        } else {
            None
        }
    }

    /// Returns the number of a numeric scalar.
    #[must_use]
    pub fn number(&self) -> Option<&Number> {
        if let Content::Number(number) = &self.content {
            Some(number)
        } else {
            None
        }
    }

    /// Returns the text of a scalar: `24` and `true` are accepted where text is expected.
    #[must_use]
    pub fn scalar(&self) -> Option<String> {
        match &self.content {
            Content::Text(text) => Some(text.clone()),
            Content::Number(number) => Some(number.to_string()),
            Content::Bool(truth) => Some(truth.to_string()),
            Content::Null | Content::List(_) | Content::Map(_) => None,
        }
    }

    /// Describes the kind of content, for messages.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self.content {
            Content::Null => "nothing",
            Content::Bool(_) => "a boolean",
            Content::Number(_) => "a number",
            Content::Text(_) => "text",
            Content::List(_) => "a list",
            Content::Map(_) => "a mapping",
        }
    }

    /// Returns true if a scalar in this part has exactly this span.
    #[must_use]
    pub fn has_part_at(&self, place: Span) -> bool {
        match &self.content {
            Content::List(items) => items.iter().any(|item| item.has_part_at(place)),
            Content::Map(entries) => entries.iter().any(|entry| entry.value.has_part_at(place)),
            Content::Null | Content::Bool(_) | Content::Number(_) | Content::Text(_) => {
                self.span == place
            }
        }
    }

    /// Rewrites every string except keys, at every depth.
    pub fn rewrite(&mut self, change: &mut dyn FnMut(&str, Span) -> String) {
        match &mut self.content {
            Content::Text(text) => *text = change(text, self.span),
            Content::List(items) => items.iter_mut().for_each(|item| item.rewrite(change)),
            Content::Map(entries) => entries
                .iter_mut()
                .for_each(|entry| entry.value.rewrite(change)),
            Content::Null | Content::Bool(_) | Content::Number(_) => {}
        }
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Content;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<Content, E> {
        Ok(Content::Null)
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Content, E> {
        Ok(Content::Bool(truth))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Content, E> {
        Ok(Content::Number(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Content, E> {
        Ok(Content::Number(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Content, E> {
        Ok(Number::from_f64(number)
            .map_or_else(|| Content::Text(number.to_string()), Content::Number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Content, E> {
        Ok(Content::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Content, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element::<Spanned<Content>>()? {
            list.push(node(item));
        }
        Ok(Content::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Content, A::Error> {
        let mut map = Vec::new();
        while let Some(name) = entries.next_key::<Spanned<String>>()? {
            let value = node(entries.next_value::<Spanned<Content>>()?);
            map.push(Entry {
                span: span(name.referenced),
                name: name.value,
                value,
            });
        }
        Ok(Content::Map(map))
    }
}

fn node(spanned: Spanned<Content>) -> Node {
    Node {
        span: span(spanned.referenced),
        content: spanned.value,
    }
}

fn span(location: Location) -> Span {
    let narrow = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX);
    let start = narrow(location.span().byte_offset().unwrap_or(0));
    Span::new(
        start,
        start.saturating_add(narrow(location.span().byte_len().unwrap_or(0))),
    )
}

/// Returns the position of an error from its byte offset or, if that is missing, from its line and column.
fn place(text: &str, location: Location) -> Span {
    if location
        .span()
        .byte_offset()
        .is_some_and(|offset| offset > 0)
    {
        return span(location);
    }
    let line = usize::try_from(location.line())
        .unwrap_or(0)
        .saturating_sub(1);
    let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
    let column = usize::try_from(location.column())
        .unwrap_or(0)
        .saturating_sub(1);
    let within = text
        .get(start..)
        .and_then(|rest| rest.char_indices().nth(column))
        .map_or(0, |(offset, _)| offset);
    Span::at(start + within)
}

/// Returns the message without the position, which is displayed separately, and without advice for programmers.
fn message(error: &serde_yaml::Error) -> String {
    let mut error = error.without_snippet();
    let text = error.to_string();
    // The cause of an error in a replaced alias is inside the error.
    while let serde_yaml::Error::AliasError { error: inner, .. } = error {
        error = inner;
    }
    match error {
        serde_yaml::Error::Budget { .. } => {
            return "it is too large, or expands too much through aliases".to_owned();
        }
        serde_yaml::Error::NonFiniteFloat { value, .. } => {
            return format!("`{value}` is not a finite number");
        }
        _ => {}
    }
    let first = text.lines().next().unwrap_or_default();
    let end = [" at line ", ", set DuplicateKeyPolicy", "error: line "]
        .iter()
        .filter_map(|mark| first.find(mark))
        .min();
    let kept = first[..end.unwrap_or(first.len())].trim_end_matches([':', ' ']);
    match kept {
        "" => "it is not valid YAML".to_owned(),
        "recursion limit exceeded" => "it is nested too deeply".to_owned(),
        kept => kept.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn words_stay_words_and_places_are_kept() {
        let text = "name: 人事\non: no\nlist:\n  - 1\n  - yes\n  - 2.5\n  - ~\n200: ok\n";
        let node = parse(text).unwrap();
        assert_eq!(
            node.to_json(),
            json!({"name": "人事", "on": "no", "list": [1, "yes", 2.5, null], "200": "ok"})
        );
        let entry = &node.entries().unwrap()[1];
        assert_eq!(&text[entry.span.range()], "on");
        assert_eq!(&text[entry.value.span.range()], "no");
        assert_eq!(&text[node.get("name").unwrap().span.range()], "人事");
    }

    #[test]
    fn json_is_yaml() {
        let text = r#"{"name": "hr", "tools": [{"parameters": {"type": "object"}}], "on": true}"#;
        assert_eq!(
            parse(text).unwrap().to_json(),
            serde_json::from_str::<Json>(text).unwrap()
        );
    }

    #[test]
    fn what_is_no_yaml_is_told_with_its_place() {
        for (text, line) in [
            ("a: [1, 2\nb: 3\n", 2),
            ("a: 1\na: 2\n", 2),
            ("name: \"x\n", 1),
            ("a: b: c\n", 1),
        ] {
            let error = parse(text).unwrap_err();
            let source = crate::source::SourceFile::new("x", text);
            assert!(
                source.position(error.span.start).line >= line,
                "{text:?}: {error:?}"
            );
            assert!(
                !error.message.contains(" line ") && !error.message.is_empty(),
                "{text:?}: {error:?}"
            );
        }
        assert_eq!(parse("").unwrap().content, Content::Null);
        let deep = format!("{}1{}", "[".repeat(5000), "]".repeat(5000));
        assert!(parse(&deep).is_err());
        let laughs: String = (1..30).fold("a0: &a0 [x]\n".into(), |text, level| {
            format!(
                "{text}a{level}: &a{level} [*a{0}, *a{0}, *a{0}]\n",
                level - 1
            )
        });
        assert!(parse(&laughs).is_err());
    }
}
