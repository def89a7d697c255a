//! Generates the page about the recorded machines from the table.

use std::fmt::Write as _;

use super::table::CASES;
use crate::support::{compare, root};

const HEAD: &str = "# Recorded state machines

This page compares planrun with the Amazon States Language, for readers who know that language and for contributors who change the engine. Each row is
a state machine from the tests of [LocalStack](https://github.com/localstack/localstack) (Apache-2.0), whose run was recorded, and an equivalent plan
under [tests/fixtures/asl](../tests/fixtures/asl).

`cargo test --test it machines` runs the plans against tools that answer as the recorded tasks did, on a virtual clock. It compares the end, the
output, the class and the text of the error, the number of attempts of each task, what each was sent, the waits between the attempts, and how long an
answer was awaited. The recordings are not part of the project: `PLANRUN_CASES` names their folder. Without it, the test reports that it was skipped.

These differences apply to all machines:

- A path into JSON is an expression. `InputPath`, `Parameters`, `ResultSelector`, `ResultPath` and `OutputPath` become expressions where a value is
  used: a step's result has a name of its own and replaces nothing.
- The name of an error is a class. `States.ALL` is a `recover` arm without a class, `States.TaskFailed` is the family `tool`, and `States.Timeout` is
  `transient.timeout`. Errors that the machine itself raises (`States.Runtime`, `States.QueryEvaluationError`) are `validation.expression`, and any
  other name is a `tool.NAME` that the tool declares. An error without a name is `tool.failed`.
- An arm without a class catches neither `unknown_outcome` nor `internal`, and no arm catches budgets. `States.ALL` catches everything except
  `States.Runtime` and `States.DataLimitExceeded`.
- `MaxAttempts` counts retries, `attempts` counts all attempts. Without `Retry`, a machine retries nothing; planrun tries reads and idempotent calls
  three times on `transient`.
- Branches of a `Parallel` are steps that do not depend on each other; a `MaxConcurrency` of one is `parallel 1`.

| plan | machine | feature | difference |
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
