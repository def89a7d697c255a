//! Recorded state machines of another project, translated by hand: the engine gives the recorded results.
//!
//! The records are read in place; only the plans are ours. `docs/state-machines.md` describes each machine and the
//! intended differences; `PLANRUN_BLESS=1` generates it from the table.

mod page;
mod recorded;
mod table;

use std::sync::Arc;

use planrun_lang::protocol::RunState;
use planrun_lang::sema::{self, NoFiles, Plan, Tools};
use planrun_lang::source::SourceFile;

use crate::support::{cases, root};
use crate::world::{Ran, World};
pub use recorded::Recorded;
pub use recorded::unwrapped;
use recorded::{NAMESPACE, Task};
use table::Difference;
pub use table::{CASES, Case};

#[tokio::test(start_paused = true)]
async fn recorded_machines_come_to_the_same() {
    let Some(records) = records() else { return };
    let (mut passed, mut skipped, mut faults) = (0, Vec::new(), Vec::new());
    for case in CASES {
        let Some(recorded) = find(&records, case) else {
            skipped.push(case.test);
            continue;
        };
        match differences(case, recorded).await {
            found if found.is_empty() => passed += 1,
            found => faults.push(format!(
                "{} ({}):\n  {}",
                case.plan,
                case.test,
                found.join("\n  ")
            )),
        }
    }
    println!(
        "state machines: {passed} passed, {} failed, {} skipped",
        faults.len(),
        skipped.len()
    );
    for test in &skipped {
        println!("  skipped, not among the records: {test}");
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Returns every recorded machine. `None` if they are not available, which is reported.
pub fn records() -> Option<Vec<Recorded>> {
    let text = std::fs::read_to_string(cases("asl-recorded.jsonl")?).unwrap();
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    Some(
        lines
            .map(|line| Recorded::read(serde_json::from_str(line).unwrap()))
            .collect(),
    )
}

pub fn find<'r>(records: &'r [Recorded], case: &Case) -> Option<&'r Recorded> {
    records
        .iter()
        .find(|recorded| recorded.test().rsplit('/').next() == Some(case.test))
}

/// Returns the text of the plan of a case.
pub fn text(case: &Case) -> String {
    std::fs::read_to_string(
        root()
            .join("tests/fixtures/asl")
            .join(format!("{}.plan", case.plan)),
    )
    .unwrap()
}

/// Returns the plan of a case, or the codes of its errors.
pub fn plan(case: &Case) -> Result<Arc<Plan>, Vec<&'static str>> {
    let source = SourceFile::new(format!("{}.plan", case.plan), text(case));
    let checked = sema::check_without_rules(&source, &Tools::default(), &NoFiles);
    let errors: Vec<_> = checked
        .diagnostics
        .iter()
        .filter(|found| found.is_error())
        .collect();
    if errors.is_empty() {
        Ok(checked.plans[0].clone())
    } else {
        Err(errors.iter().map(|found| found.code.name).collect())
    }
}

/// Returns the differences to the record that the table does not name.
async fn differences(case: &Case, recorded: &Recorded) -> Vec<String> {
    let refused = case.differs.iter().find_map(|one| {
        if let Difference::Refused(code, _) = one {
            Some(*code)
        } else {
            None
        }
    });
    let plan = match (plan(case), refused) {
        (Ok(plan), None) => plan,
        (Err(codes), Some(code)) => {
            return note(
                &[],
                codes.as_slice(),
                [code].as_slice(),
                "the findings of the check",
            )
            .into_iter()
            .collect();
        }
        (plan, _) => return vec![format!("the check finds {:?}", plan.err())],
    };
    let wants_refusal = case
        .differs
        .iter()
        .any(|one| matches!(one, Difference::Input(_)));
    let inputs = match (recorded.inputs(&plan), wants_refusal) {
        (Some(inputs), false) => inputs,
        (None, true) if !recorded.succeeded() => return Vec::new(),
        (inputs, _) => return vec![format!("the inputs were taken: {}", inputs.is_some())],
    };
    let world: World = recorded.world();
    let ran = world.run_with(&text(case), inputs).await;
    let mut found = Vec::new();
    compare_ends(case, recorded, &ran, &mut found);
    for (name, task) in &recorded.tasks {
        compare_calls(case, name, task, &ran, &mut found);
    }
    if let Some(waits) = recorded
        .waits()
        .filter(|_| ran.outcome.state == RunState::Completed && recorded.succeeded())
    {
        found.extend(note(&[], &ran.took, &waits, "the time that it waits"));
    }
    found
}

fn compare_ends(case: &Case, recorded: &Recorded, ran: &Ran, found: &mut Vec<String>) {
    let (mut class, message) = recorded.error();
    let (mut completes, mut has_output) = (recorded.succeeded(), recorded.succeeded());
    for difference in case.differs {
        match difference {
            Difference::Class(own, _) => (*own).clone_into(&mut class),
            Difference::Completes(_) => completes = true,
            Difference::Unrecorded => has_output = false,
            Difference::Arguments(_)
            | Difference::Input(_)
            | Difference::Refused(..)
            | Difference::Unseen(_) => {}
        }
    }
    let state = if completes {
        RunState::Completed
    } else {
        RunState::Failed
    };
    found.extend(note(&[], &ran.outcome.state, &state, "the end"));
    if has_output {
        found.extend(note(
            &[],
            &unwrapped(&ran.reply()),
            &recorded.output(),
            "the output",
        ));
    }
    if let (false, Some(error)) = (completes, &ran.outcome.error) {
        found.extend(note(
            &[],
            &error.class.to_string(),
            &class,
            "the class of the error",
        ));
        // Messages about a machine's own errors are worded differently.
        if class.starts_with("tool.") && !message.is_null() {
            found.extend(note(
                &[],
                &unwrapped(&(&*error.message).into()),
                &message,
                "what the error says",
            ));
        }
    }
}

fn compare_calls(case: &Case, name: &str, task: &Task, ran: &Ran, found: &mut Vec<String>) {
    let tool = format!("{NAMESPACE}.{name}");
    let calls = ran.calls(&tool);
    found.extend(note(
        &[name],
        &calls.len(),
        &task.inputs.len(),
        "the number of attempts",
    ));
    if !case
        .differs
        .iter()
        .any(|one| matches!(one, Difference::Arguments(_)))
    {
        let sent: Vec<_> = calls
            .iter()
            .map(|call| unwrapped(&call.arguments))
            .collect();
        let recorded: Vec<_> = task.inputs.iter().map(unwrapped).collect();
        found.extend(note(&[name], &sent, &recorded, "what it was sent"));
    }
    let steps = ran.outcome.steps();
    for step in steps
        .iter()
        .filter(|step| step.tool.as_deref() == Some(tool.as_str()))
    {
        let waits = ran.waits(&step.path);
        let within = waits.len() == task.waits.len()
            && waits.iter().zip(&task.waits).all(|(own, most)| own <= most);
        if !(task.jitter && within) {
            found.extend(note(
                &[name],
                &waits,
                &task.waits,
                "the waits between attempts",
            ));
        }
        if let Some(timeout) = task.timeout {
            found.extend(note(
                &[name],
                &step.duration_ms,
                &(timeout * 1000),
                "how long it was waited for",
            ));
        }
    }
}

fn note<T: PartialEq + std::fmt::Debug + ?Sized>(
    place: &[&str],
    own: &T,
    theirs: &T,
    what: &str,
) -> Option<String> {
    let place = place.concat();
    (own != theirs).then(|| format!("{place} {what}: {own:?} here, {theirs:?} there"))
}
