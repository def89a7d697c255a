//! What people are asked, as they see it. planrun's own words begin their lines; what comes from a plan, a tool or a value
//! stands behind a margin or at the end of a line, so that it can forge neither.

mod words;

use serde_json::{Value as Json, json};
use std::fmt::Write as _;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use planrun_lang::diag::render::{Language, Look, escape_json, visible_line};
use planrun_lang::value::{Key, Value};

use super::runs::moment;
use super::shell::{command, quoted};
use planrun_core::journal::{FormField, Question, Waiting};
use words::Words;

/// How many lines one value may take before its middle is cut out.
const MAX_LINES: usize = 4;
/// How many lines a question, or what is behind it, may take.
const MAX_TEXT: usize = 40;
/// The rules of a contract that people are told, in this order.
const RULES: [&str; 12] = [
    "enum",
    "pattern",
    "format",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
];
/// The narrowest lines that are drawn.
const NARROWEST: usize = 40;

/// A question of a run.
pub(super) struct Asked<'q> {
    /// The folder of its project, where that is not the current one.
    pub project: Option<&'q str>,
    /// The run and its plan; nothing where whoever is asked sits at the run.
    pub run: Option<(&'q str, &'q str)>,
    /// The path under which it is answered.
    pub path: &'q str,
    pub question: &'q Question,
}

impl Asked<'_> {
    /// All of it for people, as lines.
    pub(super) fn told(&self, now: i128, look: Look) -> String {
        let mut page = Page::new(look);
        let question = self.question;
        let words = page.words;
        page.own(&format!(
            "{}: {}",
            words.heading(question.kind),
            visible_line(self.path)
        ));
        if let Some((run, plan)) = self.run {
            page.own(&words.run_of(&visible_line(run), &visible_line(plan)));
        }
        page.own(&words.times(question.asked_at, question.expires, now));
        if let Some(role) = &question.by {
            page.own(&words.asked_of(&visible_line(&Json::from(&**role).to_string())));
        }
        page.texts(&question.text);
        if let Some(why) = &question.why {
            page.own(words.because());
            page.texts(why);
        }
        match question.kind {
            Waiting::Input | Waiting::Peer => page.form(question),
            Waiting::Confirm | Waiting::Answer => page.call(question),
            Waiting::Approval
            | Waiting::Retry
            | Waiting::Poll
            | Waiting::Outcome
            | Waiting::Time => {}
        }
        if let Some(command) = self.command(page.width) {
            // A command is of use only as a whole; it is no longer than a line, or asks for what would be.
            page.whole(&format!("{}{command}", words.answer()));
        }
        page.text
    }

    /// What answers it, as it is typed into a shell. Where the path is too long for a line, the answer is asked for.
    fn command(&self, width: usize) -> Option<String> {
        let run = quoted(&visible_line(self.run?.0));
        let begin = command(self.project, &format!("runs answer {run}"));
        let answer = quoted(&format!(
            "{}={}",
            escape_json(&unpadded(self.path)),
            sample(self.question)
        ));
        let outside = [Some(self.path), self.question.by.as_deref()]
            .into_iter()
            .flatten();
        let outside = outside.chain(self.question.form.iter().map(|field| &*field.name));
        if outside
            .map(|text| visible_line(text).width())
            .max()
            .unwrap_or(0)
            > width / 2
        {
            return Some(format!("{begin} --interactive --resume"));
        }
        let by = self
            .question
            .by
            .as_ref()
            .map(|by| format!(" --by {}", quoted(&visible_line(by))))
            .unwrap_or_default();
        Some(format!("{begin} {answer}{by} --resume"))
    }

    /// All of it for programs.
    pub(super) fn document(&self) -> Json {
        let question = self.question;
        json!({
            "project": self.project,
            "run": self.run.map(|(run, _)| run),
            "plan": self.run.map(|(_, plan)| plan),
            "path": self.path,
            "for": question.kind.name(),
            "text": question.text,
            "why": question.why,
            "by": question.by,
            "asked_at": moment(question.asked_at),
            "expires": question.expires.map(moment),
            "tool": Some(&*question.tool).filter(|tool| !tool.is_empty()),
            "effect": question.effect.map(planrun_lang::types::Effect::name),
            "arguments": question.arguments.to_json(),
            "form": question.form,
            "answer": self.command(usize::MAX),
        })
    }
}

/// An answer that somebody gave, for people, as lines.
pub(super) fn said(value: &Value, by: Option<&str>, note: Option<&str>, look: Look) -> String {
    let mut page = Page::new(look);
    page.outside(0, &value.to_json_text(), MAX_LINES);
    if let Some(by) = by {
        page.own(
            &page
                .words
                .answered_by(&visible_line(&Json::from(by).to_string())),
        );
    }
    if let Some(note) = note {
        page.own(page.words.with_the_note());
        page.texts(note);
    }
    page.text
}

/// The questions as one document.
pub(super) fn documents(asked: &[Json]) -> String {
    let document = json!({ "version": 1, "questions": asked });
    format!(
        "{}\n",
        serde_json::to_string_pretty(&document).unwrap_or_default()
    )
}

/// That there are more questions than were told.
pub(super) fn more_questions(count: usize, command: &str, language: Language) -> String {
    Words(language).more_questions(count, command)
}

/// An answer of the right shape, with what is to be filled in between `<` and `>`.
fn sample(question: &Question) -> String {
    let blank = |field: &FormField| {
        format!(
            "{}: <{}>",
            Json::from(&*field.name),
            short(&visible_line(&field.ty), 24, Words(Language::En))
        )
    };
    match question.kind {
        Waiting::Confirm | Waiting::Approval => "true".to_owned(),
        Waiting::Answer => {
            let mut value = String::new();
            for field in &question.form {
                let _ = write!(value, ", {}", blank(field));
            }
            format!("{{\"happened\": true{value}}}")
        }
        Waiting::Input
        | Waiting::Peer
        | Waiting::Retry
        | Waiting::Poll
        | Waiting::Outcome
        | Waiting::Time => {
            let open = question
                .form
                .iter()
                .filter(|field| question.prefill(field).is_none());
            format!("{{{}}}", open.map(blank).collect::<Vec<_>>().join(", "))
        }
    }
}

/// Spaces behind spaces as escapes, which mean the same within the quotes of a path and cannot push text to another line.
fn unpadded(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    let mut before = None;
    for character in path.chars() {
        match (before, character) {
            (Some(' '), ' ') => text.push_str("\\u0020"),
            _ => text.push(character),
        }
        before = Some(character);
    }
    text
}

/// Lines that are being drawn.
struct Page {
    text: String,
    margin: &'static str,
    width: usize,
    words: Words,
}

impl Page {
    fn new(look: Look) -> Self {
        let margin = if look.unicode { "  │ " } else { "  | " };
        Self {
            text: String::new(),
            margin,
            width: look.width.max(NARROWEST),
            words: Words(look.language),
        }
    }

    /// A line of planrun's own; what comes from outside is escaped and stands at its end, and its middle gives way.
    fn own(&mut self, line: &str) {
        self.whole(&short(line, self.width, self.words));
    }

    fn whole(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// What comes from outside on one line of its own, or on a few.
    fn outside(&mut self, indent: usize, text: &str, most: usize) {
        let room = self.width - self.margin.width() - indent;
        let text = short(&visible_line(text), room * most, self.words);
        for line in broken(&text, room) {
            self.text.push_str(self.margin);
            self.text.extend(std::iter::repeat_n(' ', indent));
            self.text.push_str(&line);
            self.text.push('\n');
        }
    }

    /// A text of several lines.
    fn texts(&mut self, text: &str) {
        let lines: Vec<&str> = text.lines().collect();
        for line in lines.iter().take(MAX_TEXT) {
            self.outside(0, line, MAX_LINES);
        }
        if lines.len() > MAX_TEXT {
            self.own(&self.words.more_lines(lines.len() - MAX_TEXT));
        }
    }

    fn call(&mut self, question: &Question) {
        let what = self.words.call(question.kind);
        let class = question
            .effect
            .map(|effect| format!(" ({effect})"))
            .unwrap_or_default();
        let named = if question.tool.is_empty() {
            self.words.several_steps()
        } else {
            &question.tool
        };
        self.own(&format!("  {what}{class}: {}", visible_line(named)));
        self.values(&question.arguments, |_| true);
    }

    fn values(&mut self, values: &Value, wanted: impl Fn(&str) -> bool) {
        for (key, value) in values.as_map().into_iter().flatten() {
            let Key::String(name) = key else { continue };
            if wanted(name) {
                self.outside(
                    0,
                    &format!("{}: {}", named(name), value.to_json_text()),
                    MAX_LINES,
                );
            }
        }
    }

    fn form(&mut self, question: &Question) {
        let asked = |name: &str| question.form.iter().any(|field| *field.name == *name);
        let known = question.arguments.as_map().is_some_and(|known| {
            known
                .iter()
                .any(|(key, _)| key.as_str().is_some_and(|name| !asked(name)))
        });
        if known {
            self.own(self.words.known());
            self.values(&question.arguments, |name| !asked(name));
        }
        self.own(self.words.to_be_filled_in());
        for field in &question.form {
            let stands = question
                .prefill(field)
                .map(|value| format!(" = {}", value.to_json_text()))
                .unwrap_or_default();
            self.outside(
                0,
                &format!("{}: {}{stands}", named(&field.name), field.ty),
                MAX_LINES,
            );
            for rule in hints(field, self.words.0) {
                self.outside(4, &rule, 1);
            }
        }
    }
}

/// What is said of a field beside its type: what it is for, and what its value must keep.
pub(super) fn hints(field: &FormField, language: Language) -> Vec<String> {
    let words = Words(language);
    let label = field.label.iter().map(std::string::ToString::to_string);
    let options = field.options.iter().map(|options| {
        let options: Vec<String> = options.iter().map(Json::to_string).collect();
        words.one_of(&options.join(", "))
    });
    label
        .chain(options)
        .chain(
            field
                .contracts
                .iter()
                .flat_map(|contract| rules(contract, words)),
        )
        .collect()
}

/// What a contract asks for, a rule each, in plain words.
fn rules(contract: &Json, words: Words) -> Vec<String> {
    let told = |keyword: &&str| {
        let (before, behind) = words.rule(keyword)?;
        let value = contract.get(*keyword)?;
        let value = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        Some(format!("{before}{value}{behind}"))
    };
    RULES.iter().filter_map(told).collect()
}

/// A name that says where it ends.
fn named(name: &str) -> String {
    let plain = name
        .chars()
        .all(|character| character == '_' || character.is_alphanumeric());
    if plain && !name.is_empty() {
        name.to_owned()
    } else {
        Json::from(name).to_string()
    }
}

/// Text that fits into so many columns: of a longer one the middle is left out, with how much that was.
fn short(text: &str, columns: usize, words: Words) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mark = |left: usize| words.more_characters(left);
    let room = columns.saturating_sub(mark(text.chars().count()).width());
    let fits = |characters: &mut dyn Iterator<Item = char>, room: usize| {
        let mut used = 0;
        characters
            .take_while(|character| {
                used += character.width().unwrap_or(0);
                used <= room
            })
            .collect::<String>()
    };
    let head = fits(&mut text.chars(), room - room / 3);
    let tail: String = fits(&mut text.chars().rev(), room / 3)
        .chars()
        .rev()
        .collect();
    let left = text.chars().count() - head.chars().count() - tail.chars().count();
    format!("{head}{}{tail}", mark(left))
}

/// Text in lines of so many columns.
fn broken(text: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for character in text.chars() {
        let width = character.width().unwrap_or(0);
        if used + width > columns {
            lines.push(String::new());
            used = 0;
        }
        used += width;
        if let Some(line) = lines.last_mut() {
            line.push(character);
        }
    }
    lines
}
