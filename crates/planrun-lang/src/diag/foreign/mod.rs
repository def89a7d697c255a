//! Words of other languages: what an author writes out of habit, and how it is said here.

/// A table of phrases. Each row says how sure it is, the counterpart with a note where there is more to say, and then the phrases.
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
pub use words::{CLAUSES, ITEMS, MARKS, STATEMENTS, TYPES};

/// How sure it is that a phrase means its counterpart here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Certainty {
    /// It can mean nothing else, so the fix is safe.
    Certain,
    /// It means nearly that, so the fix is not safe.
    Near,
    /// It has to be written in another way, which nobody can do for the author.
    Told,
}

/// A phrase of another language and the same in plans.
///
/// In expressions, names stand for what the author wrote: `s` a text, `xs` and `ys` lists, `m` a map, `c` a text, a list or a map,
/// `n` a number, `x` anything behind a point and a variable in a macro, `e` an expression over it, and others for any argument.
#[derive(Debug)]
pub struct Phrase {
    pub wrong: &'static str,
    /// Empty where nothing says the same; then the note tells what to do. `…` stands for what the author fills in.
    pub right: &'static str,
    pub certainty: Certainty,
    /// What there is to say beyond that; empty where nothing is.
    pub note: &'static str,
}

/// What a phrase of an expression looks like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// `f(a, b)` or `root.f(a, b)`
    Call,
    /// `root.f`
    Field,
    /// A bare name.
    Name,
}

/// A phrase of an expression, taken apart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parts {
    pub shape: Shape,
    /// What stands before the point; empty where there is none.
    pub root: &'static str,
    pub name: &'static str,
    pub arguments: Vec<&'static str>,
}

impl Phrase {
    /// The parts of a phrase of an expression.
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

    /// The remedy in words; `right` is its counterpart with the author's own values, where they are known.
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

/// What a name stands for in phrases, by its first letter behind a point.
pub const RECEIVERS: [&str; 6] = ["s", "xs", "m", "c", "n", "x"];

/// The phrases of a shape with a name, hanging from `root`: a receiver or the name of an object of another language.
pub fn phrases(
    shape: Shape,
    root: &str,
    name: &str,
) -> impl Iterator<Item = (&'static Phrase, Parts)> {
    let wanted =
        move |parts: &Parts| parts.shape == shape && parts.name == name && parts.root == root;
    EXPRESSIONS
        .iter()
        .map(|phrase| (phrase, phrase.parts()))
        .filter(move |(_, parts)| wanted(parts))
}

/// Whether some phrase hangs from this name, which is an object of another language then.
#[must_use]
pub fn is_root(name: &str) -> bool {
    !RECEIVERS.contains(&name) && EXPRESSIONS.iter().any(|phrase| phrase.parts().root == name)
}

/// What holds the result of a step elsewhere.
pub const RESULTS: [&str; 9] = [
    "output", "outputs", "result", "results", "value", "data", "body", "response", "return",
];
/// What holds steps and inputs elsewhere.
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

/// Whether a name is that of no value, here or in another language.
#[must_use]
pub fn is_null(name: &str) -> bool {
    name == "null" || phrases(Shape::Name, "", name).any(|(phrase, _)| phrase.right == "null")
}

/// The phrase that begins with a word.
#[must_use]
pub fn word(table: &'static [Phrase], word: &str) -> Option<&'static Phrase> {
    table
        .iter()
        .find(|phrase| phrase.wrong.split([' ', '(', '.', ':']).next() == Some(word))
}

/// The counterpart with the author's own text in place of the names that stand for it, each whole word once or more.
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
                certainty: Certainty::Told,
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
                phrase.certainty == Certainty::Told || !phrase.right.is_empty(),
                "{phrase:?}"
            );
        }
    }
}
