//! Answers to what a plan asks people: given with `--answer`, or asked for in the terminal.

use std::io::{self, BufRead as _, IsTerminal as _};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use planrun_lang::diag::render::{Language, visible_line};
use planrun_lang::types::{Literal, Type, decode, from_schema};
use serde_json::Value as Json;
use tokio::sync::oneshot;

use super::arguments::{RunArguments, RunFormat};
use super::question::{Asked, more_questions};
use super::{Failure, Terminal};
use planrun_core::journal::{FormField, Given, Question, Waiting};
use planrun_core::run::{Asking, Outcome};
use planrun_runs::driver::{Answering, Asker};
use planrun_runs::runs::real_host;

/// Who answers in this process: what the command line says, then whoever sits at the terminal.
pub(super) fn answering(
    arguments: &RunArguments,
    terminal: Terminal,
) -> Result<Answering, Failure> {
    let given = |(path, text): &(String, String)| {
        let value = serde_json::from_str(text).map_err(|error| {
            Failure::Usage(format!("the answer to `{path}` is not JSON: {error}"))
        })?;
        let by = arguments.by.as_deref().map(Arc::from);
        Ok(Given {
            path: path.as_str().into(),
            value,
            by,
            note: None,
        })
    };
    let answers = arguments
        .answers
        .iter()
        .map(given)
        .collect::<Result<_, Failure>>()?;
    let takes_input = arguments
        .input
        .as_ref()
        .is_none_or(|path| path.as_os_str() != "-");
    let present = takes_input
        && arguments.format == RunFormat::Human
        && terminal.is_watched()
        && io::stdin().is_terminal();
    let asker = present.then(|| at_terminal(terminal));
    Ok(Answering { answers, asker })
}

/// Whoever sits at the terminal.
pub(super) fn at_terminal(terminal: Terminal) -> Arc<dyn Asker> {
    Arc::new(AtTerminal {
        terminal,
        gone: Arc::default(),
    })
}

/// How many questions are told where a run pauses; the rest is counted.
const MAX_TOLD: usize = 5;

/// Tells what a run still waits for, and which answers nothing asked for.
pub(super) fn tell_what_is_left(outcome: &Outcome, terminal: Terminal) {
    let now = real_host().now();
    for (path, question) in outcome.questions.iter().take(MAX_TOLD) {
        // Without an end in sight there is no run that could be told.
        let run = outcome
            .interruption
            .is_some()
            .then_some((&*outcome.run, &*outcome.plan));
        let asked = Asked {
            project: terminal.place,
            run,
            path,
            question,
        };
        terminal.say(asked.told(now, terminal.look).trim_end());
    }
    let more = outcome.questions.len().saturating_sub(MAX_TOLD);
    if more > 0 {
        terminal.say(&more_questions(
            more,
            &terminal.command("runs inbox"),
            terminal.look.language,
        ));
    }
    for path in &outcome.unused_answers {
        terminal.complain(&format!(
            "`--answer {}` was not used: nothing asked for it",
            visible_line(path)
        ));
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
    if let Some(refused) = &asking.refused {
        terminal.complain(&match terminal.look.language {
            Language::En => format!("not taken: {refused}"),
            Language::Zh => format!("未接受：{refused}"),
        });
    }
    let asked = Asked {
        project: None,
        run: None,
        path: &asking.path,
        question,
    };
    terminal.say_plainly(&asked.told(real_host().now(), terminal.look));
    match reply(question, false, terminal) {
        // Whoever sits there started the run, and answers in the role that is asked for.
        Reply::Given(value) => Some(Given {
            path: asking.path.clone(),
            value,
            by: question.by.clone(),
            note: None,
        }),
        Reply::Skipped | Reply::Gone => None,
    }
}

/// What somebody says to a question that stands on the terminal.
pub(super) enum Reply {
    Given(Json),
    Skipped,
    /// The input has ended, or whoever sits there wants no more questions.
    Gone,
}

/// Reads an answer, a line for each part of it.
pub(super) fn reply(question: &Question, may_skip: bool, terminal: Terminal) -> Reply {
    let answered = match question.kind {
        Waiting::Confirm | Waiting::Approval => decision(may_skip, terminal).map(Json::Bool),
        Waiting::Answer => decision(may_skip, terminal).and_then(|happened| {
            let mut told = if happened {
                fields(question, terminal)?
            } else {
                serde_json::Map::new()
            };
            told.insert("happened".to_owned(), Json::Bool(happened));
            Ok(Json::Object(told))
        }),
        Waiting::Peer => consent(question, may_skip, terminal),
        Waiting::Input | Waiting::Retry | Waiting::Poll | Waiting::Outcome | Waiting::Time => {
            let begins = if may_skip { begins(terminal) } else { Ok(()) };
            begins
                .and_then(|()| fields(question, terminal))
                .map(Json::Object)
        }
    };
    match answered {
        Ok(value) => Reply::Given(value),
        Err(other) => other,
    }
}

/// What somebody may say to a question.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Word {
    Yes,
    No,
    FillIn,
    Skip,
    Quit,
}

impl Word {
    /// In English, whose first letter is enough in every language, and in Chinese.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Yes => ("yes", "是"),
            Self::No => ("no", "否"),
            Self::FillIn => ("fill in", "填写"),
            Self::Skip => ("skip", "跳过"),
            Self::Quit => ("quit", "退出"),
        }
    }

    fn is(self, said: &str) -> bool {
        let (english, chinese) = self.names();
        said == english || said == chinese || (said.len() == 1 && english.starts_with(said))
    }

    /// Asks for one of some words.
    fn asked(words: &[Self], language: Language) -> String {
        let name = |word: &Self| match (language, word.names()) {
            (Language::En, (english, _)) => english.to_owned(),
            (Language::Zh, (english, chinese)) => {
                format!("{chinese}({})", english.get(..1).unwrap_or_default())
            }
        };
        let Some((last, rest)) = words.split_last() else {
            return String::new();
        };
        let rest: Vec<String> = rest.iter().map(name).collect();
        match language {
            Language::En => format!("{} or {}? ", rest.join(", "), name(last)),
            Language::Zh => format!("{}或{}？ ", rest.join("、"), name(last)),
        }
    }
}

/// Asks until one of the words is said.
fn choice(words: &[Word], may_skip: bool, terminal: Terminal) -> Result<Word, Reply> {
    let skips = [Word::Skip, Word::Quit].into_iter().filter(|_| may_skip);
    let all: Vec<Word> = words.iter().copied().chain(skips).collect();
    loop {
        terminal.say_plainly(&Word::asked(&all, terminal.look.language));
        let said = read_line().ok_or(Reply::Gone)?.to_lowercase();
        match all.iter().find(|word| word.is(&said)) {
            Some(Word::Skip) => return Err(Reply::Skipped),
            Some(Word::Quit) => return Err(Reply::Gone),
            Some(word) => return Ok(*word),
            None => {}
        }
    }
}

fn decision(may_skip: bool, terminal: Terminal) -> Result<bool, Reply> {
    Ok(choice(&[Word::Yes, Word::No], may_skip, terminal)? == Word::Yes)
}

/// A form that may be declined.
fn consent(question: &Question, may_skip: bool, terminal: Terminal) -> Result<Json, Reply> {
    match choice(&[Word::FillIn, Word::No], may_skip, terminal)? {
        Word::FillIn => fields(question, terminal).map(Json::Object),
        _ => Ok(Json::Null),
    }
}

fn begins(terminal: Terminal) -> Result<(), Reply> {
    choice(&[Word::FillIn], true, terminal).map(drop)
}

fn fields(question: &Question, terminal: Terminal) -> Result<serde_json::Map<String, Json>, Reply> {
    let mut told = serde_json::Map::new();
    for field in &question.form {
        if let Some(value) = value(field, question.prefill(field).is_some(), terminal)? {
            told.insert(field.name.to_string(), value);
        }
    }
    Ok(told)
}

/// What is said of a field; nothing where what stands in it may stay.
fn value(field: &FormField, stands: bool, terminal: Terminal) -> Result<Option<Json>, Reply> {
    let (name, ty) = (&field.name, &field.ty);
    let asked = match (terminal.look.language, stands) {
        (Language::En, false) => format!("{name} ({ty}): "),
        (Language::En, true) => format!("{name} ({ty}, nothing keeps what stands there): "),
        (Language::Zh, false) => format!("{name}（{ty}）： "),
        (Language::Zh, true) => format!("{name}（{ty}，不填则保留现有内容）： "),
    };
    loop {
        terminal.say_plainly(&visible_line(&asked));
        let text = read_line().ok_or(Reply::Gone)?;
        if text.is_empty() && stands {
            return Ok(None);
        }
        let value = read_as(&from_schema(&field.schema), text);
        match field.read(Some(&value)) {
            Ok(_) => return Ok(Some(value)),
            Err(fault) => terminal.complain(&fault),
        }
    }
}

/// Text stays text where text is wanted, and is JSON elsewhere.
fn read_as(ty: &Type, text: String) -> Json {
    let is_text =
        |member: &Type| matches!(member, Type::String | Type::Literal(Literal::String(_)));
    let plain = Json::String(text);
    if ty.members().iter().any(is_text) && decode(&plain, ty).is_ok() {
        return plain;
    }
    let parsed = plain
        .as_str()
        .and_then(|text| serde_json::from_str(text).ok());
    parsed.unwrap_or(plain)
}

/// A line that somebody types, without the blanks around it; `None` at the end of the input.
pub(super) fn read_line() -> Option<String> {
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    read.is_ok_and(|read| read > 0)
        .then(|| line.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_said_is_asked_for_in_each_language_and_understood_in_both() {
        let words = [Word::Yes, Word::No, Word::Quit];
        assert_eq!(Word::asked(&words, Language::En), "yes, no or quit? ");
        assert_eq!(
            Word::asked(&words, Language::Zh),
            "是(y)、否(n)或退出(q)？ "
        );
        let meant = |said: &str| words.iter().position(|word| word.is(said));
        assert_eq!(
            ["y", "yes", "是", "退出", "是的", ""].map(meant),
            [Some(0), Some(0), Some(0), Some(2), None, None]
        );
    }

    #[test]
    fn typed_text_becomes_what_the_field_wants() {
        assert_eq!(read_as(&Type::String, "12".into()), Json::from("12"));
        assert_eq!(read_as(&Type::Int, "12".into()), Json::from(12));
        assert_eq!(read_as(&Type::Bool, "true".into()), Json::from(true));
        let level = Type::union([Type::text("a"), Type::Int]);
        assert_eq!(
            (read_as(&level, "a".into()), read_as(&level, "3".into())),
            (Json::from("a"), Json::from(3))
        );
        assert_eq!(
            read_as(&Type::Bool, "ja".into()),
            Json::from("ja"),
            "told by the check of the answer"
        );
    }
}
