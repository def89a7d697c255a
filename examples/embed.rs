//! A program with its own tool: checks a plan, runs it, answers its question, and resumes it.
//!
//! `cargo run --example embed`

use std::sync::atomic::{AtomicBool, Ordering};

use planrun::Planrun;
use planrun::check::{PlanText, render};
use planrun::run::{Addressee, Event, ResumeOptions, RunOptions, SubmittedAnswer};
use planrun::tool::{self, CallError, ErrorClass, Sent, Transient};
use serde_json::{Value, json};

const PLAN: &str = r#"
use weather

plan outfit(cities: string[]) -> string[] {
    step cold = input "Below how many degrees do you need a coat?" -> { degrees: int }
    step readings = each city in cities max 10 parallel 4 {
        step now = weather.temperature(city: city)
        yield "${city}: ${now < cold.degrees ? "a coat" : "a shirt"}"
    }
    reply readings
}
"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let is_warm = AtomicBool::new(false);
    let contract = "tool weather.temperature(city: string) -> int read";
    let thermometer = tool::from_fn(contract, move |asked: Value| {
        if is_warm.swap(true, Ordering::Relaxed) {
            return Ok(if asked["city"] == "Oslo" { -4 } else { 21 });
        }
        // Nothing has been sent, so even a tool with an effect could be retried.
        let class = ErrorClass::Transient(Transient::Unavailable);
        Err(CallError::new(class, "it warms up", Sent::No))
    })?;
    let planrun = Planrun::in_memory(".".as_ref())?.with_tools([thermometer]);

    let checked = planrun.check(PlanText::new("outfit.plan", PLAN))?;
    eprint!("{}", render(&checked.reports()));
    let plan = checked.plan(None)?;
    let inputs = serde_json::from_value(json!({ "cities": ["Oslo", "Lisbon"] }))?;
    let inputs = plan.inputs(inputs)?;
    let run = planrun.start(&plan, inputs, RunOptions::default())?;
    let id = run.id().to_owned();
    let mut observer =
        |event: &Event| println!("{} {}", event.kind.name().name(), event.kind.path());
    println!("{}", run.drive(&mut observer).await?.outcome.state.name());
    let answer = SubmittedAnswer::new("cold", json!({ "degrees": 10 }));
    planrun.answer(Addressee::Run(&id), &[answer])?;
    let outcome = planrun
        .resume(&id, ResumeOptions::default())?
        .drive(&mut observer)
        .await?
        .outcome;
    let reply = outcome.reply.ok_or("no reply")?.to_json();
    println!("{}: {reply}", outcome.state.name());
    Ok(())
}
