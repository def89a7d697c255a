//! `planrun runs answer`: answers are held against what is asked before a run is told any of them.

use std::sync::Arc;

use clap::Args;
use serde_json::{Value as Json, json};

use super::Format;
use super::answer_path::{means, split};
use super::inbox::open_of;
use super::open::Open;
use super::say::{open, parsed};
use crate::cli::ask::{Reply, refusal, reply};
use crate::cli::run::{Look, Onward, resume};
use crate::cli::shell::command;
use crate::cli::workspace::real_host;
use crate::cli::{Exit, Failure, Terminal};
use crate::diag::render::visible_line;
use crate::journal::store::{Journal, Seen};
use crate::journal::{Accepted, AnswerError, Given, Said};
use crate::project::Location;

/// Answer what a run asks: a gate (`STEP.confirm=true`), a form (`STEP={"field": 1}`), or whether a call happened
/// (`STEP={"happened": true, "value": …}`).
///
/// `planrun runs inbox` shows what is asked, with the command that answers it. `[*]` in a path stands for every element of an
/// `each`: `mails[*].sent.confirm=true`. Either all answers of a command are taken or none is. A second answer is refused; the
/// same once more is fine.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The run, unless `--all` is given, then what is answered, and how.
    #[arg(value_name = "RUN PATH=JSON")]
    words: Vec<String>,
    /// Answer in every run of the project that asks this.
    #[arg(long)]
    all: bool,
    /// Ask for the answers, one question after the other, and read a line for each.
    #[arg(short, long)]
    interactive: bool,
    /// The role that answers, such as desk or desk:ann.
    #[arg(long, value_name = "ROLE")]
    by: Option<String>,
    /// A note that is kept with the answer.
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// Go on with the runs in this process.
    #[arg(long)]
    resume: bool,
    /// How it is told what was answered.
    #[arg(long, value_name = "FORMAT", default_value = "human", conflicts_with = "resume")]
    format: Format,
}

/// An answer that a run has got.
struct Told {
    run: String,
    path: Arc<str>,
    /// Whether the run had this answer before.
    before: bool,
}

pub fn run(journal: &Journal, location: &Location, arguments: &Arguments, terminal: Terminal) -> Result<Exit, Failure> {
    let (opens, written) = arguments.addressed(journal, terminal.place)?;
    let told = if arguments.interactive {
        arguments.ask(journal, opens, terminal)?
    } else {
        arguments.answer(journal, opens, &written)?
    };
    if arguments.format == Format::Json {
        let told: Vec<Json> =
            told.iter().map(|told| json!({ "run": told.run, "path": told.path, "before": told.before })).collect();
        let document = json!({ "version": 1, "answers": told });
        terminal.print(&format!("{}\n", serde_json::to_string_pretty(&document).unwrap_or_default()))?;
        return Ok(Exit::Fine);
    }
    for told in told.iter().filter(|told| told.before) {
        terminal.say(&format!("`{}` has this answer already", visible_line(&told.path)));
    }
    let mut runs: Vec<&str> = told.iter().map(|told| &*told.run).collect();
    runs.dedup();
    arguments.go_on(journal, location, &runs, terminal)
}

impl Arguments {
    /// The runs that are answered, and the answers.
    #[expect(clippy::type_complexity, reason = "two lists that are read at once")]
    fn addressed(&self, journal: &Journal, place: Option<&str>) -> Result<(Vec<Open>, Vec<(String, Json)>), Failure> {
        let (opens, answers) = match self.words.split_first() {
            _ if self.all => (open_of(journal, None, place)?, self.words.as_slice()),
            Some((run, rest)) if !run.contains('=') => (vec![Open::of(journal, open(journal, run)?, place)?], rest),
            _ => return Err(Failure::Usage("name the run first, or write `--all` for every run that asks".to_owned())),
        };
        let read = |text: &String| {
            let (path, value) = split(text).map_err(Failure::Usage)?;
            Ok((path, parsed(&value)?))
        };
        let answers = answers.iter().map(read).collect::<Result<Vec<_>, Failure>>()?;
        match (answers.is_empty(), self.interactive) {
            (true, false) => Err(Failure::Usage("write the answers as PATH=JSON, or `--interactive`".to_owned())),
            (false, true) => {
                Err(Failure::Usage("`--interactive` asks for the answers; leave PATH=JSON out".to_owned()))
            }
            (true, true) | (false, false) => Ok((opens, answers)),
        }
    }

    fn given(&self, path: &str, value: Json) -> Given {
        let text = |text: &Option<String>| text.as_deref().map(Arc::from);
        Given { path: path.into(), value, by: text(&self.by), note: text(&self.note) }
    }

    /// Takes all answers, or refuses all.
    fn answer(&self, journal: &Journal, opens: Vec<Open>, written: &[(String, Json)]) -> Result<Vec<Told>, Failure> {
        let mut addressed = Vec::new();
        for (path, value) in written {
            let mut found = false;
            for (index, open) in opens.iter().enumerate() {
                let asked = open.questions();
                let meant: Vec<&str> =
                    asked.iter().map(|(asked, _)| &**asked).filter(|asked| means(path, asked)).collect();
                found |= !meant.is_empty();
                // What is not open is refused with the reason.
                let named = if meant.is_empty() && !self.all { vec![path.as_str()] } else { meant };
                addressed.extend(named.into_iter().map(|path| (index, self.given(path, value.clone()))));
            }
            if self.all && !found {
                return Err(Failure::Usage(format!("no run asks anything at `{path}`")));
            }
        }
        let mut posts = Vec::new();
        for (index, mut open) in opens.into_iter().enumerate() {
            let given: Vec<Given> =
                addressed.iter().filter(|(at, _)| *at == index).map(|(_, given)| given.clone()).collect();
            if !given.is_empty() {
                let said = held_against(&mut open, &given)?;
                posts.push((open, given, said));
            }
        }
        let mut told = Vec::new();
        for (open, given, said) in posts {
            told.extend(tell(journal, open, &given, said)?);
        }
        Ok(told)
    }

    /// Asks for one answer after the other.
    fn ask(&self, journal: &Journal, opens: Vec<Open>, terminal: Terminal) -> Result<Vec<Told>, Failure> {
        let mut told = Vec::new();
        for mut open in opens {
            for (path, question) in open.questions() {
                terminal.say_plainly(&open.asked(&path, &question).told(real_host().now(), terminal.look));
                let value = match reply(&question, true, terminal) {
                    Reply::Given(value) => value,
                    Reply::Skipped => continue,
                    Reply::Gone => return Ok(told),
                };
                let mut given = self.given(&path, value);
                // Whoever sits there answers in the role that is asked for, unless another one is named.
                given.by = given.by.or_else(|| question.by.clone());
                let given = [given];
                match held_against(&mut open, &given) {
                    Ok(said) => {
                        let row = open.row.clone();
                        told.extend(tell(journal, open, &given, said)?);
                        open = Open::of(journal, journal.run(&row.run)?, terminal.place)?;
                    }
                    Err(refused) => terminal.complain(&refused.to_string()),
                }
            }
        }
        Ok(told)
    }

    /// Goes on with the runs that were told something, where that is wanted and nobody else drives them.
    fn go_on(
        &self,
        journal: &Journal,
        location: &Location,
        runs: &[&str],
        terminal: Terminal,
    ) -> Result<Exit, Failure> {
        let mut exit = Exit::Fine;
        for run in runs {
            let row = journal.run(run)?;
            if journal.is_driven(&row) {
                continue;
            }
            if !self.resume {
                terminal.say(&format!("told; go on with `{}`", terminal.command(&format!("runs resume {run}"))));
                continue;
            }
            let one = resume(journal, location, &row, Onward::new(Look::plain(terminal)))?;
            if runs.len() == 1 || !matches!(one, Exit::Fine | Exit::Paused) {
                exit = one;
            }
        }
        Ok(exit)
    }
}

/// How often an answer is held against a run again that gets further meanwhile.
const MOST_TRIES: u32 = 20;

/// What was said of each answer: nothing where the run has it already.
type SaidEach = Vec<Option<String>>;

/// Holds answers against what a run asks, one after the other.
fn held_against(open: &mut Open, given: &[Given]) -> Result<SaidEach, Failure> {
    let now = real_host().now();
    let one = |given: &Given| match open.accept(given, now) {
        Ok(Accepted::Now(_)) => Ok(Some(Said::Answer(given.clone()).to_text())),
        Ok(Accepted::Before) => Ok(None),
        Err(error) => Err(Failure::Usage(told_why(open, &error))),
    };
    given.iter().map(one).collect()
}

/// Why an answer is refused, and how the run is stopped where that was meant.
fn told_why(open: &Open, error: &AnswerError) -> String {
    let why = open.text(&refusal(error));
    match error {
        AnswerError::Twice { .. } => {
            let stop = command(open.project.as_deref(), &format!("runs cancel {}", open.row.run));
            format!("{why}; `{stop}` stops the run")
        }
        AnswerError::Unknown { .. }
        | AnswerError::Late { .. }
        | AnswerError::Withdrawn(_)
        | AnswerError::Role { .. }
        | AnswerError::Unreadable(_)
        | AnswerError::Misfit { .. } => why,
    }
}

/// Tells a run the answers, unless somebody was faster: then they are held against what it asks now.
fn tell(journal: &Journal, mut open: Open, given: &[Given], mut said: SaidEach) -> Result<Vec<Told>, Failure> {
    let mut tries = 0;
    loop {
        // A run that never rests judges by itself what it is told.
        let seen = Seen { events: open.seen.events.filter(|_| tries < MOST_TRIES), ..open.seen };
        let texts: Vec<String> = said.iter().flatten().cloned().collect();
        if journal.post_all(&open.row.run, &texts, seen)? {
            let told = |(given, said): (&Given, &Option<String>)| Told {
                run: open.row.run.clone(),
                path: given.path.clone(),
                before: said.is_none(),
            };
            return Ok(given.iter().zip(&said).map(told).collect());
        }
        open = Open::of(journal, journal.run(&open.row.run)?, open.project.as_deref())?;
        said = held_against(&mut open, given)?;
        tries += 1;
    }
}
