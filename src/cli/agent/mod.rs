//! `planrun agent`: a model turns a request into a plan that is checked, approved once and run, or calls tools in a
//! loop.

mod repeated;
mod rounds;

use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use planrun_agent::planner::{DEFAULT_ROUNDS, Event, Form, Options, Planned, Planner, Refusal};
use planrun_agent::profile::{Overrides, Profile};
use planrun_core::run::Outcome;
use planrun_lang::diag::render::{human, visible_line, visible_text};
use planrun_lang::protocol::RunState;
use planrun_lang::types::{Budget, Denied, ErrorClass};
use planrun_models::client::{HttpModel, Models};
use planrun_models::model::Part;
use planrun_runs::driver::Answering;
use planrun_runs::runs::{
    Error, Inputs, Planrun, Repeated, ResumeOptions, RunOptions, Workspace, new_run_id, real_host,
};
use planrun_serve::mode::{PlanMode, SaveError, run_options, would_repeat};
use planrun_serve::report;

use crate::cli::arguments::{RunFormat, RunOutput, at_least_one};
use crate::cli::input::read_bytes;
use crate::cli::run::{OutputOptions, drive_with_progress, print_forecast, print_outcome, wait};
use crate::cli::{Exit, Failure, Result, Terminal, ask};

const EXAMPLES: &str = "\
Examples:
  planrun agent \"Close every open ticket of Li\"            plan, ask once, run
  planrun agent --dry-run \"Close every open ticket of Li\"  the plan, and what it would do at most
  planrun agent --save tidy \"Close every open ticket\"      save the plan as plans/tidy.plan
  planrun agent --input request.txt --model large          a longer request, another model
  planrun agent --dry-run --repeat 20 \"Count the tickets\"  how often the model finds a plan
  planrun agent --debug \"What is the oldest ticket?\"       print everything that the model writes
  planrun agent --mode loop \"Tidy up @[notes]\"             the model calls tools until it is done
  planrun agent --mode loop --session ID \"And now?\"        continue the same conversation
  planrun agent --mode loop --agent reviewer \"Is it done?\" use this agent type of planrun.yaml

The model is configured under `models` in planrun.yaml, or with OPENAI_MODEL, OPENAI_BASE_URL and OPENAI_API_KEY. It \
sees the available tools and their parameters. The plan that it writes is checked, can reach only what `allow` in \
planrun.yaml permits, and changes nothing before a person has approved everything that it may do. In a loop, every call \
that changes something requires approval. `@[path]`, `@[path:10]` and `@[path:10:20]` in the request include the text of \
files.";

/// Maximum size of a request, in bytes.
const MAX_REQUEST: usize = 256 * 1024;
/// Default number of times that a plan that failed during the run is corrected.
const DEFAULT_REPAIRS: usize = 2;

/// Plan and run a request in natural language: a model writes a plan, which is checked, approved once and run
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Request in natural language
    #[arg(required_unless_present_any = ["input", "session"], conflicts_with = "input")]
    request: Option<String>,
    /// Read the request from a file, or from standard input with `-`
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// How to carry out the request
    #[arg(long, value_enum, default_value_t)]
    mode: Mode,
    /// With `--mode loop`, id of the conversation to continue, or of a new one
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// With `--mode loop`, type of the agent: one of `agents` in planrun.yaml
    #[arg(long, value_name = "TYPE")]
    agent: Option<String>,
    /// Model to use: a name in planrun.yaml, or a name that the model server knows
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// YAML file with the profile of the model: name, role, goals, tasks, backstory, language, tone
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
    /// Override a field of the profile, such as `tone=warm` or `goals=["be brief"]` (repeatable)
    #[arg(long, value_name = "FIELD=VALUE")]
    set: Vec<String>,
    /// Form in which the model writes the plan [default: text]
    #[arg(long, value_enum)]
    form: Option<PlanForm>,
    /// Execute at most N steps per run
    #[arg(long, value_name = "N", value_parser = at_least_one::<u64>)]
    max_steps: Option<u64>,
    /// Ask the model at most N times: for a plan without errors [default: 6], or in a loop [default: 30]
    #[arg(long, value_name = "N", value_parser = at_least_one::<usize>)]
    rounds: Option<usize>,
    /// Let the model correct a plan that failed during the run at most N times; completed steps are not repeated
    /// [default: 2]
    #[arg(long, value_name = "N")]
    repairs: Option<usize>,
    /// Print the plan and what it would do at most, without running it
    #[arg(long)]
    dry_run: bool,
    /// With `--dry-run`, have the request planned N times, independently, and print the number of each result
    #[arg(long, value_name = "N", value_parser = at_least_one::<u32>, requires = "dry_run", conflicts_with = "save")]
    repeat: Option<u32>,
    /// Save the plan as plans/NAME.plan
    #[arg(long, value_name = "NAME")]
    save: Option<String>,
    /// What to print of the run [default: reply]
    #[arg(long, value_enum)]
    output: Option<RunOutput>,
    /// Output format
    #[arg(long, value_enum, default_value_t = RunFormat::Human)]
    format: RunFormat,
    /// Print the reasoning and the text of the model, every plan, and all diagnostics
    #[arg(long)]
    debug: bool,
}

/// The ways to carry out a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
enum Mode {
    /// The model writes a plan, which is checked, approved as a whole and run
    #[default]
    Plan,
    /// The model calls tools, round by round
    Loop,
}

/// The forms in which a model writes a plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum PlanForm {
    /// Text, in a fenced code block
    Text,
    /// JSON form, with the structured output of the model server
    Json,
}

/// Carries out a request. Returns an error if the request cannot be read, or the project or the model is not available.
pub fn run(arguments: &Arguments, project: Option<&Path>, terminal: Terminal) -> Result<Exit> {
    let loop_flags = [
        ("--session", arguments.session.is_some()),
        ("--agent", arguments.agent.is_some()),
    ];
    if let (Mode::Plan, Some((name, _))) = (arguments.mode, loop_flags.iter().find(|one| one.1)) {
        return Err(Failure::Usage(format!("`{name}` requires `--mode loop`")));
    }
    let host = real_host();
    let location = Workspace::locate(&*host, Path::new("-"), project)?;
    let planrun = Planrun::at(host, location);
    match arguments.mode {
        Mode::Plan => plan(planrun, arguments, terminal),
        Mode::Loop => rounds::run(planrun, arguments, terminal),
    }
}

/// Has a plan written, checked, approved and run. If the run fails, the model corrects the plan.
fn plan(planrun: Planrun, arguments: &Arguments, terminal: Terminal) -> Result<Exit> {
    let request = request_of_plan(arguments)?;
    let model = model(&planrun, arguments.model.as_deref())?;
    let options = options(arguments)?;
    if let Some(times) = arguments.repeat {
        return repeated::run(
            &planrun,
            &model,
            (&request, times),
            &options,
            arguments,
            terminal,
        );
    }
    let mut watch = |event: Event<'_>| print_event(event, arguments.debug, terminal);
    let mut planner = match Planner::new(planrun, &model, options, &mut watch) {
        Err(Error::Findings(found)) => {
            terminal.eprint(&human(&found, terminal.style));
            return Ok(Exit::Findings);
        }
        planner => planner?,
    };
    let answer = wait(planner.plan(&request))?;
    carry_out(&mut planner, answer, arguments, terminal)
}

/// Runs the plan that the model has written. While it fails, the model corrects it.
fn carry_out(
    planner: &mut Planner<'_>,
    mut answer: std::result::Result<Planned, Refusal>,
    arguments: &Arguments,
    terminal: Terminal,
) -> Result<Exit> {
    let mut base = None;
    let mut repairs = arguments.repairs.unwrap_or(DEFAULT_REPAIRS);
    loop {
        let plan = match answer {
            Ok(plan) => plan,
            Err(refusal) => return print_refusal(refusal, terminal),
        };
        if let Some(name) = &arguments.save {
            save(planner.planrun(), name, &plan.text)?;
        }
        if arguments.dry_run {
            return preview(planner.planrun(), &plan, arguments, terminal);
        }
        let outcome = match drive(planner.planrun(), &plan, base.clone(), arguments, terminal)? {
            Attempt::Ended(outcome) => *outcome,
            Attempt::Repeats { run, steps } if repairs == 0 => {
                let refusal = Refusal::Unusable(would_repeat(&run, &steps));
                return print_refusal(refusal, terminal);
            }
            Attempt::Repeats { run, steps } => {
                repairs -= 1;
                terminal.note("the plan would repeat effects; asking the model to correct it");
                answer = wait(planner.keep_effects(&run, &steps))?;
                continue;
            }
        };
        let has_failed = outcome.state == RunState::Failed && outcome.interruption.is_none();
        // A person who has refused a plan is not asked about another one, and no correction raises `--max-steps`.
        let is_final = outcome.error.as_ref().is_some_and(|error| {
            let is_spent = error.class == ErrorClass::Budget(Budget::Calls);
            error.class == ErrorClass::Denied(Denied::Human)
                || is_spent && arguments.max_steps.is_some()
        });
        if !has_failed || is_final || repairs == 0 {
            return print_outcome(&outcome, None, output(arguments, terminal));
        }
        repairs -= 1;
        let report = report::facts(&outcome);
        terminal.note(&format!(
            "the run {} has failed; asking the model to correct the plan",
            outcome.run
        ));
        answer = wait(planner.repair(&outcome.run, &report))?;
        base = Some(outcome.run);
    }
}

fn options(arguments: &Arguments) -> Result<Options> {
    Ok(Options {
        rounds: arguments.rounds.unwrap_or(DEFAULT_ROUNDS),
        max_steps: arguments.max_steps,
        form: match arguments.form {
            None | Some(PlanForm::Text) => Form::Text,
            Some(PlanForm::Json) => Form::Json,
        },
        begins_early: !arguments.dry_run,
        profile: profile(arguments)?,
    })
}

fn request(arguments: &Arguments) -> Result<String> {
    let Some(path) = &arguments.input else {
        let text = arguments.request.clone().unwrap_or_default();
        return accepted(text.into_bytes());
    };
    // One byte above the limit is enough for the error.
    let bytes = read_bytes(path, MAX_REQUEST as u64 + 1).map_err(|error| {
        let path = path.display();
        Failure::Environment(format!("cannot read the request from `{path}`: {error}"))
    })?;
    let text = accepted(bytes)?;
    if text.trim().is_empty() {
        return Err(Failure::Usage("the request is empty".to_owned()));
    }
    Ok(text)
}

/// Returns the request for a plan. An empty one, and a name under which no plan can be saved, are refused before the model
/// is asked and paid.
fn request_of_plan(arguments: &Arguments) -> Result<String> {
    let request = request(arguments)?;
    if request.trim().is_empty() {
        return Err(Failure::Usage("the request is empty".to_owned()));
    }
    let named = arguments
        .save
        .as_deref()
        .map_or(Ok(()), PlanMode::valid_name);
    named.map_err(|why| Failure::Usage(why.to_string()))?;
    Ok(request)
}

/// Returns the text of a request, which must be UTF-8 and not too large.
fn accepted(bytes: Vec<u8>) -> Result<String> {
    if bytes.len() > MAX_REQUEST {
        return Err(Failure::Usage(format!(
            "the request is larger than {} KiB; shorten it, or refer to files in it with `@[path]`",
            MAX_REQUEST / 1024
        )));
    }
    String::from_utf8(bytes)
        .map_err(|_| Failure::Usage("the request is not UTF-8; save it as UTF-8".to_owned()))
}

/// Returns the profile for this request.
fn profile(arguments: &Arguments) -> Result<Profile> {
    let own = match &arguments.profile {
        Some(path) => read_profile(path)?,
        None => Profile::default(),
    };
    let overrides = Overrides::read(&arguments.set)
        .map_err(|error| Failure::Usage(format!("`--set`: {error}")))?;
    Ok(own.merged(overrides))
}

fn read_profile(path: &Path) -> Result<Profile> {
    let failed = |error: &dyn std::fmt::Display| {
        Failure::Environment(format!("the profile {}: {error}", path.display()))
    };
    let text = real_host()
        .read_file(path)
        .map_err(|error| failed(&error))?;
    Profile::read(&text).map_err(|error| failed(&error))
}

fn model(planrun: &Planrun, name: Option<&str>) -> Result<HttpModel> {
    let workspace = planrun.workspace()?;
    let models = Models::of(&workspace.project, planrun.host());
    models
        .open(name)
        .map_err(|error| Failure::Environment(error.to_string()))
}

/// Prints the progress of the planner to standard error.
fn print_event(event: Event<'_>, debug: bool, terminal: Terminal) {
    match event {
        Event::Asked(1) => terminal.note("planning …"),
        Event::Asked(turn) => terminal.note(&format!("asking the model again (turn {turn})")),
        Event::Part(Part::Reasoning(text) | Part::Text(text)) if debug => {
            terminal.eprint(&visible_text(text));
        }
        Event::Part(Part::Retry { after, why }) => note_retry(*after, why, terminal),
        Event::LookedUp { tool, arguments } if debug => {
            terminal.note(&format!("{tool} {}", visible_text(arguments)));
        }
        Event::Plan(text) if debug => {
            terminal.note(&format!("plan of the model:\n{}", visible_text(text)));
        }
        Event::Part(_) | Event::LookedUp { .. } | Event::Plan(_) => {}
        Event::Findings(report_text) if debug => terminal.note(report_text.trim_end()),
        Event::Findings(report_text) => {
            let first = report_text.lines().next().unwrap_or_default();
            terminal.note(first.trim_end_matches(':'));
        }
    }
}

/// Prints that the model is asked again after a wait.
fn note_retry(after: Duration, why: &str, terminal: Terminal) {
    let wait = after.as_secs();
    terminal.note(&format!(
        "asking the model again in {wait}s: {}",
        visible_line(why)
    ));
}

/// Prints why there is no plan.
fn print_refusal(refusal: Refusal, terminal: Terminal) -> Result<Exit> {
    match refusal {
        Refusal::Project(error) => Err((*error).into()),
        Refusal::Model(_) => Err(Failure::Environment(refusal.to_string())),
        Refusal::Errors {
            ref reports,
            ref text,
            ..
        } => {
            terminal.eprint(&human(reports, terminal.style));
            terminal.note(&format!("the last plan:\n{}", visible_text(text)));
            terminal.error(&refusal.to_string());
            Ok(Exit::Findings)
        }
        Refusal::NoPlan(_) | Refusal::Unusable(_) | Refusal::Lookups => {
            terminal.error(&visible_text(&refusal.to_string()));
            Ok(Exit::Findings)
        }
    }
}

fn save(planrun: &Planrun, name: &str, text: &str) -> Result<()> {
    let kept = PlanMode::new(planrun.clone()).keep(name, text);
    kept.map(drop)
        .map_err(|why: SaveError| Failure::Usage(why.to_string()))
}

/// Prints the plan and what it would do at most.
fn preview(
    planrun: &Planrun,
    planned: &Planned,
    arguments: &Arguments,
    terminal: Terminal,
) -> Result<Exit> {
    if arguments.format == RunFormat::Human {
        terminal.print_exactly(&format!("{}\n", planned.text.trim_end()))?;
    }
    let forecast = planrun.forecast(&planned.plan, &Inputs::default(), None)?;
    print_forecast(&forecast, output(arguments, terminal))
}

/// What has become of a plan.
enum Attempt {
    Ended(Box<Outcome>),
    /// It was not started, since it would repeat effects of the run that it is based on.
    Repeats {
        run: String,
        steps: Vec<Repeated>,
    },
}

/// Runs a plan after the user has approved what it may do.
fn drive(
    planrun: &Planrun,
    planned: &Planned,
    base: Option<String>,
    arguments: &Arguments,
    terminal: Terminal,
) -> Result<Attempt> {
    let plan = &planned.plan;
    wait(plan.verify_contracts())??;
    let run = new_run_id(&**planrun.host());
    let base = base
        .map(|base| wait(planrun.base(&base)))
        .transpose()?
        .transpose()?;
    let is_present = terminal.is_watched() && io::stdin().is_terminal();
    let drive = ResumeOptions {
        answering: Answering {
            answers: Vec::new(),
            asker: is_present.then(|| ask::at_terminal(terminal)),
        },
        ..ResumeOptions::default()
    };
    let cancel = drive.cancel.clone();
    let inputs = Inputs::default();
    let options = RunOptions {
        max_steps: arguments.max_steps,
        drive,
        ..run_options(planrun, plan, run, &inputs, base)?
    };
    let run = match planrun.start(plan, inputs, options) {
        Err(Error::RepeatsEffects { run, steps }) => return Ok(Attempt::Repeats { run, steps }),
        run => run?,
    };
    let (driven, written) = drive_with_progress(run, cancel, output(arguments, terminal))?;
    written?;
    Ok(Attempt::Ended(Box::new(driven.outcome)))
}

fn output(arguments: &Arguments, terminal: Terminal) -> OutputOptions<'static> {
    OutputOptions {
        format: arguments.format,
        output: arguments.output.unwrap_or(RunOutput::Reply),
        ..OutputOptions::plain(terminal)
    }
}
