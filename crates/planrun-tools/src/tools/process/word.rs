//! A word of a command line with placeholders for the arguments of a call.

use std::sync::Arc;

use serde_json::{Map, Value as Json};

/// A word of a command line: text and placeholders for arguments. The value of an argument never leaves its word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Argument(Arc<str>),
}

impl Word {
    /// Parses a word. `{NAME}` is the placeholder of an argument; `{{` and `}}` are literal braces. Fails with one
    /// sentence if a brace is unmatched.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            let (before, brace) = rest.split_at(at);
            plain.push_str(before);
            let one = if brace.starts_with('{') { '{' } else { '}' };
            if let Some(after) = brace.strip_prefix(&*format!("{one}{one}")) {
                plain.push(one);
                rest = after;
                continue;
            }
            let inside = brace
                .strip_prefix('{')
                .and_then(|after| after.split_once('}'));
            let Some((name, after)) = inside.filter(|(name, _)| !name.contains('{')) else {
                return Err(format!(
                    "`{text}` has an unmatched `{one}`; write `{{NAME}}` for an argument, or `{one}{one}` for a brace"
                ));
            };
            if !plain.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut plain)));
            }
            pieces.push(Piece::Argument(name.into()));
            rest = after;
        }
        plain.push_str(rest);
        if !plain.is_empty() || pieces.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        Ok(Self { pieces })
    }

    /// Returns the names of its arguments.
    pub fn arguments(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Text(_) => None,
            Piece::Argument(name) => Some(&**name),
        })
    }

    /// Returns the words of a call: none if one of its arguments is missing, one for each element if the word is
    /// exactly one placeholder whose argument is a list, otherwise one.
    pub(super) fn filled(&self, arguments: &Map<String, Json>) -> Vec<String> {
        let given = |name: &str| arguments.get(name).filter(|value| !value.is_null());
        if let [Piece::Argument(name)] = &*self.pieces
            && let Some(Json::Array(items)) = given(name)
        {
            return items.iter().map(text).collect();
        }
        let pieces = self.pieces.iter().map(|piece| match piece {
            Piece::Text(text) => Some(text.clone()),
            Piece::Argument(name) => given(name).map(text),
        });
        pieces.collect::<Option<String>>().into_iter().collect()
    }
}

fn text(value: &Json) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn filled(word: &str) -> Vec<String> {
        let arguments = json!({ "path": "a b; rm", "n": 3, "tags": ["x", "{n}"], "none": null, "map": { "a": [1] } });
        Word::parse(word)
            .unwrap()
            .filled(arguments.as_object().unwrap())
    }

    #[test]
    fn an_argument_stays_within_its_word() {
        assert_eq!(filled("{path}"), ["a b; rm"]);
        assert_eq!(filled("--max={n}/{path}"), ["--max=3/a b; rm"]);
        assert_eq!(filled("{tags}"), ["x", "{n}"]);
        assert_eq!(filled("--tags={tags}"), [r#"--tags=["x","{n}"]"#]);
        assert_eq!(filled("{map}"), [r#"{"a":[1]}"#]);
        assert_eq!(filled("{{print}} {{{n}}}"), ["{print} {3}"]);
        assert_eq!(filled(""), [""]);
        for absent in ["{none}", "--none={none}", "{other}"] {
            assert_eq!(filled(absent), [""; 0], "{absent}");
        }
    }

    #[test]
    fn a_brace_alone_is_no_word() {
        for word in ["{print", "print}", "{a{b}", "{{a}", "}{"] {
            let problem = Word::parse(word).unwrap_err();
            assert!(
                problem.contains("write `{NAME}` for an argument"),
                "{problem}"
            );
        }
    }
}
