//! `planrun runs events`: what was written of a run, one event a line.

use clap::{Args, ValueEnum};
use planrun_lang::diag::render::{Look, visible_line};
use planrun_lang::value::Value;

use crate::cli::question::{Asked, said};
use crate::cli::run::wait;
use crate::cli::{Exit, Failure, Terminal};
use planrun_core::journal::{Entry, EventName, Waiting};
use planrun_runs::runs::{EventOptions, Planrun, RunEvent};

/// Print the events of a run.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The run.
    #[arg(value_name = "RUN")]
    run: String,
    /// Only events of this step and of those in it.
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// Only events of this kind, such as `step.settled`. May be repeated.
    #[arg(long, value_name = "EVENT")]
    event: Vec<String>,
    /// Begin with this event.
    #[arg(long, value_name = "N", default_value = "1")]
    from: u64,
    /// Go on until the run ends.
    #[arg(long)]
    follow: bool,
    /// How they are printed.
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: EventFormat,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum EventFormat {
    /// For people.
    Human,
    /// As they were written, with marks for what is secret: one JSON object a line.
    Ndjson,
}

pub fn run(planrun: &Planrun, arguments: &Arguments, terminal: Terminal) -> Result<Exit, Failure> {
    let mut events = planrun.events(
        &arguments.run,
        EventOptions {
            from: arguments.from,
        },
    )?;
    if arguments.follow {
        wait(async {
            while let Some(event) = events.follow().await {
                arguments.print(&event?, terminal)?;
            }
            Ok::<(), Failure>(())
        })??;
    } else {
        for event in events {
            arguments.print(&event?, terminal)?;
        }
    }
    Ok(Exit::Fine)
}

impl Arguments {
    fn print(&self, event: &RunEvent, terminal: Terminal) -> Result<(), Failure> {
        let entry = Entry::read(event.line.as_bytes());
        let entry = entry
            .map_err(|error| Failure::Environment(format!("event {}: {error}", event.number)))?;
        if !self.wants(&entry) {
            return Ok(());
        }
        match self.format {
            EventFormat::Ndjson => terminal.print_json(&format!("{}\n", event.line)),
            EventFormat::Human => {
                terminal.print(&(told(&entry) + &asked_or_said(entry, terminal.look)))
            }
        }
    }

    fn wants(&self, entry: &Entry) -> bool {
        let inside = |path: &str, outer: &str| {
            path.strip_prefix(outer)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        let at = self
            .path
            .as_deref()
            .is_none_or(|outer| inside(entry.path.as_deref().unwrap_or_default(), outer));
        at && (self.event.is_empty() || self.event.iter().any(|name| name == entry.event.name()))
    }
}

/// The question that an event asks, or the answer that it brings.
fn asked_or_said(mut entry: Entry, look: Look) -> String {
    let path = entry.path.clone().unwrap_or_default();
    let mut not_here = |_: &str| Err("it is kept apart".to_owned());
    match entry.waits_for {
        Some(Waiting::Confirm | Waiting::Input | Waiting::Answer | Waiting::Peer) => {
            let at = entry.instant();
            let Ok(question) = entry.question(&mut not_here) else {
                return String::new();
            };
            Asked {
                project: None,
                run: None,
                path: &question.path(&path),
                question: &question,
            }
            .told(at, look)
        }
        _ if entry.event == EventName::AnswerGiven => {
            let value = entry
                .answer(&mut not_here)
                .ok()
                .flatten()
                .unwrap_or(Value::Null);
            said(&value, entry.by.as_deref(), entry.note.as_deref(), look)
        }
        _ => String::new(),
    }
}

fn told(entry: &Entry) -> String {
    let mut parts = vec![format!(
        "{:>5}  {}  {:<15}",
        entry.number,
        entry.at,
        entry.event.name()
    )];
    let shown = |text: &str| visible_line(text).into_owned();
    parts.extend(entry.path.as_deref().map(shown));
    parts.extend(
        entry
            .tool
            .as_deref()
            .filter(|tool| !tool.is_empty())
            .map(shown),
    );
    parts.extend(
        entry
            .attempt
            .filter(|attempt| *attempt > 1)
            .map(|attempt| format!("attempt {attempt}")),
    );
    parts.extend(entry.status.as_deref().map(shown));
    parts.extend(
        entry
            .reason
            .as_deref()
            .map(|reason| format!("({})", visible_line(reason))),
    );
    parts.extend(
        entry
            .wait_ms
            .map(|wait| format!("for {}", super::when::length(wait))),
    );
    parts.extend(
        entry
            .error
            .as_ref()
            .map(|error| format!("{}: {}", error.class, visible_line(&error.message))),
    );
    format!("{}\n", parts.join("  ").trim_end())
}
