//! A plan of ten reads that a model writes slowly: the time until its first call, and until its end.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use planrun::tool::{self, CallError};
use planrun_agent::planner::{Event, Options, Planned, Planner};
use planrun_models::client::HttpModel;
use planrun_models::model::{Message, Model as _, Request, Turn};
use planrun_runs::driver::Silence;
use planrun_runs::runs::{Inputs, Planrun, RunOptions};
use planrun_tools::project::ModelApi;
use serde_json::{Value as Json, json};
use tokio::runtime::{Builder, Runtime};

use crate::double::Double;
use crate::report::{Table, Target, alternate, cold_start, is_small, millis, rounds};

const PAIRS: usize = 9;
const READS: usize = 10;
/// Duration of one read; they run in sequence.
const READ: Duration = Duration::from_millis(150);
/// Duration of writing the plan.
const WRITING: Duration = Duration::from_secs(2);

/// Targets: the ratio to the longer of writing and running, and the milliseconds from the last byte of the plan to its
/// first call.
const MAX_RATIO: f64 = 1.1;
const MAX_START: f64 = 5.0;

/// The times of the double's last word and of the first read.
#[derive(Default)]
struct Clock {
    last_word: Option<Instant>,
    called: Option<Instant>,
}

/// Measures the time until the first call of the plan, and the time until its end.
///
/// # Errors
/// Returns an error if something cannot be started, or an answer is not the expected one.
pub fn measure(table: &mut Table) -> Result<(), String> {
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let clock = Arc::<Mutex<Clock>>::default();
    let planrun = project(&clock)?;
    Table::head("A plan of ten reads that a model writes", "ours", "other");

    let (_double, model) = writer(Duration::ZERO)?;
    let mut starts = Vec::new();
    for _ in 0..rounds(PAIRS) {
        starts.push(runtime.block_on(start(&planrun, &model, &clock))?);
    }
    let start = crate::report::median(starts);
    let taken = start.as_secs_f64() * 1_000.0;
    let target = Target::at_most(taken, MAX_START);
    let name = "from its last byte to its first call";
    table.row(name, &millis(start), "", taken, Some(&target));

    let writing = if is_small() { WRITING / 20 } else { WRITING };
    let (_double, model) = writer(writing)?;
    let early = || {
        runtime
            .block_on(agent(&planrun, &model, true))
            .map(|(took, _)| took)
    };
    let written = || runtime.block_on(write(&model));
    let (ours, writes) = alternate(PAIRS, early, written)?;
    let (late, runs) = alternate(
        1,
        || {
            runtime
                .block_on(agent(&planrun, &model, false))
                .map(|(took, _)| took)
        },
        || run_alone(&runtime, &planrun, &model),
    )?;
    let longer = writes.max(runs);
    let ratio = ours.as_secs_f64() / longer.as_secs_f64();
    let target = Target::at_most(ratio, MAX_RATIO);
    let name = format!(
        "asked to done, of the longer of writing ({}) and running ({})",
        millis(writes),
        millis(runs)
    );
    table.row(&name, &millis(ours), &millis(longer), ratio, Some(&target));
    let ratio = late.as_secs_f64() / longer.as_secs_f64();
    table.row(
        "the same where no read begins early",
        &millis(late),
        &millis(longer),
        ratio,
        None,
    );
    Ok(())
}

fn plan() -> String {
    let mut text = "policy { concurrency: 1 }\n".to_owned();
    for read in 1..=READS {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "step r{read} = slow.read(id: {read})");
    }
    text + "reply r10\n"
}

/// Starts a model that takes this long to write the plan.
fn writer(takes: Duration) -> Result<(Double, HttpModel), String> {
    let words = u32::try_from(plan().split(' ').count()).unwrap_or(u32::MAX);
    let mut turn = json!({ "text": plan(), "repeat": "forever" });
    if !takes.is_zero() {
        turn["pace"] = json!(format!("{}ms", (takes / words).as_millis()));
    }
    let double = Double::start(&json!({ "turns": [turn] }).to_string())?;
    let model = double.model(ModelApi::Chat)?;
    Ok((double, model))
}

fn project(clock: &Arc<Mutex<Clock>>) -> Result<Planrun, String> {
    let clock = clock.clone();
    let read = tool::from_async("tool slow.read(id: int) -> int read", move |given: Json| {
        if let Ok(mut clock) = clock.lock() {
            clock.called.get_or_insert_with(Instant::now);
        }
        async move {
            tokio::time::sleep(if is_small() { READ / 20 } else { READ }).await;
            Ok::<Json, CallError>(given["id"].clone())
        }
    });
    let folder = cold_start::folder()?;
    let planrun = Planrun::open(&folder).map_err(|error| error.to_string())?;
    Ok(planrun.with_tools([read.map_err(|error| error.to_string())?]))
}

/// Measures the time from the request to the reply of the run. Returns the plan too.
async fn agent(
    planrun: &Planrun,
    model: &HttpModel,
    begins_early: bool,
) -> Result<(Duration, Planned), String> {
    let begun = Instant::now();
    let planned = planned(planrun, model, begins_early, &mut |_| {}).await?;
    run(planrun, &planned).await?;
    Ok((begun.elapsed(), planned))
}

async fn planned(
    planrun: &Planrun,
    model: &HttpModel,
    begins_early: bool,
    watch: &mut dyn FnMut(Event<'_>),
) -> Result<Planned, String> {
    let options = Options {
        begins_early,
        ..Options::default()
    };
    let conversation = Planner::new(planrun.clone(), model, options, watch);
    let mut conversation = conversation.map_err(|error| error.to_string())?;
    let planned = conversation.plan("Read ten things").await;
    planned.map_err(|error| error.to_string())
}

async fn run(planrun: &Planrun, planned: &Planned) -> Result<(), String> {
    let run = planrun.start(&planned.plan, Inputs::default(), RunOptions::default());
    let run = run.map_err(|error| error.to_string())?;
    let driven = run
        .drive(&mut Silence)
        .await
        .map_err(|error| error.to_string())?;
    match driven.outcome.reply.map(|reply| reply.to_json()) {
        Some(reply) if reply == json!(READS) => Ok(()),
        reply => Err(format!("the reply is {reply:?}")),
    }
}

/// Measures the time from the last word of the model to the first call.
async fn start(
    planrun: &Planrun,
    model: &HttpModel,
    clock: &Mutex<Clock>,
) -> Result<Duration, String> {
    let locked = || clock.lock().map_err(|error| error.to_string());
    *locked()? = Clock::default();
    let mut watch = |event: Event<'_>| {
        if let (Event::Part(_), Ok(mut clock)) = (event, clock.lock()) {
            clock.last_word = Some(Instant::now());
        }
    };
    let planned = planned(planrun, model, false, &mut watch).await?;
    run(planrun, &planned).await?;
    let clock = locked()?;
    let times = clock.called.zip(clock.last_word);
    times
        .map(|(called, last_word)| called.saturating_duration_since(last_word))
        .ok_or_else(|| "nothing was called".to_owned())
}

/// Measures the time the model takes to write the plan.
async fn write(model: &HttpModel) -> Result<Duration, String> {
    let begun = Instant::now();
    let request = Request {
        messages: vec![Message::User {
            text: "Read ten things".to_owned(),
        }],
        ..Request::default()
    };
    let turn = Turn::collect(model.answer(request)).await;
    turn.map(|_| begun.elapsed())
        .map_err(|error| error.to_string())
}

/// Measures a run of a plan that is already written.
fn run_alone(runtime: &Runtime, planrun: &Planrun, model: &HttpModel) -> Result<Duration, String> {
    runtime.block_on(async {
        let planned = planned(planrun, model, false, &mut |_| {}).await?;
        let begun = Instant::now();
        run(planrun, &planned).await?;
        Ok(begun.elapsed())
    })
}
