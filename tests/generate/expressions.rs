//! Writes expressions of a requested type: reads, operations, and fallbacks for absent values.

use std::fmt::Write as _;
use std::rc::Rc;

use super::plan::Writer;
use super::readable::{Readable, mark, readables};
use super::scope::Kind;
use super::ty::{Object, Ty};
use super::words;

/// An expression, and the precedence of its outermost operator.
#[derive(Clone, Debug)]
pub struct Text {
    pub text: String,
    pub level: Level,
}

/// Operator precedence, loosest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Choice,
    Or,
    And,
    Compare,
    Coalesce,
    Sum,
    Product,
    Unary,
    Primary,
}

impl Text {
    pub fn new(text: impl Into<String>, level: Level) -> Self {
        Self {
            text: text.into(),
            level,
        }
    }

    pub fn primary(text: impl Into<String>) -> Self {
        Self::new(text, Level::Primary)
    }

    /// Returns the text for a place that requires at least this precedence, in parentheses if necessary.
    pub fn at(&self, level: Level) -> String {
        if self.level < level {
            format!("({})", self.text)
        } else {
            self.text.clone()
        }
    }
}

impl Writer<'_> {
    /// Returns every path that can be read here.
    pub fn readables(&mut self) -> Rc<Vec<Readable>> {
        Rc::new(readables(&self.scope))
    }

    /// Reads a path.
    pub fn read(&mut self, readable: &Readable) -> Text {
        mark(&self.scope, readable);
        Text::primary(readable.text.clone())
    }

    /// Writes a value whose type the checker knows exactly, preferably one that is not constant.
    pub fn made(&mut self, ty: &Ty, depth: usize) -> Text {
        let paths = self.readables();
        let fitting: Vec<&Readable> = paths
            .iter()
            .filter(|path| path.exact && path.ty.fits(ty))
            .collect();
        if !fitting.is_empty() && !self.dice.one_in(3) {
            let path = (*self.dice.pick(&fitting)).clone();
            return self.read(&path);
        }
        self.value(ty, depth)
    }

    /// Writes a value of a type.
    pub fn value(&mut self, ty: &Ty, depth: usize) -> Text {
        let paths = self.readables();
        let fitting: Vec<&Readable> = paths.iter().filter(|path| path.ty.fits(ty)).collect();
        if !fitting.is_empty() && self.dice.below(10) < 5 {
            let path = (*self.dice.pick(&fitting)).clone();
            return self.read(&path);
        }
        let absent = |path: &&Readable| matches!(&path.ty, Ty::Opt(inner) if inner.fits(ty));
        let absent: Vec<&Readable> = paths.iter().filter(absent).collect();
        if !absent.is_empty() && depth > 0 && self.dice.one_in(3) {
            let path = (*self.dice.pick(&absent)).clone();
            return self.with_fallback(&path, ty, depth - 1);
        }
        if depth > 0 {
            if self.dice.one_in(10) {
                return self.choice(ty, depth - 1);
            }
            if self.dice.one_in(3)
                && let Some(text) = self.inside_list(ty, &paths, depth - 1)
            {
                return text;
            }
            if let Some(text) = self.operation(ty, depth - 1) {
                return text;
            }
        }
        self.constant(ty, depth.saturating_sub(1))
    }

    /// Writes a value to compare with `one` that is not the same expression.
    pub fn unlike(&mut self, one: &Text, ty: &Ty, depth: usize) -> Text {
        let other = self.value(ty, depth);
        if other.text != one.text {
            return other;
        }
        let more = if matches!(ty, Ty::Time | Ty::Span) {
            "1s"
        } else {
            "1"
        };
        Text::new(format!("{} + {more}", other.at(Level::Sum)), Level::Sum)
    }

    /// Writes an optional path with a fallback.
    fn with_fallback(&mut self, path: &Readable, ty: &Ty, depth: usize) -> Text {
        let there = path.text.replace("?.", ".");
        let read = self.read(path).text;
        // Where the fallback is evaluated, the path is known to be absent.
        let known = self.scope.mark();
        self.scope.hide(&path.text);
        // The negated condition that guards the path may also be known there.
        for condition in self.scope.variables[path.variable].guard.clone() {
            self.mark_tested(&condition, None);
        }
        let other = self.value(ty, depth);
        self.scope.forget(known);
        match self.dice.below(5) {
            0 => Text::new(
                format!("{read} != null ? {there} : {}", other.at(Level::Choice)),
                Level::Choice,
            ),
            1 => Text::new(
                format!("{read} == null ? {} : {there}", other.at(Level::Or)),
                Level::Choice,
            ),
            2 if path.missing_only => Text::new(
                format!("has({read}) ? {there} : {}", other.at(Level::Choice)),
                Level::Choice,
            ),
            3 if matches!(path.ty.present(), Ty::Str | Ty::Int | Ty::Words(_))
                && !path.text.contains("?.") =>
            {
                Text::primary(format!(
                    "match {read} {{ null => {}, _ => {there} }}",
                    other.text
                ))
            }
            _ => Text::new(
                format!("{read} ?? {}", other.at(Level::Coalesce)),
                Level::Coalesce,
            ),
        }
    }

    /// Writes a choice between two or more values.
    fn choice(&mut self, ty: &Ty, depth: usize) -> Text {
        let paths = self.readables();
        let subject = paths
            .iter()
            .find(|path| path.exact && matches!(&path.ty, Ty::Words(_)));
        if self.dice.one_in(3)
            && let Some(subject) = subject.cloned()
            && let Ty::Words(words) = subject.ty.clone()
        {
            let read = self.read(&subject).text;
            let known = self.scope.mark();
            self.scope.hide(&subject.text);
            let mut arms = Vec::new();
            let (first, rest) = words.split_first().unwrap();
            let value = self.value(ty, depth).text;
            arms.push(format!("\"{first}\" => {value}"));
            let value = self.value(ty, depth).text;
            let rest = rest
                .iter()
                .map(|word| format!("\"{word}\""))
                .collect::<Vec<_>>()
                .join(" | ");
            let rest = if self.dice.one_in(2) {
                "_".to_owned()
            } else {
                rest
            };
            arms.push(format!("{rest} => {value}"));
            self.scope.forget(known);
            return Text::primary(format!("match {read} {{ {} }}", arms.join(", ")));
        }
        let Some(condition) = self.condition(depth) else {
            return self.constant(ty, depth);
        };
        let known = self.scope.mark();
        self.scope.hold(&condition.text);
        self.mark_tested(&condition.text, None);
        let one = self.value(ty, depth);
        self.scope.forget(known);
        self.mark_tested(&condition.text, None);
        let other = self.value(ty, depth);
        self.scope.forget(known);
        let text = format!(
            "{} ? {} : {}",
            condition.at(Level::Or),
            one.at(Level::Or),
            other.at(Level::Choice)
        );
        Text::new(text, Level::Choice)
    }

    /// Writes an element of a list, or a field of one.
    fn inside_list(&mut self, ty: &Ty, paths: &[Readable], depth: usize) -> Option<Text> {
        let mut found: Vec<(Readable, String)> = Vec::new();
        for path in paths {
            let Ty::List(element) = &path.ty else {
                continue;
            };
            if element.fits(ty) {
                found.push((path.clone(), String::new()));
            }
            if let Ty::Object(object) = &**element {
                let fields = object
                    .fields
                    .iter()
                    .filter(|field| field.required && field.ty.fits(ty));
                found.extend(fields.map(|field| (path.clone(), format!(".{}", field.name))));
            }
        }
        if found.is_empty() {
            return None;
        }
        let (path, link) = self.dice.pick(&found).clone();
        let list = self.read(&path).text;
        let other = self.value(ty, depth);
        Some(match self.dice.below(3) {
            0 => Text::new(
                format!("{list}[0]{link} ?? {}", other.at(Level::Coalesce)),
                Level::Coalesce,
            ),
            _ => Text::new(
                format!(
                    "size({list}) > 0 ? {list}[0]{link} : {}",
                    other.at(Level::Choice)
                ),
                Level::Choice,
            ),
        })
    }

    /// Writes a literal, or a value made of literals.
    pub fn constant(&mut self, ty: &Ty, depth: usize) -> Text {
        Text::primary(match ty {
            Ty::Mix if self.dice.one_in(2) => return self.constant(&Ty::Int, depth),
            Ty::Str | Ty::Mix => return self.text_literal(),
            Ty::Words(words) => format!("\"{}\"", self.dice.pick(words)),
            Ty::Int if self.dice.one_in(12) => {
                return Text::new(format!("-{}", self.dice.between(1, 99)), Level::Unary);
            }
            Ty::Int => format!("{}", self.dice.below(100)),
            Ty::Double if self.dice.one_in(8) => "1.5e+3".to_owned(),
            Ty::Double => format!(
                "{}.{}",
                self.dice.below(100),
                self.dice.pick(&["0", "5", "25", "125"])
            ),
            Ty::Bool => if self.dice.one_in(2) { "true" } else { "false" }.to_owned(),
            Ty::Time => "timestamp(\"2026-01-31T09:00:00+01:00\")".to_owned(),
            Ty::Span => words::duration(self.dice).to_owned(),
            Ty::List(element) => {
                let count = if depth == 0 {
                    self.dice.below(2)
                } else {
                    self.dice.below(4)
                };
                let elements: Vec<String> = (0..count)
                    .map(|_| self.value(element, depth.saturating_sub(1)).text)
                    .collect();
                format!("[{}]", elements.join(", "))
            }
            Ty::Map(value) => {
                let mut entries = Vec::new();
                for key in ["a", "`b c`", "(\"d\" + \"e\")"]
                    .iter()
                    .take(self.dice.below(3))
                {
                    entries.push(format!(
                        "{key}: {}",
                        self.value(value, depth.saturating_sub(1)).text
                    ));
                }
                braced(&entries)
            }
            Ty::Object(object) => return self.object_literal(object, depth),
            Ty::Opt(inner) => {
                if self.dice.one_in(3) {
                    "null".to_owned()
                } else {
                    return self.constant(inner, depth);
                }
            }
            Ty::Result(_) | Ty::Error => unreachable!("nobody wants an error to be made"),
        })
    }

    fn object_literal(&mut self, object: &Object, depth: usize) -> Text {
        let mut entries = Vec::new();
        for field in &object.fields {
            if field.required || self.dice.one_in(2) {
                let value = self.value(&field.ty, depth.saturating_sub(1)).text;
                let name = if self.dice.one_in(16) {
                    format!("`{}`", field.name)
                } else {
                    field.name.to_owned()
                };
                entries.push(format!("{name}: {value}"));
            }
        }
        Text::primary(braced(&entries))
    }

    fn text_literal(&mut self) -> Text {
        let text = words::text(self.dice);
        Text::primary(match self.dice.below(16) {
            0 if !text.contains('\\') => format!("'{text}'"),
            1 if !text.contains('\\') => format!("r\"{text}\""),
            _ => format!("\"{text}\""),
        })
    }

    /// Writes a string with interpolated values.
    pub fn template(&mut self, depth: usize) -> Text {
        let paths = self.readables();
        let scalars: Vec<&Readable> = paths.iter().filter(|path| path.ty.is_scalar()).collect();
        let mut inside = words::text(self.dice).to_owned();
        for _ in 0..self.dice.between(1, 3) {
            let piece = if scalars.is_empty() || self.dice.one_in(4) {
                let ty = self.dice.pick(&[Ty::Str, Ty::Int, Ty::Double]).clone();
                self.value(&ty, depth).text
            } else {
                let path = (*self.dice.pick(&scalars)).clone();
                self.read(&path).text
            };
            write!(inside, " ${{{piece}}}{}", words::text(self.dice)).unwrap();
        }
        if self.dice.one_in(10) {
            let indent = "    ".repeat(self.indent + 2);
            return Text::primary(format!(
                "\"\"\"\n{indent}{inside}\n{indent}  and more\n{indent}\"\"\""
            ));
        }
        Text::primary(format!("\"{inside}\""))
    }

    /// Writes a scalar that reads a name, with its type: used for names that nothing else has read.
    pub fn consumed(&mut self, name: &str) -> (Text, Ty) {
        let paths = self.readables();
        let prefix = |path: &Readable| {
            let rest = path.text.strip_prefix(name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '?']))
        };
        let own: Vec<&Readable> = paths
            .iter()
            .filter(|path| path.exact && prefix(path) && path.ty.is_scalar())
            .collect();
        if !own.is_empty() {
            let path = (*self.dice.pick(&own)).clone();
            return (self.read(&path), path.ty);
        }
        let whole = paths.iter().find(|path| path.text == name).cloned();
        let Some(whole) = whole else {
            return (
                Text::new(format!("{name} != null"), Level::Compare),
                Ty::Bool,
            );
        };
        let read = self.read(&whole).text;
        let race = self
            .scope
            .variables
            .iter()
            .find(|known| known.name == name)
            .map(|known| known.kind.clone());
        match (&whole.ty, race) {
            (Ty::Opt(_), _) => (Text::primary(format!("json({read})")), Ty::Str),
            (_, Some(Kind::Race(_))) => (Text::primary(format!("winner({read})")), Ty::Str),
            (Ty::List(_) | Ty::Map(_), _) => (Text::primary(format!("size({read})")), Ty::Int),
            _ => (Text::primary(format!("json({read})")), Ty::Str),
        }
    }
}

/// Formats an object literal.
pub fn braced(entries: &[String]) -> String {
    if entries.is_empty() {
        "{}".to_owned()
    } else {
        format!("{{ {} }}", entries.join(", "))
    }
}
