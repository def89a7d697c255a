//! `planrun runs answer`: answers are held against what is asked before a run is told any of them.

use std::sync::Arc;

use clap::Args;
use planrun_lang::diag::render::visible_line;
use serde_json::{Value as Json, json};

use super::Format;
use super::inbox::asked;
use super::say::parsed;
use super::{nothing_told, resume};
use crate::cli::ask::{Reply, reply};
use crate::cli::exit::refusal;
use crate::cli::run::OutputOptions;
use crate::cli::{Exit, Failure, Terminal};
use planrun_core::journal::{AnswerError, Given};
use planrun_runs::runs::{Addressee, Answered, Error, Planrun, ResumeOptions, split_answer};

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
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "human",
        conflicts_with = "resume"
    )]
    format: Format,
}

pub fn run(planrun: &Planrun, arguments: &Arguments, terminal: Terminal) -> Result<Exit, Failure> {
    let (to, answers) = arguments.addressed(planrun)?;
    let answered = if arguments.interactive {
        arguments.ask(planrun, to, terminal)?
    } else {
        planrun
            .answer(to, &answers)
            .map_err(|error| refused(error, terminal))?
    };
    if arguments.format == Format::Json {
        let answered: Vec<Json> = answered
            .iter()
            .map(|one| json!({ "run": one.run, "path": one.path, "before": one.before }))
            .collect();
        let document = json!({ "version": 1, "answers": answered });
        terminal.print(&format!(
            "{}\n",
            serde_json::to_string_pretty(&document).unwrap_or_default()
        ))?;
        return Ok(Exit::Fine);
    }
    for one in answered.iter().filter(|one| one.before) {
        terminal.say(&format!(
            "`{}` has this answer already",
            visible_line(&one.path)
        ));
    }
    let mut runs: Vec<&str> = answered.iter().map(|one| &*one.run).collect();
    runs.dedup();
    arguments.go_on(planrun, &runs, terminal)
}

impl Arguments {
    /// Whose questions are answered, and the answers.
    fn addressed(&self, planrun: &Planrun) -> Result<(Addressee<'_>, Vec<Given>), Failure> {
        let (to, answers) = match self.words.split_first() {
            _ if self.all => (Addressee::All, self.words.as_slice()),
            Some((run, rest)) if !run.contains('=') => {
                // Whether there is such a run is told before what is wrong with an answer.
                planrun.open_run(run).map_err(nothing_told)?;
                (Addressee::Run(run), rest)
            }
            _ => {
                return Err(Failure::Usage(
                    "name the run first, or write `--all` for every run that asks".to_owned(),
                ));
            }
        };
        let read = |text: &String| {
            let (path, value) = split_answer(text).map_err(Failure::Usage)?;
            Ok(self.given(&path, parsed(&value)?))
        };
        let answers = answers
            .iter()
            .map(read)
            .collect::<Result<Vec<_>, Failure>>()?;
        match (answers.is_empty(), self.interactive) {
            (true, false) => Err(Failure::Usage(
                "write the answers as PATH=JSON, or `--interactive`".to_owned(),
            )),
            (false, true) => Err(Failure::Usage(
                "`--interactive` asks for the answers; leave PATH=JSON out".to_owned(),
            )),
            (true, true) | (false, false) => Ok((to, answers)),
        }
    }

    fn given(&self, path: &str, value: Json) -> Given {
        let text = |text: &Option<String>| text.as_deref().map(Arc::from);
        Given {
            path: path.into(),
            value,
            by: text(&self.by),
            note: text(&self.note),
        }
    }

    /// Asks for one answer after the other.
    fn ask(
        &self,
        planrun: &Planrun,
        to: Addressee<'_>,
        terminal: Terminal,
    ) -> Result<Vec<Answered>, Failure> {
        let runs = match to {
            Addressee::Run(run) => vec![planrun.questions(run)?],
            Addressee::All => planrun.inbox(None)?,
        };
        let mut answered = Vec::new();
        for open in runs {
            for (path, question) in open.questions() {
                let asked = asked(&open, terminal.place, &path, &question);
                terminal.say_plainly(&asked.told(planrun.host().now(), terminal.look));
                let value = match reply(&question, true, terminal) {
                    Reply::Given(value) => value,
                    Reply::Skipped => continue,
                    Reply::Gone => return Ok(answered),
                };
                let mut given = self.given(&path, value);
                // Whoever sits there answers in the role that is asked for, unless another one is named.
                given.by = given.by.or_else(|| question.by.clone());
                match planrun.answer(Addressee::Run(open.run()), &[given]) {
                    Ok(taken) => answered.extend(taken),
                    Err(error @ Error::Answer { .. }) => {
                        terminal.complain(&refused(error, terminal).to_string());
                    }
                    Err(error) => return Err(refused(error, terminal)),
                }
            }
        }
        Ok(answered)
    }

    /// Goes on with the runs that were told something, where that is wanted and nobody else drives them.
    fn go_on(&self, planrun: &Planrun, runs: &[&str], terminal: Terminal) -> Result<Exit, Failure> {
        let mut exit = Exit::Fine;
        for run in runs {
            if planrun.run(run)?.driven {
                continue;
            }
            if !self.resume {
                terminal.say(&format!(
                    "told; go on with `{}`",
                    terminal.command(&format!("runs resume {run}"))
                ));
                continue;
            }
            let one = resume(
                planrun,
                run,
                ResumeOptions::default(),
                OutputOptions::plain(terminal),
            )?;
            if runs.len() == 1 || !matches!(one, Exit::Fine | Exit::Paused) {
                exit = one;
            }
        }
        Ok(exit)
    }
}

/// Why an answer is refused, and how the run is stopped where that was meant.
fn refused(error: Error, terminal: Terminal) -> Failure {
    match &error {
        Error::Answer {
            run,
            error: error @ AnswerError::Twice { .. },
        } => {
            let stop = terminal.command(&format!("runs cancel {run}"));
            Failure::Usage(format!("{}; `{stop}` stops the run", refusal(error)))
        }
        _ => nothing_told(error),
    }
}
