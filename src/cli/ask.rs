//! Answers to what a plan asks people: given with `--answer`, or asked for in the terminal.

use std::io::{self, BufRead as _, IsTerminal as _};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value as Json;
use tokio::sync::oneshot;

use super::arguments::{RunArguments, RunFormat};
use super::{Failure, Terminal};
use crate::diag::render::visible_line;
use crate::engine::{Answering, Asker, Asking, Outcome};
use crate::journal::{AnswerError, FormField, Given, Question, Waiting};
use crate::types::{Literal, Type, decode, from_schema};
use crate::value::timestamp_text;

/// Who answers in this process: what the command line says, then whoever sits at the terminal.
pub(super) fn answering(arguments: &RunArguments, terminal: Terminal) -> Result<Answering, Failure> {
    let given = |(path, text): &(String, String)| {
        let value = serde_json::from_str(text)
            .map_err(|error| Failure::Usage(format!("the answer to `{path}` is not JSON: {error}")))?;
        let by = arguments.by.as_deref().map(Arc::from);
        Ok(Given { path: path.as_str().into(), value, by, note: None })
    };
    let answers = arguments.answers.iter().map(given).collect::<Result<_, Failure>>()?;
    let takes_input = arguments.input.as_ref().is_none_or(|path| path.as_os_str() != "-");
    let present =
        takes_input && arguments.format == RunFormat::Human && terminal.is_watched() && io::stdin().is_terminal();
    let asker = present.then(|| Arc::new(AtTerminal { terminal, gone: Arc::default() }) as Arc<dyn Asker>);
    Ok(Answering { answers, asker })
}

/// Why an answer is not taken, and what to write instead.
pub(super) fn refusal(error: &AnswerError) -> String {
    match error {
        AnswerError::Role { role, .. } => format!("{error}: add `--by {role}`"),
        AnswerError::Unknown { .. }
        | AnswerError::Twice(_)
        | AnswerError::Late { .. }
        | AnswerError::Withdrawn(_)
        | AnswerError::Unreadable(_)
        | AnswerError::Misfit { .. } => error.to_string(),
    }
}

/// Tells what a run still waits for, and which answers nothing asked for.
pub(super) fn tell_what_is_left(outcome: &Outcome, terminal: Terminal) {
    for (path, question) in &outcome.questions {
        let role = question.by.as_ref().map(|by| format!(" for {}", visible_line(by))).unwrap_or_default();
        terminal.say(&format!("`{}` waits{role}: {}", visible_line(path), visible_line(&question.text)));
    }
    if let (Some((path, question)), Some(_)) = (outcome.questions.first(), &outcome.interruption) {
        let value = match question.kind {
            Waiting::Confirm => "true",
            Waiting::Answer => "'{\"happened\": true, \"value\": JSON}'",
            Waiting::Input | Waiting::Retry | Waiting::Poll | Waiting::Outcome | Waiting::Time => "JSON",
        };
        let by = question.by.as_ref().map(|by| format!(" --by {}", visible_line(by))).unwrap_or_default();
        let (run, path) = (visible_line(&outcome.run), visible_line(path));
        terminal.say(&format!("answer with `planrun runs answer {run} {path}={value}{by} --resume`"));
    }
    for path in &outcome.unused_answers {
        terminal.complain(&format!("`--answer {}` was not used: nothing asked for it", visible_line(path)));
    }
}

/// Whoever sits at the terminal: one question at a time.
struct AtTerminal {
    terminal: Terminal,
    /// Whether the input has ended: nobody sits there any more.
    gone: Arc<Mutex<bool>>,
}

impl Asker for AtTerminal {
    fn ask(&self, asking: Asking) -> Pin<Box<dyn Future<Output = Option<Given>> + Send>> {
        let (terminal, gone) = (self.terminal, self.gone.clone());
        let (sender, answer) = oneshot::channel();
        // A thread of its own: the run may end while somebody still thinks, and must not wait for that.
        std::thread::spawn(move || {
            let mut gone = gone.lock().unwrap_or_else(PoisonError::into_inner);
            let given = if *gone { None } else { put(&asking, terminal) };
            *gone = given.is_none();
            // The run may be over by now.
            let _ = sender.send(given);
        });
        Box::pin(async move { answer.await.ok().flatten() })
    }
}

/// Puts a question and reads its answer; `None` at the end of the input.
fn put(asking: &Asking, terminal: Terminal) -> Option<Given> {
    let question = &asking.question;
    terminal.say_plainly(&shown(asking));
    let fields = || {
        let answered = question.form.iter().map(|field| Some((field.name.to_string(), value(field, terminal)?)));
        answered.collect::<Option<serde_json::Map<_, _>>>()
    };
    let value = match question.kind {
        Waiting::Confirm => Json::Bool(decision(terminal)?),
        Waiting::Answer => {
            let happened = decision(terminal)?;
            let mut told = if happened { fields()? } else { serde_json::Map::new() };
            told.insert("happened".to_owned(), Json::Bool(happened));
            Json::Object(told)
        }
        Waiting::Input | Waiting::Retry | Waiting::Poll | Waiting::Outcome | Waiting::Time => Json::Object(fields()?),
    };
    // Whoever sits there started the run, and answers in the role that is asked for.
    Some(Given { path: asking.path.clone(), value, by: question.by.clone(), note: None })
}

fn shown(asking: &Asking) -> String {
    let question: &Question = &asking.question;
    let mut text = String::new();
    let mut line = |part: &str| {
        text.push_str(&visible_line(part));
        text.push('\n');
    };
    if let Some(refused) = &asking.refused {
        line(&format!("not taken: {refused}"));
    }
    let role = question.by.as_ref().map(|by| format!(", for {by}")).unwrap_or_default();
    let until = question.expires.map(|until| format!(", until {}", timestamp_text(until))).unwrap_or_default();
    line(&format!("{}{role}{until}", asking.path));
    line(&format!("  {}", question.text));
    if question.arguments.as_map().is_some_and(|arguments| !arguments.is_empty()) {
        let tool = if question.tool.is_empty() { "with" } else { &question.tool };
        line(&format!("  {tool} {}", question.arguments.to_json_text()));
    }
    text
}

fn decision(terminal: Terminal) -> Option<bool> {
    loop {
        terminal.say_plainly("yes or no? ");
        match read_line()?.to_lowercase().as_str() {
            "y" | "yes" => return Some(true),
            "n" | "no" => return Some(false),
            _ => {}
        }
    }
}

fn value(field: &FormField, terminal: Terminal) -> Option<Json> {
    let options = field.options.as_ref().map(|options| {
        let options: Vec<String> = options.iter().map(Json::to_string).collect();
        format!(", one of {}", options.join(", "))
    });
    terminal.say_plainly(&visible_line(&format!("{} ({}{}): ", field.name, field.ty, options.unwrap_or_default())));
    let text = read_line()?;
    Some(read_as(&from_schema(&field.schema), text))
}

/// Text stays text where text is wanted, and is JSON elsewhere.
fn read_as(ty: &Type, text: String) -> Json {
    let is_text = |member: &Type| matches!(member, Type::String | Type::Literal(Literal::String(_)));
    let plain = Json::String(text);
    if ty.members().iter().any(is_text) && decode(&plain, ty).is_ok() {
        return plain;
    }
    let parsed = plain.as_str().and_then(|text| serde_json::from_str(text).ok());
    parsed.unwrap_or(plain)
}

/// A line that somebody types, without the blanks around it; `None` at the end of the input.
pub(super) fn read_line() -> Option<String> {
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    read.is_ok_and(|read| read > 0).then(|| line.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Value;

    #[test]
    fn typed_text_becomes_what_the_field_wants() {
        assert_eq!(read_as(&Type::String, "12".into()), Json::from("12"));
        assert_eq!(read_as(&Type::Int, "12".into()), Json::from(12));
        assert_eq!(read_as(&Type::Bool, "true".into()), Json::from(true));
        let level = Type::union([Type::text("a"), Type::Int]);
        assert_eq!((read_as(&level, "a".into()), read_as(&level, "3".into())), (Json::from("a"), Json::from(3)));
        assert_eq!(read_as(&Type::Bool, "ja".into()), Json::from("ja"), "told by the check of the answer");
    }

    #[test]
    fn a_question_is_shown_with_what_would_go_out_and_acts_on_no_terminal() {
        let question = Question {
            kind: Waiting::Confirm,
            text: "Pay\x1b[2J?".into(),
            by: Some("desk".into()),
            expires: Some(0),
            execution: 0,
            tool: "bank.pay".into(),
            arguments: Value::object([("sum", Value::Int(3))]),
            binding: "".into(),
            form: Vec::new(),
        };
        let asking = Asking { path: "paid.confirm".into(), question: Arc::new(question), refused: Some("no".into()) };
        let expected = "not taken: no\npaid.confirm, for desk, until 1970-01-01T00:00:00Z\n  Pay\\u{1b}[2J?\n  \
                        bank.pay {\"sum\":3}\n";
        assert_eq!(shown(&asking), expected);
    }
}
