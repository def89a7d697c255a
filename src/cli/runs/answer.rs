//! `planrun runs answer`: validates answers against the open questions before it delivers them to a run.

use std::sync::Arc;

use clap::Args;
use planrun_lang::diag::render::{command, project, visible_line};
use serde_json::{Value as Json, json};

use super::Format;
use super::inbox::{question_view, report_unreadable};
use super::message::after_message;
use super::not_delivered;
use crate::cli::arguments::parse_json;
use crate::cli::ask::{Reply, reply};
use crate::cli::exit::refusal;
use crate::cli::{Exit, Failure, Result, Terminal};
use planrun_core::journal::{AnswerError, SubmittedAnswer};
use planrun_runs::runs::{Addressee, Answered, Error, Planrun, split_answer};

/// Answer the questions of a run
///
/// An answer is for a confirmation (`STEP.confirm=true`), a form (`STEP={"field": 1}`), or the question whether a
/// call happened (`STEP={"happened": true, "value": …}`).
///
/// `planrun runs inbox` lists the open questions, with the command that answers each. `[*]` in a path matches every
/// element of an `each`: `mails[*].sent.confirm=true`. Either all answers of a command are accepted or none. A
/// question that was answered differently before is an error; repeating the same answer is not.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Id of the run (omit with `--all`), followed by the answers
    #[arg(value_name = "RUN PATH=JSON")]
    words: Vec<String>,
    /// Answer in every run of the project that asks this
    #[arg(long)]
    all: bool,
    /// Ask for the answers on the terminal, one question after the other
    #[arg(short, long)]
    interactive: bool,
    /// Role in which to answer, such as `desk` or `desk:ann`
    #[arg(long, value_name = "ROLE")]
    by: Option<String>,
    /// Note to store with the answer
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// Resume the runs in this process
    #[arg(long)]
    resume: bool,
    /// Output format
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "human",
        conflicts_with = "resume"
    )]
    format: Format,
}

pub fn run(planrun: &Planrun, arguments: &Arguments, terminal: Terminal) -> Result<Exit> {
    let (to, answers) = arguments.addressed(planrun)?;
    let unreadable = if arguments.all {
        report_unreadable(&planrun.inbox(None)?, project(), terminal)
    } else {
        Exit::Fine
    };
    let answered = if arguments.interactive {
        arguments.ask(planrun, to, terminal)?
    } else {
        planrun.answer(to, &answers).map_err(refused)?
    };
    if arguments.format == Format::Json {
        let answered: Vec<Json> = answered
            .iter()
            .map(|one| json!({ "run": one.run, "path": one.path, "before": one.before }))
            .collect();
        let document = json!({ "version": 1, "answers": answered });
        terminal.print_document(&document)?;
        return Ok(unreadable);
    }
    for one in answered.iter().filter(|one| one.before) {
        terminal.note(&format!(
            "`{}` already has this answer",
            visible_line(&one.path)
        ));
    }
    let mut runs: Vec<&str> = answered.iter().map(|one| &*one.run).collect();
    runs.dedup();
    let resumed = arguments.resume_runs(planrun, &runs, terminal)?;
    Ok(if unreadable == Exit::Fine {
        resumed
    } else {
        unreadable
    })
}

impl Arguments {
    fn addressed(&self, planrun: &Planrun) -> Result<(Addressee<'_>, Vec<SubmittedAnswer>)> {
        let (to, answers) = match self.words.split_first() {
            _ if self.all => (Addressee::All, self.words.as_slice()),
            Some((run, rest)) if !run.contains('=') => {
                // Reports a missing run before an invalid answer.
                planrun.open_run(run).map_err(not_delivered)?;
                (Addressee::Run(run), rest)
            }
            _ => {
                return Err(Failure::Usage(
                    "name the run first, or use `--all` for every run with open questions"
                        .to_owned(),
                ));
            }
        };
        let read = |text: &String| {
            let (path, value) = split_answer(text).map_err(Failure::Usage)?;
            let value = parse_json(&format!("the answer to `{path}`"), &value)?;
            Ok(self.given(&path, value))
        };
        let answers = answers.iter().map(read).collect::<Result<Vec<_>>>()?;
        match (answers.is_empty(), self.interactive) {
            (true, false) => Err(Failure::Usage(
                "pass the answers as PATH=JSON, or use `--interactive`".to_owned(),
            )),
            (false, true) => Err(Failure::Usage(
                "`--interactive` asks for the answers; remove PATH=JSON".to_owned(),
            )),
            (true, true) | (false, false) => Ok((to, answers)),
        }
    }

    fn given(&self, path: &str, value: Json) -> SubmittedAnswer {
        let text = |text: &Option<String>| text.as_deref().map(Arc::from);
        SubmittedAnswer {
            path: path.into(),
            value,
            by: text(&self.by),
            note: text(&self.note),
        }
    }

    /// Asks for the answers on the terminal, one after the other.
    fn ask(
        &self,
        planrun: &Planrun,
        to: Addressee<'_>,
        terminal: Terminal,
    ) -> Result<Vec<Answered>> {
        let runs = match to {
            Addressee::Run(run) => vec![planrun.questions(run)?],
            Addressee::All => planrun.inbox(None)?.runs,
        };
        let mut answered = Vec::new();
        for open in runs {
            for (path, question) in open.questions() {
                let view = question_view(&open, project(), &path, &question);
                terminal.eprint(&view.render(planrun.host().now(), terminal.style));
                let value = match reply(&question, true, terminal) {
                    Reply::Given(value) => value,
                    Reply::Skipped => continue,
                    Reply::Ended => return Ok(answered),
                };
                let mut given = self.given(&path, value);
                // Unless `--by` is given, the user answers in the requested role.
                given.by = given.by.or_else(|| question.by.clone());
                match planrun.answer(Addressee::Run(open.run()), &[given]) {
                    Ok(taken) => answered.extend(taken),
                    Err(error @ Error::Answer { .. }) => {
                        terminal.error(&refused(error).to_string());
                    }
                    Err(error) => return Err(refused(error)),
                }
            }
        }
        Ok(answered)
    }

    /// Resumes the runs that got an answer, if requested and no process drives them. One of several runs that cannot be
    /// resumed is reported, and the others go on.
    fn resume_runs(&self, planrun: &Planrun, runs: &[&str], terminal: Terminal) -> Result<Exit> {
        if let [run] = runs {
            return after_message(planrun, run, self.resume, terminal);
        }
        let mut exit = Exit::Fine;
        for run in runs {
            match after_message(planrun, run, self.resume, terminal) {
                Ok(Exit::Paused) => {}
                Ok(one) => exit = exit.or_worse(one),
                Err(Failure::Interrupted) => return Ok(Exit::Interrupted),
                Err(failure) => {
                    terminal.error(&format!("{run}: {failure}"));
                    exit = exit.or_worse(Exit::from(&failure));
                }
            }
        }
        Ok(exit)
    }
}

/// Describes why an answer is refused. If the question already has a different answer, also how to cancel the run.
fn refused(error: Error) -> Failure {
    match &error {
        Error::Answer {
            run,
            error: error @ AnswerError::Twice { .. },
        } => {
            let stop = command(&format!("runs cancel {run}"));
            Failure::Usage(format!("{}; cancel the run with `{stop}`", refusal(error)))
        }
        _ => not_delivered(error),
    }
}
