//! Reads the objects of the JSON form and reports unknown, missing, repeated and mistyped keys.

use std::sync::Arc;

use jsonc_parser::ast::{Object, ObjectPropName, Value};

use super::document::span;
use super::shapes::{Choice, Key, Shape, Slot, Under, Word};
use super::strings::{Extract, content};
use crate::characters::{is_invisible, is_plain_word};
use crate::diag::Diagnostic;
use crate::diag::codes::text as codes;
use crate::source::Span;
use crate::syntax::ast::{Expr, ExprKind, Name};
use crate::syntax::place::Place;

/// The key that distinguishes shapes.
const KIND: &str = "kind";

/// Reads one file in JSON form.
pub(super) struct Reader<'t> {
    pub text: &'t str,
    pub diagnostics: Vec<Diagnostic>,
    /// Number of enclosing bodies.
    pub blocks: usize,
    /// The kind of the innermost enclosing body.
    pub place: Place,
}

/// An object whose keys have been checked.
pub(super) struct Fields<'v> {
    pub shape: &'static Shape,
    pub span: Span,
    /// The span of its `kind`, or of its opening bracket if it has none.
    pub kind: Span,
    found: Vec<(&'static str, &'v Value<'v>)>,
}

impl<'v> Fields<'v> {
    pub fn get(&self, name: &str) -> Option<&'v Value<'v>> {
        self.found
            .iter()
            .find(|(key, _)| *key == name)
            .map(|(_, value)| *value)
    }

    /// Returns the span of a key's value; that of the whole object if the key is left out.
    pub fn place(&self, name: &str) -> Span {
        self.get(name).map_or(self.span, span)
    }
}

impl<'t> Reader<'t> {
    pub fn new(text: &'t str) -> Self {
        Self {
            text,
            diagnostics: Vec::new(),
            blocks: 0,
            place: Place::Unknown,
        }
    }

    /// Reads the value as an object of this shape. Returns `None`, after reporting it, if it is not an object.
    pub fn fields<'v>(
        &mut self,
        value: &'v Value<'v>,
        shape: &'static Shape,
    ) -> Option<Fields<'v>> {
        let Value::Object(object) = value else {
            self.mistyped(value, shape.called, "an object");
            return None;
        };
        Some(self.checked(object, shape, false))
    }

    /// Reads the value as an object of one of several shapes. Returns `None`, after reporting it, if it is none of
    /// them.
    pub fn choice<'v>(&mut self, value: &'v Value<'v>, choice: Choice) -> Option<Fields<'v>> {
        let kinds = || choice.shapes().iter().map(|shape| shape.kind);
        let Value::Object(object) = value else {
            self.mistyped(value, choice.called(), "an object");
            return None;
        };
        let Some(property) = object
            .properties
            .iter()
            .find(|property| key_of(&property.name) == KIND)
        else {
            let place = opening(span(object));
            let message = format!("{} requires the key `kind`", choice.called());
            let finding = codes::JSON_SHAPE.at(place, message).available(kinds());
            self.report(finding.help(format!(
                "write `\"kind\": \"{}\"`",
                kinds().next().unwrap_or("")
            )));
            return None;
        };
        let Value::StringLit(kind) = &property.value else {
            self.mistyped(&property.value, "`kind`", "a string");
            return None;
        };
        if let Some(shape) = choice.shape(&kind.value) {
            return Some(self.checked(object, shape, true));
        }
        let place = content(span(kind));
        let message = format!(
            "there is no kind `{}` of {}",
            kind.value,
            bare(choice.called())
        );
        let finding = codes::JSON_SHAPE.at(place, message).available(kinds());
        self.report(finding.suggest(&kind.value, kinds(), "use one of the available kinds"));
        None
    }

    fn checked<'v>(
        &mut self,
        object: &'v Object<'v>,
        shape: &'static Shape,
        has_kind: bool,
    ) -> Fields<'v> {
        let mut found: Vec<(&'static str, &'v Value<'v>)> = Vec::new();
        let mut seen: Vec<(&str, Span)> = Vec::new();
        for property in &object.properties {
            let (name, place) = (key_of(&property.name), content(name_span(&property.name)));
            if let Some((_, first)) = seen.iter().find(|(other, _)| *other == name) {
                self.repeated(name, place, *first);
                continue;
            }
            seen.push((name, place));
            if has_kind && name == KIND {
                continue;
            }
            match shape.all_keys().find(|key| key.name == name) {
                None => self.unknown_key(name, place, shape),
                // A key that is null counts as left out.
                Some(_) if matches!(property.value, Value::NullKeyword(_)) => {}
                Some(key) => found.push((key.name, &property.value)),
            }
        }
        let kind = object
            .properties
            .iter()
            .find(|property| has_kind && key_of(&property.name) == KIND);
        let kind = kind.map_or_else(
            || opening(span(object)),
            |property| content(span(&property.value)),
        );
        let fields = Fields {
            shape,
            span: span(object),
            kind,
            found,
        };
        for key in shape
            .all_keys()
            .filter(|key| key.required && fields.get(key.name).is_none())
        {
            self.missing_key(key, shape, object);
        }
        for key in shape.all_keys().filter(|key| key.has_elements()) {
            if let Some(Value::Array(list)) = fields.get(key.name)
                && list.elements.is_empty()
            {
                let message = format!("`{}` of {} must not be empty", key.name, shape.called);
                let finding = codes::JSON_SHAPE.at(opening(span(list)), message);
                self.report(finding.help("add an element, or remove the object"));
            }
        }
        fields
    }

    fn unknown_key(&mut self, name: &str, place: Span, shape: &Shape) {
        let names = || shape.all_keys().map(|key| key.name);
        let message = format!("{} has no key `{name}`", shape.called);
        let finding = codes::JSON_SHAPE.at(place, message).available(names());
        let otherwise = "remove it; `planrun schema` lists the valid keys";
        self.report(finding.suggest(name, names(), otherwise));
    }

    fn missing_key(&mut self, key: &Key, shape: &Shape, object: &Object<'_>) {
        let null = object
            .properties
            .iter()
            .find(|property| key_of(&property.name) == key.name);
        let place = null.map_or_else(|| opening(span(object)), |property| span(&property.value));
        let (message, help) = match (null, key.slot) {
            (Some(_), Slot::Value | Slot::Message) => (
                format!(
                    "`{}` is null, which counts as omitted, but {} requires it",
                    key.name, shape.called
                ),
                "write the expression `\"null\"` for the value null".to_owned(),
            ),
            (Some(_), _) => (
                format!(
                    "`{}` is null, which counts as omitted, but {} requires it",
                    key.name, shape.called
                ),
                format!("write {}", expected_value(key.slot)),
            ),
            (None, _) => (
                format!("{} requires the key `{}`", shape.called, key.name),
                format!("add `\"{}\"`: {}", key.name, expected_value(key.slot)),
            ),
        };
        self.report(codes::JSON_SHAPE.at(place, message).help(help));
    }

    pub fn report(&mut self, finding: Diagnostic) {
        self.diagnostics.push(finding);
    }

    /// Reports a key that occurs twice in an object.
    pub fn repeated(&mut self, name: &str, place: Span, first: Span) {
        self.report(
            codes::DUPLICATE_FIELD
                .at(place, format!("the key `{name}` is given twice"))
                .label(first, "first given here")
                .help(format!("keep one `{name}`")),
        );
    }

    /// Reports a value of the wrong type.
    pub fn mistyped(&mut self, value: &Value<'_>, what: &str, expected: &str) {
        let (message, found) = (format!("{what} must be {expected}"), json_type(value));
        let place = match value {
            Value::Object(_) | Value::Array(_) => opening(span(value)),
            Value::StringLit(_)
            | Value::NumberLit(_)
            | Value::BooleanLit(_)
            | Value::NullKeyword(_) => span(value),
        };
        let help = format!("write {expected}");
        self.report(
            codes::JSON_SHAPE
                .at(place, message)
                .expected(expected, found)
                .help(help),
        );
    }

    /// Returns the elements of a list; none, after reporting it, if the value is not a list.
    pub fn elements<'v>(&mut self, value: &'v Value<'v>, under: Under) -> &'v [Value<'v>] {
        if let Value::Array(array) = value {
            return &array.elements;
        }
        self.mistyped(value, &under.called(), "a list");
        &[]
    }

    /// Reads a word of this kind. Returns `None`, after reporting it, if it is not well-formed or not a known word.
    pub fn word(&mut self, value: &Value<'_>, what: &str, word: Word) -> Option<Name> {
        let (text, place) = self.string(value, what)?;
        let (sound, expected) = match word {
            Word::Name => (is_name(&text), "a name"),
            Word::Class => (
                parted(&text, '.'),
                "an error class such as `transient.timeout`",
            ),
            Word::Code => (parted(&text, '-'), "a code such as `unknown-step`"),
            Word::Effect => (word.known().contains(&&*text), "an effect class"),
            Word::Moment => (word.known().contains(&&*text), "`before` or `after`"),
        };
        if sound {
            return Some(Name::new(text, place));
        }
        let message = format!("{what} must be {expected}, but `{text}` is not");
        let finding = codes::JSON_SHAPE.at(place, message).available(word.known());
        let known = word.known().iter().copied();
        self.report(finding.suggest(&text, known, format!("write {expected}")));
        None
    }

    /// Reads a string as it is, with the span of its content.
    pub fn string(&mut self, value: &Value<'_>, what: &str) -> Option<(Arc<str>, Span)> {
        let Value::StringLit(string) = value else {
            self.mistyped(value, what, "a string");
            return None;
        };
        let place = span(string);
        Some((
            Arc::from(Extract::of(self.text, place).text),
            content(place),
        ))
    }
}

/// Returns the text of a key.
pub(super) fn key_of<'v>(name: &'v ObjectPropName<'v>) -> &'v str {
    match name {
        ObjectPropName::String(string) => &string.value,
        ObjectPropName::Word(word) => word.value,
    }
}

/// Returns the span of a key, quotes included.
pub(super) fn name_span(name: &ObjectPropName<'_>) -> Span {
    match name {
        ObjectPropName::String(string) => span(string),
        ObjectPropName::Word(word) => span(word),
    }
}

/// Returns the span of the opening bracket of an object or list, where diagnostics about the whole are reported.
pub(super) fn opening(whole: Span) -> Span {
    Span::from(whole.start..whole.end.min(whole.start.saturating_add(1)))
}

/// Returns the placeholder for a missing name.
pub(super) fn nameless(place: Span) -> Name {
    Name::new(Arc::from(""), opening(place))
}

/// Returns the placeholder for a missing value, whose absence has been reported.
pub(super) fn missing(place: Span) -> Expr {
    Expr::new(opening(place), ExprKind::Error)
}

/// Returns true if the text can be a name of the language, if necessary in back quotes, which have no escapes.
pub(super) fn is_name(text: &str) -> bool {
    let is_unwritable = |c: char| c == '`' || c.is_control() || is_invisible(c);
    !text.is_empty() && !text.chars().any(is_unwritable)
}

/// Returns true if the text consists of plain words separated by the mark.
fn parted(text: &str, mark: char) -> bool {
    text.split(mark).all(is_plain_word)
}

/// Returns the words after the article.
fn bare(called: &str) -> &str {
    called.split_once(' ').map_or(called, |(_, rest)| rest)
}

fn json_type(value: &Value<'_>) -> &'static str {
    match value {
        Value::StringLit(_) => "a string",
        Value::NumberLit(_) => "a number",
        Value::BooleanLit(_) => "true or false",
        Value::Object(_) => "an object",
        Value::Array(_) => "a list",
        Value::NullKeyword(_) => "null",
    }
}

/// Describes the values that a slot accepts.
fn expected_value(slot: Slot) -> &'static str {
    match slot {
        Slot::Name => "a name",
        Slot::Text => "a string",
        Slot::Flag => "true or false",
        Slot::Word(_) => "a word",
        Slot::Type | Slot::ObjectType => "a type such as \"string\"",
        Slot::Pattern => "a pattern such as \"_\"",
        Slot::Value | Slot::Message | Slot::Members | Slot::Settings(_) => {
            "an expression in a string, text such as {\"text\": \"…\"}, or a value"
        }
        Slot::Tool | Slot::Callee => "a tool such as \"mail.send\"",
        Slot::Call => "a call such as {\"tool\": \"mail.send\", \"arguments\": {}}",
        Slot::Probe => {
            "a call such as {\"tool\": \"mail.find\", \"arguments\": {}}, or a request to an agent"
        }
        Slot::Arguments | Slot::Object(_) | Slot::Choice(_) => "an object",
        Slot::Names(_) | Slot::Objects(_) | Slot::Choices(_) => "a list",
    }
}
