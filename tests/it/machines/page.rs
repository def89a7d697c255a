//! The page of the recorded machines, written from the table.

use std::fmt::Write as _;

use super::table::CASES;
use crate::support::{compare, root};

const HEAD: &str = "# Recorded state machines

For those who know the Amazon States Language, and those who change the engine. Each row is a state machine of the tests of
[LocalStack](https://github.com/localstack/localstack) (Apache-2.0) that was run and recorded, and a plan
under [tests/fixtures/asl](../tests/fixtures/asl) that says the same. `cargo test --test it machines` runs the plans against
tools that answer as the recorded tasks did, on a clock of its own, and compares the end, the output, the class and the text of
the error, the number of attempts of each task, what each was sent, the waits between them and how long an answer was waited for.
The records are no part of the project: `PLANRUN_CASES` names their folder, and without it the test says that it is left out.

What differs in all of them:

- A path into JSON is an expression, and `InputPath`, `Parameters`, `ResultSelector`, `ResultPath` and `OutputPath` are what is
  written where a value is used: a step's result has its own name and replaces nothing.
- The name of an error is a class. `States.ALL` is an arm without a class, `States.TaskFailed` the family `tool`, `States.Timeout`
  is `transient.timeout`, what the machine finds wrong by itself (`States.Runtime`, `States.QueryEvaluationError`) is
  `validation.expression`, and any other name is a `tool.NAME` that the tool declares. An error without a name is `tool.failed`.
- An arm for all catches neither `unknown_outcome` nor `internal`, and budgets are caught by nobody. `States.ALL` catches all but
  `States.Runtime` and `States.DataLimitExceeded`.
- `MaxAttempts` counts retries, `attempts` all attempts. Without a word of it a machine retries nothing; here reads and idempotent
  calls are tried three times on `transient`.
- Branches of a `Parallel` are steps that need nothing of each other; `MaxConcurrency` of one is `parallel 1`.

| plan | machine | what it shows | what differs |
| --- | --- | --- | --- |
";

#[test]
fn the_page_is_current() {
    let mut page = HEAD.to_owned();
    for case in CASES {
        let machine = case.test.rsplit("::").next().unwrap();
        let differs: Vec<String> = case
            .differs
            .iter()
            .map(super::table::Difference::why)
            .collect();
        let differs = if differs.is_empty() {
            "nothing".to_owned()
        } else {
            differs.join("; ")
        };
        let plan = format!("[{0}](../tests/fixtures/asl/{0}.plan)", case.plan);
        writeln!(
            page,
            "| {plan} | `{machine}` | {} | {differs} |",
            case.shows
        )
        .unwrap();
    }
    compare(&root().join("docs/state-machines.md"), &page).unwrap();
}

#[test]
fn every_plan_is_in_the_table() {
    let entries = std::fs::read_dir(root().join("tests/fixtures/asl")).unwrap();
    let mut plans: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    plans.sort();
    let mut named: Vec<String> = CASES
        .iter()
        .map(|case| format!("{}.plan", case.plan))
        .collect();
    named.sort();
    named.dedup();
    assert_eq!(plans, named);
    assert!(CASES.len() >= 70, "{} cases", CASES.len());
}
