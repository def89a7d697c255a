//! Answers to the questions of a plan: given with `--answer`, or read from the terminal.

use std::io::{self, BufRead as _, IsTerminal as _};
use std::pin::Pin;
use std::sync::Arc;
use std::thread::Builder;

use parking_lot::Mutex;
use planrun_lang::diag::render::{Language, command, project, visible_line};
use planrun_lang::types::{Literal, Type, decode, from_schema};
use serde_json::Value as Json;
use tokio::sync::oneshot;

use super::arguments::{RunArguments, RunFormat, parse_json};
use super::echo::without_echo;
use super::question::{QuestionView, more_questions};
use super::terminal::at_prompt;
use super::{Result, Terminal};
use planrun_core::journal::{FormField, Question, SubmittedAnswer, Waiting};
use planrun_core::run::{Asking, Outcome};
use planrun_runs::driver::{Answering, Asker};
use planrun_runs::runs::real_host;

/// Returns the source of answers for this process: first `--answer`, then the user at the terminal.
pub(super) fn answering(arguments: &RunArguments, terminal: Terminal) -> Result<Answering> {
    let given = |(path, text): &(String, String)| {
        let value = parse_json(&format!("the answer to `{path}`"), text)?;
        let by = arguments.by.as_deref().map(Arc::from);
        Ok(SubmittedAnswer {
            path: path.as_str().into(),
            value,
            by,
            note: None,
        })
    };
    let answers = arguments.answers.iter().map(given).collect::<Result<_>>()?;
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

/// Returns an asker that asks the user at the terminal.
pub(super) fn at_terminal(terminal: Terminal) -> Arc<dyn Asker> {
    Arc::new(AtTerminal {
        terminal,
        ended: Arc::default(),
    })
}

/// Maximum number of questions printed when a run pauses; the remaining ones are counted.
const MAX_QUESTIONS: usize = 5;

/// Prints the open questions of a run, and the answers that no question asked for.
pub(super) fn print_open_questions(outcome: &Outcome, terminal: Terminal) {
    let now = real_host().now();
    for (path, question) in outcome.questions.iter().take(MAX_QUESTIONS) {
        // Only a run that was interrupted before its end can still be answered.
        let run = outcome
            .interruption
            .is_some()
            .then_some((&*outcome.run, &*outcome.plan));
        let view = QuestionView {
            project: project(),
            run,
            path,
            question,
        };
        terminal.note(view.render(now, terminal.style).trim_end());
    }
    let more = outcome.questions.len().saturating_sub(MAX_QUESTIONS);
    if more > 0 {
        terminal.note(&more_questions(
            more,
            &command("runs inbox"),
            terminal.style.language,
        ));
    }
    for path in &outcome.unused_answers {
        terminal.warning(&format!(
            "`--answer {}` was not used: no question asked for it",
            visible_line(path)
        ));
    }
}

/// Asks the user at the terminal, one question at a time.
struct AtTerminal {
    terminal: Terminal,
    /// Whether standard input has ended, so that no further question can be answered.
    ended: Arc<Mutex<bool>>,
}

impl Asker for AtTerminal {
    fn ask(&self, asking: Asking) -> Pin<Box<dyn Future<Output = Option<SubmittedAnswer>> + Send>> {
        let (terminal, ended) = (self.terminal, self.ended.clone());
        let (sender, answer) = oneshot::channel();
        // Reads on a thread of its own: the run may end before the user has answered, and must not wait for the
        // answer.
        let asking = Builder::new().spawn(move || {
            let mut ended = ended.lock();
            let given = if *ended {
                None
            } else {
                ask_at_terminal(&asking, terminal)
            };
            *ended = given.is_none();
            // Somebody else may have answered by now, or the question may have expired.
            if let Err(Some(_)) = sender.send(given) {
                terminal.error(match terminal.style.language {
                    Language::En => "the question is closed, so your answer was not used",
                    Language::Zh => "该问题已关闭，未使用您的回答",
                });
            }
        });
        if let Err(error) = asking {
            terminal.error(&format!("cannot ask here: {error}"));
        }
        Box::pin(async move { answer.await.ok().flatten() })
    }
}

/// Prints a question and reads its answer; `None` at the end of the input.
fn ask_at_terminal(asking: &Asking, terminal: Terminal) -> Option<SubmittedAnswer> {
    let question = &asking.question;
    if let Some(refused) = &asking.refused {
        terminal.error(&match terminal.style.language {
            Language::En => format!("rejected: {refused}"),
            Language::Zh => format!("未接受：{refused}"),
        });
    }
    let view = QuestionView {
        project: None,
        run: None,
        path: &asking.path,
        question,
    };
    terminal.eprint(&view.render(real_host().now(), terminal.style));
    match reply(question, false, terminal) {
        // The user at the terminal started the run, and answers in the requested role.
        Reply::Given(value) => Some(SubmittedAnswer {
            path: asking.path.clone(),
            value,
            by: question.by.clone(),
            note: None,
        }),
        Reply::Skipped | Reply::Ended => None,
    }
}

/// The user's reply to a question on the terminal.
pub(super) enum Reply {
    Given(Json),
    Skipped,
    /// The input has ended, or the user wants no more questions.
    Ended,
}

/// Reads an answer, one line for each part of it.
pub(super) fn reply(question: &Question, may_skip: bool, terminal: Terminal) -> Reply {
    let answered = match question.kind {
        Waiting::Confirm | Waiting::Approval => decision(may_skip, terminal).map(Json::Bool),
        Waiting::Answer => decision(may_skip, terminal).and_then(|happened| {
            let mut values = if happened {
                fields(question, terminal)?
            } else {
                serde_json::Map::new()
            };
            values.insert("happened".to_owned(), Json::Bool(happened));
            Ok(Json::Object(values))
        }),
        Waiting::Peer => consent(question, may_skip, terminal),
        Waiting::Input
        | Waiting::Retry
        | Waiting::Poll
        | Waiting::Outcome
        | Waiting::Effects
        | Waiting::Time => {
            let confirm_start = if may_skip {
                confirm_start(terminal)
            } else {
                Ok(())
            };
            confirm_start
                .and_then(|()| fields(question, terminal))
                .map(Json::Object)
        }
    };
    match answered {
        Ok(value) => Reply::Given(value),
        Err(other) => other,
    }
}

/// A word that the user can answer a question with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Word {
    Yes,
    No,
    FillIn,
    Skip,
    Quit,
}

impl Word {
    /// The English name, whose first letter is accepted in every language, and the Chinese name.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Yes => ("yes", "是"),
            Self::No => ("no", "否"),
            Self::FillIn => ("fill in", "填写"),
            Self::Skip => ("skip", "跳过"),
            Self::Quit => ("quit", "退出"),
        }
    }

    fn is(self, text: &str) -> bool {
        let (english, chinese) = self.names();
        text == english || text == chinese || (text.len() == 1 && english.starts_with(text))
    }

    fn prompt(words: &[Self], language: Language) -> String {
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

/// Asks until the user enters one of the words.
fn choice(words: &[Word], may_skip: bool, terminal: Terminal) -> Result<Word, Reply> {
    let skips = [Word::Skip, Word::Quit].into_iter().filter(|_| may_skip);
    let all: Vec<Word> = words.iter().copied().chain(skips).collect();
    loop {
        terminal.eprint(&Word::prompt(&all, terminal.style.language));
        let typed = read_line().ok_or(Reply::Ended)?.to_lowercase();
        match all.iter().find(|word| word.is(&typed)) {
            Some(Word::Skip) => return Err(Reply::Skipped),
            Some(Word::Quit) => return Err(Reply::Ended),
            Some(word) => return Ok(*word),
            None => {}
        }
    }
}

fn decision(may_skip: bool, terminal: Terminal) -> Result<bool, Reply> {
    Ok(choice(&[Word::Yes, Word::No], may_skip, terminal)? == Word::Yes)
}

/// Reads a form that may be declined.
fn consent(question: &Question, may_skip: bool, terminal: Terminal) -> Result<Json, Reply> {
    match choice(&[Word::FillIn, Word::No], may_skip, terminal)? {
        Word::FillIn => fields(question, terminal).map(Json::Object),
        _ => Ok(Json::Null),
    }
}

fn confirm_start(terminal: Terminal) -> Result<(), Reply> {
    choice(&[Word::FillIn], true, terminal).map(drop)
}

fn fields(question: &Question, terminal: Terminal) -> Result<serde_json::Map<String, Json>, Reply> {
    let mut values = serde_json::Map::new();
    for field in &question.form {
        if let Some(value) = value(field, question.prefill(field).is_some(), terminal)? {
            values.insert(field.name.to_string(), value);
        }
    }
    Ok(values)
}

/// Reads the value of a field; `None` keeps the prefilled value.
fn value(field: &FormField, prefilled: bool, terminal: Terminal) -> Result<Option<Json>, Reply> {
    let (name, shown, language) = (&field.name, &field.ty, terminal.style.language);
    let ty = from_schema(&field.schema);
    let empty = match (language, prefilled, allows_null(&ty)) {
        (Language::En, true, _) => ", empty keeps the current value",
        (Language::Zh, true, _) => "，不填则保留现有内容",
        (Language::En, false, true) => ", may be empty",
        (Language::Zh, false, true) => "，可不填",
        (_, false, false) => "",
    };
    let hidden = match language {
        _ if !field.secret => "",
        Language::En => ", not displayed",
        Language::Zh => "，输入不显示",
    };
    let prompt = match language {
        Language::En => format!("{name} ({shown}{empty}{hidden}): "),
        Language::Zh => format!("{name}（{shown}{empty}{hidden}）： "),
    };
    loop {
        terminal.eprint(&visible_line(&prompt));
        let text = if field.secret {
            without_echo(read_line)
        } else {
            read_line()
        };
        let text = text.ok_or(Reply::Ended)?;
        if text.is_empty() && prefilled {
            return Ok(None);
        }
        let value = read_as(&ty, text);
        let Err(fault) = field.read(Some(&value)) else {
            return Ok(Some(value));
        };
        terminal.error(&fault);
        if let Some(example) = field.example() {
            let example = visible_line(&typed(&example)).into_owned();
            terminal.note(&match language {
                Language::En => format!("for example: {example}"),
                Language::Zh => format!("例如：{example}"),
            });
        }
    }
}

/// Returns what a user types for a value.
fn typed(value: &Json) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

fn allows_null(ty: &Type) -> bool {
    ty.members().contains(&Type::Null)
}

/// Converts the text that was typed into a JSON value: no text is null if the type accepts it, any other text is a
/// string if the type accepts one, and is otherwise parsed as JSON.
fn read_as(ty: &Type, text: String) -> Json {
    if text.is_empty() && allows_null(ty) {
        return Json::Null;
    }
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

/// Reads a line from standard input, trimmed; `None` at the end of the input.
pub(super) fn read_line() -> Option<String> {
    let mut line = String::new();
    let read = at_prompt(|| io::stdin().lock().read_line(&mut line));
    read.is_ok_and(|read| read > 0)
        .then(|| line.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_said_is_asked_for_in_each_language_and_understood_in_both() {
        let words = [Word::Yes, Word::No, Word::Quit];
        assert_eq!(Word::prompt(&words, Language::En), "yes, no or quit? ");
        assert_eq!(
            Word::prompt(&words, Language::Zh),
            "是(y)、否(n)或退出(q)？ "
        );
        let meant = |text: &str| words.iter().position(|word| word.is(text));
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
        let note = Type::union([Type::String, Type::Null]);
        assert_eq!(read_as(&note, String::new()), Json::Null);
        assert_eq!(read_as(&note, "null".into()), Json::from("null"));
        assert_eq!(
            read_as(&Type::Bool, "ja".into()),
            Json::from("ja"),
            "told by the check of the answer"
        );
    }
}
