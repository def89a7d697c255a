//! A program that brings its own tools, checks a plan against them, and runs it with planrun as a library.
//!
//! `cargo run --example embed`

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use planrun_core::journal::{Event, EventKind};
use planrun_core::run::Program;
use planrun_lang::call::{Answer, CallError};
use planrun_lang::diag::Diagnostic;
use planrun_lang::diag::render::{FileReport, Look, human};
use planrun_lang::permission::Permissions;
use planrun_lang::protocol::Sent;
use planrun_lang::sema::{self, Files};
use planrun_lang::source::SourceFile;
use planrun_lang::types::{Effect, ErrorClass, Parameter, Signature, Transient, Type};
use planrun_lang::value::Value;
use planrun_runs::driver::{self, Context};
use planrun_tools::host::RealHost;
use planrun_tools::tools::{
    BoxFuture, Catalog, Conversation, Described, Request, Transport, described,
};

const PLAN: &str = r#"
use weather

plan outfit(cities: string[]) -> string[] {
    step readings = each city in cities max 10 parallel 4 {
        step now = weather.temperature(city: city)
        yield "${city}: ${now < 10 ? "a coat" : "a shirt"}"
    }
    reply readings
}
"#;

/// The one tool: it answers at once, and is out of order for its first call.
struct Thermometer {
    calls: AtomicU32,
}

impl Transport for Thermometer {
    fn call(&self, request: Request) -> Conversation {
        if self.calls.fetch_add(1, Ordering::Relaxed) == 0 {
            // `Sent::No`: nothing reached the world, so that even an effect could be tried again.
            let class = ErrorClass::Transient(Transient::Unavailable);
            let message = "the thermometer warms up".to_owned();
            return Conversation::Now(Err(CallError {
                class,
                message,
                sent: Sent::No,
                retry_after: None,
            }));
        }
        // Arguments have been checked against the signature. A slow tool returns
        // `Conversation::from_future`, one that tells its progress `Conversation::with_events`.
        let city = request
            .arguments
            .get("city")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let degrees = if city == "Oslo" { -4 } else { 21 };
        Conversation::Now(Ok(Answer::Value(Value::Int(degrees))))
    }

    fn describe(&self) -> BoxFuture<'_, Described> {
        described([Arc::new(signature())])
    }
}

/// What the tool takes and gives. A `read` runs in parallel and is retried; an `effect` would be neither.
fn signature() -> Signature {
    let city = Parameter {
        name: "city".into(),
        ty: Type::String,
        required: true,
        description: None,
        schema: None,
        default: None,
    };
    Signature {
        parameters: vec![city],
        returns: Type::Int,
        effect: Effect::Read,
        effect_declared: true,
        ..Signature::unknown("weather".into(), "temperature".into())
    }
}

/// This plan uses no other plan files.
struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _from: &str, path: &str) -> Result<SourceFile, String> {
        Err(format!("`{path}` is not there"))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let host = Arc::new(RealHost);
    let mut catalog = Catalog::new(host.clone(), ".".into(), &Arc::new(Permissions::none()));
    catalog.add(
        signature(),
        Arc::new(Thermometer {
            calls: AtomicU32::new(0),
        }),
    );

    // The check: a plan that passes has every name resolved and every argument typed.
    let source = SourceFile::new("outfit.plan", PLAN);
    let checked = sema::check_file(&source, &catalog.signatures().cloned().collect(), &NoFiles);
    let failed = checked.diagnostics.iter().any(Diagnostic::is_error);
    eprint!(
        "{}",
        human(&[FileReport::new(source, checked.diagnostics)], Look::PLAIN)
    );
    let plan = checked
        .plans
        .first()
        .filter(|_| !failed)
        .ok_or("the plan has errors")?;

    // The run: the observer hears of every change.
    let mut observer = |event: &Event| match &event.kind {
        EventKind::StepWaiting {
            path,
            error: Some(error),
            ..
        } => println!("{path} will try again: {}", error.message),
        EventKind::StepSettled {
            path,
            state,
            attempts,
            ..
        } => println!("{path} {} after {attempts}", state.name()),
        _ => {}
    };
    let context = Context::new(host, Arc::new(catalog), "example", &mut observer);
    let cities = Value::list(["Oslo", "Lisbon"].map(Value::from));
    let outcome = driver::run(
        &Arc::new(Program::new(plan.clone())),
        &BTreeMap::from([("cities".into(), cities)]),
        context,
    )
    .await;
    println!(
        "{}: {}",
        outcome.state.name(),
        outcome
            .reply
            .map_or("no reply".to_owned(), |reply| reply.to_json().to_string())
    );
    Ok(())
}
