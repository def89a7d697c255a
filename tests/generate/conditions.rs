//! Writes conditions that are never constant, together with the path that each proves to be present.

use std::rc::Rc;

use super::expressions::{Level, Text};
use super::plan::Writer;
use super::readable::Readable;
use super::scope::Kind;
use super::ty::Ty;

/// A condition and the path that it proves to be present, if any.
pub struct Guard {
    pub text: Text,
    pub proves: Option<String>,
}

impl Writer<'_> {
    /// Writes a condition. `None` if there is nothing to test.
    pub fn condition(&mut self, depth: usize) -> Option<Text> {
        if depth > 0 && self.dice.one_in(4) {
            return self.joined(depth - 1);
        }
        if let Some(state) = self.about_state() {
            return Some(state);
        }
        let paths = self.readables();
        let asked: Vec<&Readable> = paths
            .iter()
            .filter(|path| may_be_asked(path) && !self.scope.is_tested(&path.text))
            .collect();
        if asked.is_empty() {
            return None;
        }
        let path = (*self.dice.pick(&asked)).clone();
        Some(self.about(&path, depth))
    }

    /// Writes a condition for a guard. Half of the time it tests that a path is present.
    pub fn guard(&mut self) -> Option<Guard> {
        let paths = self.readables();
        let absent = |path: &&Readable| {
            matches!(path.ty, Ty::Opt(_))
                && !path.constant
                && !path.text.contains("?.")
                && !self.scope.is_tested(&path.text)
        };
        let absent: Vec<&Readable> = paths.iter().filter(absent).collect();
        if absent.is_empty() || self.dice.one_in(2) {
            return self.condition(1).map(|text| Guard { text, proves: None });
        }
        let path = (*self.dice.pick(&absent)).clone();
        let read = self.read(&path).text;
        let presence = if path.missing_only && self.dice.one_in(2) {
            Text::primary(format!("has({read})"))
        } else {
            Text::new(format!("{read} != null"), Level::Compare)
        };
        if self.dice.one_in(3)
            && let Some(more) = self.further(&presence.text, Some(&path.text), 0)
        {
            let text = format!(
                "{} && {}",
                presence.at(Level::Compare),
                more.at(Level::Compare)
            );
            return Some(Guard {
                text: Text::new(text, Level::And),
                proves: Some(path.text),
            });
        }
        Some(Guard {
            text: presence,
            proves: Some(path.text),
        })
    }

    /// Writes a condition about an element of a list. `name` is the name of the element.
    pub fn element_condition(&mut self, name: &str, ty: &Ty, depth: usize) -> Option<String> {
        let known = self.scope.mark();
        self.scope.add_made(name, ty.clone(), Kind::Local, false);
        let paths = self.readables();
        let own = |path: &&Readable| {
            may_be_asked(path) && (path.text == name || path.text.starts_with(&format!("{name}.")))
        };
        let own: Vec<&Readable> = paths.iter().filter(own).collect();
        let text = if own.is_empty() {
            None
        } else {
            let path = (*self.dice.pick(&own)).clone();
            Some(self.about(&path, depth).text)
        };
        self.scope.close(known);
        text
    }

    fn joined(&mut self, depth: usize) -> Option<Text> {
        let paths = self.readables();
        let absent = |path: &&Readable| {
            matches!(&path.ty, Ty::Opt(inner) if askable(inner))
                && path.exact
                && !path.constant
                && !path.text.contains("?.")
                && !self.scope.is_tested(&path.text)
        };
        let absent: Vec<&Readable> = paths.iter().filter(absent).collect();
        if !absent.is_empty() && self.dice.one_in(2) {
            // The left side proves that the path is present on the right side.
            let path = (*self.dice.pick(&absent)).clone();
            let read = self.read(&path).text;
            let there = Readable {
                ty: path.ty.present(),
                missing_only: false,
                ..path
            };
            let known = self.scope.mark();
            self.mark_tested(&format!("{read} != null"), Some(&there.text));
            let inner = self.about(&there, depth);
            self.scope.forget(known);
            return Some(if self.dice.one_in(2) {
                Text::new(
                    format!("{read} != null && {}", inner.at(Level::Compare)),
                    Level::And,
                )
            } else {
                Text::new(
                    format!("{read} == null || {}", inner.at(Level::And)),
                    Level::Or,
                )
            });
        }
        let one = self.condition(depth)?;
        if self.dice.one_in(3) {
            return Some(Text::new(format!("!({})", one.text), Level::Unary));
        }
        let Some(other) = self.further(&one.text, None, depth) else {
            return Some(one);
        };
        Some(match self.dice.below(2) {
            0 => Text::new(
                format!("{} || {}", one.at(Level::And), other.at(Level::And)),
                Level::Or,
            ),
            _ => Text::new(
                format!("{} && {}", one.at(Level::Compare), other.at(Level::Compare)),
                Level::And,
            ),
        })
    }

    /// Writes a condition to combine with `first`. It tests other paths.
    fn further(&mut self, first: &str, proves: Option<&str>, depth: usize) -> Option<Text> {
        let known = self.scope.mark();
        self.mark_tested(first, proves);
        let condition = self.condition(depth);
        self.scope.forget(known);
        condition
    }

    /// Writes a test of a path.
    fn about(&mut self, path: &Readable, depth: usize) -> Text {
        let whole = self.read(path);
        let read = whole.text.clone();
        let compare = |text: String| Text::new(text, Level::Compare);
        match &path.ty {
            Ty::Bool if self.dice.one_in(2) => Text::new(format!("!{read}"), Level::Unary),
            Ty::Bool => Text::primary(read),
            Ty::Int | Ty::Double => {
                let sign = *self.dice.pick(&["<", "<=", ">", ">="]);
                let other = self
                    .unlike(&whole, &path.ty, depth.min(1))
                    .at(Level::Coalesce);
                compare(format!("{read} {sign} {other}"))
            }
            Ty::Words(words) if path.exact => {
                let word = *self.dice.pick(words);
                match self.dice.below(3) {
                    0 => compare(format!("{read} != \"{word}\"")),
                    1 => compare(format!("{read} in [\"{word}\", \"{}\"]", words[0])),
                    _ => compare(format!("{read} == \"{word}\"")),
                }
            }
            Ty::Str | Ty::Words(_) => self.about_text(&read, path.exact && path.ty == Ty::Str),
            Ty::Time => compare(format!(
                "{read} < {}",
                self.unlike(&whole, &Ty::Time, 0).at(Level::Sum)
            )),
            Ty::Span => compare(format!(
                "{read} > {}",
                self.unlike(&whole, &Ty::Span, 0).at(Level::Sum)
            )),
            Ty::Mix => compare(format!("type({read}) == int")),
            Ty::List(element) => self.about_list(&read, element, depth),
            Ty::Map(_) if self.dice.one_in(2) => compare(format!("\"a\" in {read}")),
            Ty::Map(_) => compare(format!("size({read}) > {}", self.dice.below(3))),
            Ty::Opt(_) if path.missing_only && self.dice.one_in(3) => {
                Text::primary(format!("has({read})"))
            }
            Ty::Opt(_) => compare(format!("{read} {} null", self.dice.pick(&["==", "!="]))),
            Ty::Result(_) => Text::primary(format!("{read}.ok")),
            Ty::Error if self.dice.one_in(3) => Text::primary(format!("has({read}.details)")),
            Ty::Error => Text::primary(format!("{read}.retryable")),
            Ty::Object(_) => compare(format!("size(json({read})) > {}", self.dice.between(2, 40))),
        }
    }

    fn about_text(&mut self, read: &str, exact: bool) -> Text {
        let word = *self.dice.pick(&["a", "x@", "WZ", "名"]);
        Text::primary(match self.dice.below(7) {
            0 => format!("{read}.startsWith(\"{word}\")"),
            1 => format!("{read}.endsWith(\"{word}\")"),
            2 => format!("{read}.contains(\"{word}\")"),
            3 => format!("{read}.matches(\"^[a-z]+[0-9]*$\")"),
            4 if exact => return Text::new(format!("{read} == \"{word}\""), Level::Compare),
            5 if exact => {
                return Text::new(format!("{read} in [\"{word}\", \"b\"]"), Level::Compare);
            }
            _ => {
                return Text::new(
                    format!("size({read}) > {}", self.dice.below(9)),
                    Level::Compare,
                );
            }
        })
    }

    fn about_list(&mut self, read: &str, element: &Rc<Ty>, depth: usize) -> Text {
        if depth > 0 && !self.dice.one_in(3) {
            let name = self.names.value(self.dice);
            if let Some(inner) = self.element_condition(&name, element, depth - 1) {
                let macro_name = *self.dice.pick(&["exists", "all", "exists_one"]);
                return Text::primary(format!("{read}.{macro_name}({name}, {inner})"));
            }
        }
        let sign = *self.dice.pick(&[">", "<", "==", "!="]);
        Text::new(
            format!("size({read}) {sign} {}", self.dice.below(4)),
            Level::Compare,
        )
    }
}

fn may_be_asked(path: &Readable) -> bool {
    !path.constant && (askable(&path.ty) || matches!(path.ty, Ty::Opt(_)))
}

fn askable(ty: &Ty) -> bool {
    !matches!(ty, Ty::Opt(_))
}
