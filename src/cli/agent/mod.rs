//! `planrun agent`: a request in plain words, planned by a model, checked, approved once and run; or done by it call by call.

mod repeated;
mod rounds;

use std::io::{self, IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use planrun_agent::planner::{DEFAULT_ROUNDS, Event, Form, Options, Planned, Planner, Refusal};
use planrun_agent::profile::{Overrides, Profile};
use planrun_core::run::Outcome;
use planrun_lang::diag::render::{human, visible_text};
use planrun_lang::protocol::RunState;
use planrun_models::client::{HttpModel, Models};
use planrun_models::model::Part;
use planrun_runs::driver::Answering;
use planrun_runs::runs::{
    Error, Inputs, Planrun, ResumeOptions, RunOptions, Workspace, new_run_id, real_host,
};
use planrun_serve::mode::{NotKept, PlanMode, approval};
use planrun_serve::report;

use crate::cli::arguments::{RunFormat, RunOutput};
use crate::cli::run::{OutputOptions, listen, print_forecast, print_outcome, wait};
use crate::cli::{Exit, Failure, Terminal, ask};

const EXAMPLES: &str = "\
Examples:
  planrun agent \"Close every open ticket of Li\"            plan, ask once, run
  planrun agent --dry-run \"Close every open ticket of Li\"  the plan, and what it would do at most
  planrun agent --save tidy \"Close every open ticket\"      the plan stays as plans/tidy.plan
  planrun agent --input request.txt --model large          a longer request, another model
  planrun agent --dry-run --repeat 20 \"Count the tickets\"  how often the model finds a plan
  planrun agent --debug \"What is the oldest ticket?\"       with everything that the model says
  planrun agent --mode loop \"Tidy up @[notes]\"             the model calls tools until it is done
  planrun agent --mode loop --session ID \"And now?\"        the same conversation goes on
  planrun agent --mode loop --agent reviewer \"Is it done?\" an agent of this type of planrun.yaml

The model is the one of `models` in planrun.yaml, or of OPENAI_MODEL, OPENAI_BASE_URL and OPENAI_API_KEY. It sees what
tools there are and what they take; the plan that it writes is checked, reaches what `allow` of planrun.yaml says, and
changes nothing before somebody has agreed to all that it may do. In a loop every call that changes something is asked for,
and `@[path]`, `@[path:10]` and `@[path:10:20]` in the request bring the text of files along.";

/// The longest request that is read, in bytes.
const MAX_REQUEST: u64 = 256 * 1024;
/// How often a plan that has failed in the middle is corrected.
const DEFAULT_REPAIRS: usize = 2;

/// Do what is asked for in plain words: a model writes a plan, which is checked, approved once and run.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// What is wanted.
    #[arg(required_unless_present_any = ["input", "session"], conflicts_with = "input")]
    request: Option<String>,
    /// Read the request from a file; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// How the request is done.
    #[arg(long, value_enum, default_value_t)]
    mode: Mode,
    /// A conversation of a loop that goes on, or the name of a new one.
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// The type of the agent of a loop: one of `agents` in planrun.yaml.
    #[arg(long, value_name = "TYPE")]
    agent: Option<String>,
    /// A model of planrun.yaml, or of the server.
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Whom the model plays: YAML with name, role, goals, tasks, backstory, language, tone.
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
    /// A field of the profile for this request alone, such as `tone=warm` or `goals=["be brief"]`. May be repeated.
    #[arg(long, value_name = "FIELD=VALUE")]
    set: Vec<String>,
    /// How the model writes the plan.
    #[arg(long, value_enum, default_value_t)]
    form: WrittenAs,
    /// The most steps that a run executes.
    #[arg(long, value_name = "N")]
    max_steps: Option<u64>,
    /// How often a plan that has errors goes back to the model [default: 6]; in a loop, how often it is asked [default: 30].
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    rounds: Option<usize>,
    /// How often a plan that has failed in the middle is corrected; what it has completed stays.
    #[arg(long, value_name = "N", default_value_t = DEFAULT_REPAIRS)]
    repairs: usize,
    /// Show the plan and what it would do at most; run nothing.
    #[arg(long)]
    dry_run: bool,
    /// Have the request planned so often, each time anew, and count what comes of it.
    #[arg(long, value_name = "N", requires = "dry_run", conflicts_with = "save")]
    repeat: Option<u32>,
    /// Keep the plan as plans/NAME.plan.
    #[arg(long, value_name = "NAME")]
    save: Option<String>,
    /// What is printed of the run.
    #[arg(long, value_enum, default_value_t = RunOutput::Reply)]
    output: RunOutput,
    /// How the result is printed.
    #[arg(long, value_enum, default_value_t = RunFormat::Human)]
    format: RunFormat,
    /// Show what the model thinks and says, every plan, and every finding.
    #[arg(long)]
    debug: bool,
}

/// How a request is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
enum Mode {
    /// The model writes a plan, which is checked, approved as a whole and run.
    #[default]
    Plan,
    /// The model calls tools, round by round.
    Loop,
}

/// How a model writes a plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
enum WrittenAs {
    /// As text, in a fence.
    #[default]
    Text,
    /// In the JSON form, under the structured output of its server.
    Json,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("must be a whole number from 1".to_owned()),
        Ok(number) => Ok(number),
    }
}

/// Plans, asks, and runs.
///
/// # Errors
/// When the request, the project or the model cannot be had.
pub fn run(
    arguments: &Arguments,
    project: Option<&Path>,
    terminal: Terminal,
) -> Result<Exit, Failure> {
    let of_loops = [
        ("--session", arguments.session.is_some()),
        ("--agent", arguments.agent.is_some()),
    ];
    if let (Mode::Plan, Some((name, _))) = (arguments.mode, of_loops.iter().find(|one| one.1)) {
        return Err(Failure::Usage(format!("`{name}` is for `--mode loop`")));
    }
    let host = real_host();
    let location = Workspace::locate(&*host, Path::new("-"), project)?;
    let planrun = Planrun::at(host, location);
    match arguments.mode {
        Mode::Plan => plan(planrun, arguments, terminal),
        Mode::Loop => rounds::run(planrun, arguments, terminal),
    }
}

/// A plan is written, checked, approved and run; where it fails in the middle, the model corrects it.
fn plan(planrun: Planrun, arguments: &Arguments, terminal: Terminal) -> Result<Exit, Failure> {
    let request = request(arguments)?;
    let model = model(&planrun, arguments.model.as_deref())?;
    let options = Options {
        rounds: arguments.rounds.unwrap_or(DEFAULT_ROUNDS),
        max_steps: arguments.max_steps,
        form: match arguments.form {
            WrittenAs::Text => Form::Text,
            WrittenAs::Json => Form::Json,
        },
        begins_early: !arguments.dry_run,
        profile: profile(arguments)?,
    };
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
    let mut watch = |event: Event<'_>| tell(event, arguments.debug, terminal);
    let mut planner = match Planner::new(planrun, &model, options, &mut watch) {
        Err(Error::Findings(found)) => {
            terminal.say_plainly(&human(&found, terminal.look));
            return Ok(Exit::Findings);
        }
        planner => planner?,
    };
    let mut answer = wait(planner.plan(&request))?;
    let mut base = None;
    let mut repairs = arguments.repairs;
    loop {
        let plan = match answer {
            Ok(plan) => plan,
            Err(refusal) => return refuse(refusal, terminal),
        };
        if let Some(name) = &arguments.save {
            save(planner.planrun(), name, &plan.text)?;
        }
        if arguments.dry_run {
            return preview(planner.planrun(), &plan, arguments, terminal);
        }
        let outcome = drive(planner.planrun(), &plan, base.take(), arguments, terminal)?;
        let has_failed = outcome.state == RunState::Failed && outcome.interruption.is_none();
        if !has_failed || repairs == 0 {
            return print_outcome(&outcome, None, output(arguments, terminal));
        }
        repairs -= 1;
        let report = report::facts(&outcome);
        terminal.say(&format!(
            "the run {} has failed; the model corrects the plan",
            outcome.run
        ));
        answer = wait(planner.repair(&outcome.run, &report))?;
        base = Some(outcome.run);
    }
}

fn request(arguments: &Arguments) -> Result<String, Failure> {
    let Some(path) = &arguments.input else {
        return Ok(arguments.request.clone().unwrap_or_default());
    };
    let failed = |error: io::Error| {
        Failure::Environment(format!(
            "cannot read the request from `{}`: {error}",
            path.display()
        ))
    };
    let mut text = String::new();
    if path.as_os_str() == "-" {
        io::stdin()
            .lock()
            .take(MAX_REQUEST)
            .read_to_string(&mut text)
            .map_err(failed)?;
    } else {
        let file = std::fs::File::open(path).map_err(failed)?;
        file.take(MAX_REQUEST)
            .read_to_string(&mut text)
            .map_err(failed)?;
    }
    if text.trim().is_empty() {
        return Err(Failure::Usage("the request is empty".to_owned()));
    }
    Ok(text)
}

/// The profile of this request.
fn profile(arguments: &Arguments) -> Result<Profile, Failure> {
    let own = match &arguments.profile {
        Some(path) => read_profile(path)?,
        None => Profile::default(),
    };
    let overrides = Overrides::read(&arguments.set)
        .map_err(|error| Failure::Usage(format!("`--set`: {error}")))?;
    Ok(own.merged(overrides))
}

fn read_profile(path: &Path) -> Result<Profile, Failure> {
    let failed = |error: &dyn std::fmt::Display| {
        Failure::Environment(format!("the profile {}: {error}", path.display()))
    };
    let text = real_host()
        .read_file(path)
        .map_err(|error| failed(&error))?;
    Profile::read(&text).map_err(|error| failed(&error))
}

fn model(planrun: &Planrun, name: Option<&str>) -> Result<HttpModel, Failure> {
    let workspace = planrun.workspace()?;
    let models = Models::of(&workspace.project, planrun.host());
    models
        .open(name)
        .map_err(|error| Failure::Environment(error.to_string()))
}

/// Tells what goes on beside the result.
fn tell(event: Event<'_>, debug: bool, terminal: Terminal) {
    match event {
        Event::Asked(1) => terminal.say("the model plans …"),
        Event::Asked(turn) => terminal.say(&format!("the model is asked again ({turn})")),
        Event::Part(Part::Reasoning(text) | Part::Text(text)) if debug => {
            terminal.say_plainly(&visible_text(text));
        }
        Event::LookedUp { tool, arguments } if debug => {
            terminal.say(&format!("{tool} {}", visible_text(arguments)));
        }
        Event::Plan(text) if debug => {
            terminal.say(&format!("its plan:\n{}", visible_text(text)));
        }
        Event::Part(_) | Event::LookedUp { .. } | Event::Plan(_) => {}
        Event::Findings(told) if debug => terminal.say(told.trim_end()),
        Event::Findings(told) => {
            let first = told.lines().next().unwrap_or_default();
            terminal.say(first.trim_end_matches(':'));
        }
    }
}

/// Why there is no plan.
fn refuse(refusal: Refusal, terminal: Terminal) -> Result<Exit, Failure> {
    match refusal {
        Refusal::Project(error) => Err((*error).into()),
        Refusal::Model(_) => Err(Failure::Environment(refusal.to_string())),
        Refusal::Errors {
            ref reports,
            ref text,
            ..
        } => {
            terminal.say_plainly(&human(reports, terminal.look));
            terminal.say(&format!("the last plan was\n{}", visible_text(text)));
            terminal.complain(&refusal.to_string());
            Ok(Exit::Findings)
        }
        Refusal::NoPlan(_) | Refusal::Unusable(_) | Refusal::Lookups => {
            terminal.complain(&visible_text(&refusal.to_string()));
            Ok(Exit::Findings)
        }
    }
}

fn save(planrun: &Planrun, name: &str, text: &str) -> Result<(), Failure> {
    let kept = PlanMode::new(planrun.clone()).keep(name, text);
    kept.map(drop)
        .map_err(|why: NotKept| Failure::Usage(why.to_string()))
}

/// The plan, and what it would do at most.
fn preview(
    planrun: &Planrun,
    planned: &Planned,
    arguments: &Arguments,
    terminal: Terminal,
) -> Result<Exit, Failure> {
    if arguments.format == RunFormat::Human {
        terminal.print(&format!("{}\n", planned.text.trim_end()))?;
    }
    let forecast = planrun.forecast(&planned.plan, &Inputs::default(), None)?;
    print_forecast(&forecast, output(arguments, terminal))
}

/// Runs a plan, once somebody has agreed to what it may do.
fn drive(
    planrun: &Planrun,
    planned: &Planned,
    base: Option<String>,
    arguments: &Arguments,
    terminal: Terminal,
) -> Result<Outcome, Failure> {
    let plan = &planned.plan;
    wait(plan.verify_contracts())??;
    let bounds = plan.bounds(None);
    let run = new_run_id(&**planrun.host());
    let approval = match plan.grant(&bounds) {
        Some(grant) => {
            let standing = plan.standing_grant(planrun, &grant)?;
            Some(approval(
                &run,
                &plan.plan,
                &bounds,
                standing.unwrap_or(grant),
            ))
        }
        None => None,
    };
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
    let options = RunOptions {
        id: Some(run),
        approval,
        base,
        max_steps: arguments.max_steps,
        drive,
        ..RunOptions::default()
    };
    let run = planrun.start(plan, Inputs::default(), options)?;
    let (driven, written) = listen(planrun, run, cancel, (arguments.format, terminal))?;
    written?;
    Ok(driven.outcome)
}

fn output(arguments: &Arguments, terminal: Terminal) -> OutputOptions {
    OutputOptions {
        format: arguments.format,
        output: arguments.output,
        terminal,
    }
}
