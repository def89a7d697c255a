//! Phrases of other languages that authors write out of habit, with their counterparts in plans.

/// Defines a table of phrases. Each row consists of the certainty, the counterpart with an optional note, and the
/// phrases.
macro_rules! phrases {
    ($($certainty:ident $meaning:tt: $($wrong:literal),+;)*) => {
        &[$($(phrases!(@ $wrong, $certainty $meaning),)+)*]
    };
    (@ $wrong:literal, $certainty:ident ($right:literal)) => {
        phrases!(@ $wrong, $certainty ($right, ""))
    };
    (@ $wrong:literal, $certainty:ident ($right:literal, $note:expr)) => {
        Phrase { wrong: $wrong, right: $right, certainty: Certainty::$certainty, note: $note }
    };
}

mod expressions;
mod words;

pub use expressions::EXPRESSIONS;
pub use words::{CLAUSES, EVERY_ERROR, ITEMS, MARKS, SETTINGS, STATEMENTS, TEST_LINES, TYPES};

/// How certain it is that a phrase means its counterpart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Certainty {
    /// It cannot mean anything else, so the fix is safe.
    Certain,
    /// It means nearly the same, so the fix is not safe.
    Near,
    /// It has to be rewritten by the author; there is no fix.
    Advice,
}

/// A phrase of another language with its counterpart in plans.
///
/// In expressions, names are placeholders for what the author wrote: `s` is a text, `xs` and `ys` are lists, `m` is a
/// map, `c` is a text, a list or a map, `n` is a number, `x` is any value before a dot or the variable of a macro, `e`
/// is an expression with that variable, and other names are any argument.
#[derive(Debug)]
pub struct Phrase {
    pub wrong: &'static str,
    /// The counterpart, in which `…` is for the author to fill in. Empty if there is none; then the note describes the
    /// remedy.
    pub right: &'static str,
    pub certainty: Certainty,
    /// Additional help; may be empty.
    pub note: &'static str,
}

/// The syntactic form of a phrase of an expression.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// `f(a, b)` or `root.f(a, b)`
    Call,
    /// `root.f`
    Field,
    /// A bare name.
    Name,
}

/// A phrase of an expression, split into its parts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parts {
    pub shape: Shape,
    /// The part before the dot; empty if there is none.
    pub root: &'static str,
    pub name: &'static str,
    pub arguments: Vec<&'static str>,
}

impl Phrase {
    /// Splits a phrase of an expression into its parts.
    #[must_use]
    pub fn parts(&self) -> Parts {
        let (head, arguments) = match self.wrong.split_once('(') {
            Some((head, rest)) => {
                let inside = rest.trim_end_matches(')');
                (
                    head,
                    Some(
                        inside
                            .split(", ")
                            .filter(|argument| !argument.is_empty())
                            .collect(),
                    ),
                )
            }
            None => (self.wrong, None),
        };
        let (root, name) = head.rsplit_once('.').unwrap_or(("", head));
        let shape = match &arguments {
            Some(_) => Shape::Call,
            None if root.is_empty() => Shape::Name,
            None => Shape::Field,
        };
        Parts {
            shape,
            root,
            name,
            arguments: arguments.unwrap_or_default(),
        }
    }

    /// Returns the help text; `right` is the counterpart with the author's own values, if they are known.
    #[must_use]
    pub fn help(&self, right: Option<&str>) -> String {
        let right = right.unwrap_or(self.right);
        match (right, self.note) {
            ("", note) => note.to_owned(),
            (right, "") => format!("write `{right}`"),
            (right, note) => format!("write `{right}`: {note}"),
        }
    }
}

/// The placeholders that receivers of methods have in phrases.
pub const RECEIVERS: [&str; 6] = ["s", "xs", "m", "c", "n", "x"];

/// Returns the phrases with this shape, root and name. A root is the placeholder of a receiver, an object of another
/// language, or empty.
pub fn phrases(
    shape: Shape,
    root: &str,
    name: &str,
) -> impl Iterator<Item = (&'static Phrase, Parts)> {
    let fits =
        move |parts: &Parts| parts.shape == shape && parts.name == name && parts.root == root;
    EXPRESSIONS
        .iter()
        .map(|phrase| (phrase, phrase.parts()))
        .filter(move |(_, parts)| fits(parts))
}

/// Returns true if the name is an object of another language that is the root of a phrase.
#[must_use]
pub fn is_root(name: &str) -> bool {
    !RECEIVERS.contains(&name) && EXPRESSIONS.iter().any(|phrase| phrase.parts().root == name)
}

/// Names under which other languages keep the result of a step.
pub const RESULTS: [&str; 9] = [
    "output", "outputs", "result", "results", "value", "data", "body", "response", "return",
];
/// Names under which other languages keep steps and inputs.
pub const CONTEXTS: [&str; 12] = [
    "steps",
    "step",
    "inputs",
    "input",
    "params",
    "parameters",
    "args",
    "arguments",
    "vars",
    "variables",
    "outputs",
    "context",
];

/// Returns true if the name means null, in plans or in another language.
#[must_use]
pub fn is_null(name: &str) -> bool {
    name == "null" || phrases(Shape::Name, "", name).any(|(phrase, _)| phrase.right == "null")
}

/// Returns the phrase that begins with the word.
#[must_use]
pub fn word(table: &'static [Phrase], word: &str) -> Option<&'static Phrase> {
    table
        .iter()
        .find(|phrase| phrase.wrong.split([' ', '(', '.', ':']).next() == Some(word))
}

/// Returns the phrase for a setting of a group.
#[must_use]
pub fn setting(group: &str, name: &str) -> Option<&'static Phrase> {
    SETTINGS
        .iter()
        .find(|phrase| phrase.wrong.split_once('.') == Some((group, name)))
}

/// Replaces every occurrence of the placeholders in a counterpart by the author's own text.
#[must_use]
pub fn fill(right: &str, values: &[(&str, String)]) -> String {
    let mut filled = String::new();
    let mut rest = right;
    while let Some(first) = rest.chars().next() {
        let end = rest
            .find(|c: char| !(c.is_alphanumeric() || c == '_'))
            .unwrap_or(rest.len());
        let end = if end == 0 { first.len_utf8() } else { end };
        let (word, behind) = rest.split_at(end);
        let member = filled.ends_with('.');
        match values.iter().find(|(name, _)| *name == word && !member) {
            Some((_, value)) => filled.push_str(value),
            None => filled.push_str(word),
        }
        rest = behind;
    }
    filled
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn phrases_are_taken_apart() {
        let parts = |wrong: &'static str| {
            let phrase = Phrase {
                wrong,
                right: "",
                certainty: Certainty::Advice,
                note: "x",
            };
            phrase.parts()
        };
        let call = Parts {
            shape: Shape::Call,
            root: "Math",
            name: "max",
            arguments: vec!["a", "b"],
        };
        assert_eq!(parts("Math.max(a, b)"), call);
        assert_eq!(
            parts("xs.length"),
            Parts {
                shape: Shape::Field,
                root: "xs",
                name: "length",
                arguments: vec![]
            }
        );
        assert_eq!(
            parts("None"),
            Parts {
                shape: Shape::Name,
                root: "",
                name: "None",
                arguments: vec![]
            }
        );
    }

    #[test]
    fn the_author_s_values_take_the_place_of_names() {
        let values = [("xs", "a.xs".to_owned()), ("x", "1".to_owned())];
        assert_eq!(fill("xs + [x]", &values), "a.xs + [1]");
        assert_eq!(
            fill("e.x + \"xs\"", &[("x", "y".to_owned())]),
            "e.x + \"xs\""
        );
    }

    #[test]
    fn no_phrase_is_said_twice_and_each_says_something() {
        let mut seen = BTreeSet::new();
        let tables = [EXPRESSIONS, STATEMENTS, CLAUSES, ITEMS, TYPES, MARKS];
        for (index, phrase) in tables
            .iter()
            .enumerate()
            .flat_map(|(index, table)| table.iter().map(move |one| (index, one)))
        {
            assert!(seen.insert((index, phrase.wrong)), "{phrase:?}");
            assert!(!phrase.help(None).is_empty(), "{phrase:?}");
            assert!(
                phrase.certainty == Certainty::Advice || !phrase.right.is_empty(),
                "{phrase:?}"
            );
        }
    }
}
