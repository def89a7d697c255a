//! Renders questions to people. planrun's own words begin their lines; text from a plan, a tool or a value is placed
//! behind a margin or at the end of a line, so that it can imitate neither.

mod words;

use serde_json::{Value as Json, json};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use planrun_lang::diag::render::{
    Appearance, Language, command_in, escape_json, quoted, visible_line,
};
use planrun_lang::value::{Key, Value};

use super::runs::timestamp;
use planrun_core::journal::{FormField, Question, Waiting};
use words::Words;

/// Maximum number of lines of one value; the middle of a longer one is cut out.
const MAX_LINES: usize = 4;
/// Maximum number of lines of a question, or of its reason.
const MAX_TEXT: usize = 40;
/// The contract rules that are listed for people, in this order.
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
/// Maximum width of a placeholder in the command that answers, in columns.
const MAX_PLACEHOLDER: usize = 60;
/// Minimum width of lines, in columns.
const MIN_WIDTH: usize = 40;

/// A question of a run, to be rendered.
pub(super) struct QuestionView<'q> {
    /// The project folder, if it is not the current one.
    pub project: Option<&'q str>,
    /// The run and its plan; `None` if the question is asked by the process that drives the run.
    pub run: Option<(&'q str, &'q str)>,
    /// The path to answer the question at.
    pub path: &'q str,
    pub question: &'q Question,
}

impl QuestionView<'_> {
    /// Renders the question for people.
    pub(super) fn render(&self, now: i128, style: Appearance) -> String {
        let mut page = Page::new(style);
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
        // The text of an approval lists all that it permits, so it gets more lines.
        let is_approval = question.kind == Waiting::Approval;
        let rows = if is_approval { MAX_TEXT } else { MAX_LINES };
        page.texts(&question.text, rows);
        if let Some(why) = &question.why {
            page.own(words.because());
            page.texts(why, MAX_LINES);
        }
        match question.kind {
            Waiting::Input | Waiting::Peer => page.form(question),
            Waiting::Confirm => page.call(question),
            Waiting::Answer => {
                page.call(question);
                page.own(words.to_be_filled_in());
                page.external(0, "happened: bool", 1);
                page.own(words.if_it_happened());
                page.fields(question);
            }
            Waiting::Approval
            | Waiting::Retry
            | Waiting::Poll
            | Waiting::Outcome
            | Waiting::Effects
            | Waiting::Time => {}
        }
        if let Some(command) = self.command(page.width) {
            // The command is only useful as a whole. It fits on a line, because long paths are answered
            // interactively.
            page.whole(&format!("{}{command}", words.answer()));
        }
        page.text
    }

    /// Returns the shell command that answers the question, with `--interactive` if the path is too long for a line or
    /// the answer is a secret. Returns `None` if there is no run to answer.
    fn command(&self, width: usize) -> Option<String> {
        let run = quoted(&visible_line(self.run?.0));
        let begin = command_in(self.project, &format!("runs answer {run}"));
        let answer = quoted(&format!(
            "{}={}",
            escape_json(&unpadded(self.path)),
            self.question.answer_to_fill_in(placeholder)
        ));
        let external = [Some(self.path), self.question.by.as_deref()]
            .into_iter()
            .flatten();
        let mut external = external.chain(self.question.form.iter().map(|field| &*field.name));
        let is_long = |text: &str| visible_line(text).width() > width / 2;
        // A shell keeps a history of its commands, which is no place for a secret.
        if self.question.form.iter().any(|field| field.secret) || external.any(is_long) {
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
            "asked_at": timestamp(question.asked_at),
            "expires": question.expires.map(timestamp),
            "tool": Some(&*question.tool).filter(|tool| !tool.is_empty()),
            "effect": question.effect.map(planrun_lang::types::Effect::name),
            "arguments": question.arguments.to_json(),
            "form": question.form,
            "answer": self.command(usize::MAX),
        })
    }
}

/// Renders an answer for people.
pub(super) fn render_answer(
    value: &Value,
    by: Option<&str>,
    note: Option<&str>,
    style: Appearance,
) -> String {
    let mut page = Page::new(style);
    page.external(0, &value.to_json_text(), MAX_LINES);
    if let Some(by) = by {
        page.own(
            &page
                .words
                .answered_by(&visible_line(&Json::from(by).to_string())),
        );
    }
    if let Some(note) = note {
        page.own(page.words.with_the_note());
        page.texts(note, MAX_LINES);
    }
    page.text
}

/// Returns the note that there are more questions than were printed.
pub(super) fn more_questions(count: usize, command: &str, language: Language) -> String {
    Words(language).more_questions(count, command)
}

/// Returns what is written between `<` and `>` for a field: its options or its type.
fn placeholder(field: &FormField) -> String {
    let options = field.options.as_ref();
    let options = options.map(|options| alternatives(options, " | "));
    let allowed = options.as_ref().unwrap_or(&field.ty);
    short(&visible_line(allowed), MAX_PLACEHOLDER, Words(Language::En))
}

/// Replaces spaces after spaces by escapes, which mean the same within the quotes of a path, so that a path cannot
/// push the text behind it to another line.
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

/// Text being rendered, line by line.
struct Page {
    text: String,
    margin: &'static str,
    width: usize,
    words: Words,
}

impl Page {
    fn new(style: Appearance) -> Self {
        let margin = if style.unicode { "  │ " } else { "  | " };
        Self {
            text: String::new(),
            margin,
            width: style.width.max(MIN_WIDTH),
            words: Words(style.language),
        }
    }

    /// Adds one of planrun's own lines. External text in it is escaped and at its end; if the line is too long, its
    /// middle is cut out.
    fn own(&mut self, line: &str) {
        self.whole(&short(line, self.width, self.words));
    }

    fn whole(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Adds external text behind the margin, as much of it as `max` full lines hold.
    fn external(&mut self, indent: usize, text: &str, max: usize) {
        let room = self.width - self.margin.width() - indent;
        let text = short(&visible_line(text), room * max, self.words);
        for line in wrapped(&text, room) {
            self.text.push_str(self.margin);
            self.text.extend(std::iter::repeat_n(' ', indent));
            self.text.push_str(&line);
            self.text.push('\n');
        }
    }

    /// Adds external text of several lines, each on at most `max` lines of the page.
    fn texts(&mut self, text: &str, max: usize) {
        let lines: Vec<&str> = text.lines().collect();
        for line in lines.iter().take(MAX_TEXT) {
            self.external(0, line, max);
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
        let display_name = if question.tool.is_empty() {
            self.words.several_steps()
        } else {
            &question.tool
        };
        self.own(&format!("  {what}{class}: {}", visible_line(display_name)));
        self.values(&question.arguments, |_| true);
    }

    fn values(&mut self, values: &Value, include: impl Fn(&str) -> bool) {
        for (key, value) in values.as_map().into_iter().flatten() {
            let Key::String(name) = key else { continue };
            if include(name) {
                self.external(
                    0,
                    &format!("{}: {}", display_name(name), value.to_json_text()),
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
        self.fields(question);
    }

    fn fields(&mut self, question: &Question) {
        for field in &question.form {
            let prefill = question
                .prefill(field)
                .map(|value| format!(" = {}", value.to_json_text()))
                .unwrap_or_default();
            self.external(
                0,
                &format!("{}: {}{prefill}", display_name(&field.name), field.ty),
                MAX_LINES,
            );
            for rule in hints(field, self.words.0) {
                self.external(4, &rule, 1);
            }
        }
    }
}

/// Returns the description of a field besides its type: its label, its options, and the rules of its contracts.
pub(super) fn hints(field: &FormField, language: Language) -> Vec<String> {
    let words = Words(language);
    let label = field.label.iter().map(std::string::ToString::to_string);
    let options = field.options.iter();
    let options = options.map(|options| words.one_of(&alternatives(options, ", ")));
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

fn alternatives(options: &[Json], separator: &str) -> String {
    let options: Vec<String> = options.iter().map(Json::to_string).collect();
    options.join(separator)
}

/// Describes the rules of a contract, one each.
fn rules(contract: &Json, words: Words) -> Vec<String> {
    let rule = |keyword: &&str| {
        let (before, behind) = words.rule(keyword)?;
        let value = contract.get(*keyword)?;
        let value = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        Some(format!("{before}{value}{behind}"))
    };
    RULES.iter().filter_map(rule).collect()
}

/// Quotes a name unless it is a plain word, so that its end is visible.
fn display_name(name: &str) -> String {
    let plain = name
        .chars()
        .all(|character| character == '_' || character.is_alphanumeric());
    if plain && !name.is_empty() {
        name.to_owned()
    } else {
        Json::from(name).to_string()
    }
}

/// Shortens text to a number of columns: the middle of a longer text is replaced by the number of characters left
/// out.
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

/// Breaks text into lines of a number of columns, after a space if a line has one. No character is left out.
fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let (mut lines, mut line) = (Vec::new(), String::new());
    for character in text.chars() {
        if line.width() + character.width().unwrap_or(0) > columns {
            let cut = line.rfind(' ').map_or(line.len(), |space| space + 1);
            let rest = line.split_off(cut);
            lines.push(std::mem::replace(&mut line, rest));
        }
        line.push(character);
    }
    lines.push(line);
    lines
}
