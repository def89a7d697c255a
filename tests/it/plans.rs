//! The plans in `plans/`: each has no findings, and does what its header states.
//!
//! A line `//! try: planrun …` is a command that succeeds, and its reply is a snapshot. A line
//! `//! fails with CLASS: planrun …` is one that ends with exit code 1 and an error of that class.

use std::path::PathBuf;

use crate::support::{Mock, Output, planrun, root, words};

/// A command in the header of a plan.
struct HeaderCommand {
    plan: String,
    /// The class of the expected error. `None` if the run succeeds.
    class: Option<String>,
    command: String,
}

#[test]
fn nothing_is_found_in_them() {
    let output = planrun(["check", "--deny", "warnings", "--format", "short", "plans"]).run();
    assert_eq!(
        (output.status, output.stdout.as_str()),
        (0, ""),
        "{}",
        output.stderr
    );
}

#[test]
fn each_header_is_true() {
    let header_commands = header_commands();
    for plan in plans() {
        let name = plan.file_name().unwrap().to_string_lossy().into_owned();
        assert!(
            header_commands.iter().any(|header| header.plan == name),
            "the header of {name} has no line `//! try: …`"
        );
    }
    let outputs = std::thread::scope(|scope| {
        let runs = header_commands
            .iter()
            .map(|header| scope.spawn(|| execute(header, "json")))
            .collect::<Vec<_>>();
        runs.into_iter()
            .map(|run| run.join().unwrap())
            .collect::<Vec<_>>()
    });
    let mut results = Vec::new();
    for (header, output) in header_commands.iter().zip(outputs) {
        let outcome = output.json();
        let (status, result) = match &header.class {
            None => (0, &outcome["reply"]),
            Some(class) => {
                assert_eq!(
                    outcome["error"]["class"],
                    class.as_str(),
                    "{}",
                    header.command
                );
                (1, &outcome["error"]["message"])
            }
        };
        assert_eq!(
            output.status, status,
            "{}: {}",
            header.command, output.stderr
        );
        results.push(format!(
            "$ {}\n{}",
            header.command,
            serde_json::to_string_pretty(result).unwrap()
        ));
    }
    insta::assert_snapshot!(results.join("\n\n"));
}

#[test]
fn a_new_employee_is_on_every_system_in_order() {
    let run = execute(&onboarding(), "json").json();
    let step = |path: &str| {
        let found = run["steps"]
            .as_array()
            .unwrap()
            .iter()
            .find(|step| step["path"] == path);
        found
            .unwrap_or_else(|| panic!("no step {path}: {run:#}"))
            .clone()
    };
    let started = |path: &str| step(path)["started_at"].as_str().unwrap().to_owned();
    let ended = |path: &str| {
        let began: jiff::Timestamp = started(path).parse().unwrap();
        began + jiff::SignedDuration::from_millis(step(path)["duration_ms"].as_i64().unwrap())
    };
    let begins = |path: &str| started(path).parse::<jiff::Timestamp>().unwrap();
    // The reads overlap; an effect waits for the values it reads.
    for (one, other) in [("known", "stock"), ("stock", "times"), ("known", "times")] {
        assert!(
            begins(one) < ended(other) && begins(other) < ended(one),
            "{one} and {other} do not overlap"
        );
    }
    assert!(begins("badge") >= begins("profile") && begins("pc.out") >= begins("pc.request"));
    // The badge printer is busy the first time.
    assert_eq!(step("badge")["attempts"], 2);
    assert_eq!(
        step("mails[\"mia@example.com\"].sent")["status"],
        "completed"
    );
    assert_eq!(run["reply"]["told"], 2);
}

#[test]
fn a_refund_of_unknown_outcome_is_looked_up_and_not_repeated() {
    let header = header_commands()
        .into_iter()
        .find(|header| header.command.contains("reason=damaged"))
        .unwrap();
    let run = execute(&header, "json").json();
    let steps = run["steps"].as_array().unwrap();
    let money = steps.iter().find(|step| step["path"] == "money").unwrap();
    assert_eq!(
        (&money["attempts"], &money["recovered"]["class"]),
        (&1.into(), &"unknown_outcome".into())
    );
    assert!(
        steps.iter().any(|step| step["path"] == "money.recover"),
        "{steps:#?}"
    );
}

#[test]
fn below_an_early_reply_everything_is_skipped() {
    let header = header_commands()
        .into_iter()
        .find(|header| header.command.contains("#W2000"))
        .unwrap();
    let run = execute(&header, "json").json();
    for path in ["money", "marked", "told"] {
        let step = run["steps"]
            .as_array()
            .unwrap()
            .iter()
            .find(|step| step["path"] == path)
            .unwrap();
        assert_eq!(
            (&step["status"], &step["reason"]),
            (&"skipped".into(), &"replied".into()),
            "{path}"
        );
    }
}

/// Runs the header command that contains this text. Returns the run, and the paths of the steps that made calls, in the
/// order of their start.
fn begun(command: &str) -> (serde_json::Value, Vec<String>) {
    let header = header_commands()
        .into_iter()
        .find(|header| header.command.contains(command))
        .unwrap();
    // In the order of the events: several steps may start in one millisecond.
    let events = execute(&header, "ndjson").stdout;
    let mut began: Vec<String> = Vec::new();
    for line in events.lines() {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
        let path = event["path"].as_str().unwrap_or_default();
        let calls = event["event"] == "step.running" && event["tool"].is_string();
        if calls && began.iter().all(|known| known != path) {
            began.push(path.to_owned());
        }
    }
    (execute(&header, "json").json(), began)
}

#[test]
fn what_an_order_did_goes_back_last_first_and_a_payment_without_an_answer_is_found() {
    let (run, steps) = begun("#W7003");
    assert_eq!(
        steps,
        ["held", "paid", "parcel", "paid.undo", "held.undo"],
        "{run:#}"
    );
    assert_eq!(
        (
            &run["steps"][0]["attributes"][0],
            &run["usage"]["exempt_calls"]
        ),
        (&"undone".into(), &2.into())
    );
    let (run, steps) = begun("#W7002");
    let polls = run["steps"]
        .as_array()
        .unwrap()
        .iter()
        .find(|step| step["path"] == "paid.verify")
        .unwrap();
    assert_eq!(
        (&run["reply"]["payment"], &polls["attempts"]),
        (&"PAY-82".into(), &3.into())
    );
    assert_eq!(
        steps,
        ["held", "paid", "paid.verify", "parcel"],
        "the gateway is called once"
    );
}

#[test]
fn an_old_version_comes_back_where_the_new_one_fails() {
    let (run, steps) = begun("maintenance.plan --mock -i service=payments");
    assert_eq!(steps.last().unwrap(), "switched.undo", "{run:#}");
}

#[test]
fn a_model_writes_until_its_budget_is_spent() {
    let (run, steps) = begun("style=story");
    assert_eq!(
        (&run["usage"]["tokens"], steps.len()),
        (&4600.into(), 3),
        "{run:#}"
    );
    let (run, _) = begun("digest.plan --mock -i since=v1.3.2");
    assert_eq!(
        (&run["usage"]["tokens"], &run["usage"]["cost"]),
        (&930.into(), &0.03.into())
    );
}

fn onboarding() -> HeaderCommand {
    header_commands()
        .into_iter()
        .find(|header| header.command.contains("Will Zhang"))
        .unwrap()
}

/// Runs the command, with output in this format.
fn execute(header: &HeaderCommand, format: &str) -> Output {
    let arguments = words(&header.command)
        .into_iter()
        .skip(1)
        .chain(["--format".to_owned(), format.to_owned()]);
    planrun(arguments).run()
}

/// Returns the paths of the plans, sorted.
fn plans() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join("plans")).unwrap();
    let mut plans: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    plans.retain(|path| path.extension().is_some_and(|ending| ending == "plan"));
    plans.sort();
    plans
}

/// Returns every command of the headers.
pub fn commands() -> Vec<String> {
    header_commands()
        .into_iter()
        .map(|header| header.command)
        .collect()
}

fn header_commands() -> Vec<HeaderCommand> {
    let mut header_commands = Vec::new();
    for path in plans() {
        let plan = path.file_name().unwrap().to_string_lossy().into_owned();
        for line in std::fs::read_to_string(&path).unwrap().lines() {
            let Some(line) = line.strip_prefix("//! ") else {
                continue;
            };
            let (class, command) =
                match (line.strip_prefix("try: "), line.strip_prefix("fails with ")) {
                    (Some(command), _) => (None, command),
                    (None, Some(rest)) => {
                        let (class, command) = rest.split_once(": ").unwrap();
                        (Some(class.to_owned()), command)
                    }
                    (None, None) => continue,
                };
            header_commands.push(HeaderCommand {
                plan: plan.clone(),
                class,
                command: command.to_owned(),
            });
        }
    }
    header_commands
}

#[test]
fn promises_are_found() {
    let failing = header_commands()
        .iter()
        .filter(|header| header.class.is_some())
        .count();
    assert!(plans().len() >= 10 && header_commands().len() >= 20 && failing >= 5);
    assert_eq!(onboarding().class, None::<String>);
}

#[test]
fn the_embedding_example_runs() {
    let program = PathBuf::from(env!("CARGO_BIN_EXE_planrun"));
    let example = program
        .with_file_name("examples")
        .join(format!("embed{}", std::env::consts::EXE_SUFFIX));
    if !example.exists() {
        return crate::support::left_out(format_args!(
            "{} is not built; `cargo build --examples` builds it",
            example.display()
        ));
    }
    let output = std::process::Command::new(example).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let paused = "step.waiting cold\nrun.paused \npaused\n";
    let retried = "step.waiting readings[0].now\n";
    let done = "completed: [\"Oslo: a coat\",\"Lisbon: a shirt\"]\n";
    assert!(
        text.contains(paused) && text.contains(retried) && text.ends_with(done),
        "{text}"
    );
    let source = std::fs::read_to_string(root().join("examples/embed.rs")).unwrap();
    assert!(source.lines().count() <= 60, "an example is read in one go");
}

#[test]
fn without_the_mock_calls_go_where_the_app_files_say() {
    let mock = Mock::start(["--failures", "apply_computer=1"]);
    let header = onboarding();
    let command = header.command.replace(" --mock", "");
    let run = |command: &str| {
        let arguments = words(command)
            .into_iter()
            .skip(1)
            .chain(["--format".to_owned(), "json".to_owned()]);
        mock.answering(
            planrun(arguments),
            &["hr", "access", "it", "inventory", "email", "calendar"],
        )
        .run()
    };
    // `apply_computer` fails the first time, and the plan has no `retry` for that effect.
    let first = run(&command);
    assert_eq!(
        (first.status, &first.json()["error"]["class"]),
        (1, &"tool.failed".into()),
        "{}",
        first.stderr
    );
    let second = run(&command.replace(" -i department", " -i id=WZ002 -i department"));
    assert_eq!(
        (second.status, &second.json()["reply"]["card"]),
        (0, &"CARD-WZ002".into()),
        "{}",
        second.stderr
    );
}
