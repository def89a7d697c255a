//! Constraints on arguments beyond their types: values that always fulfill them have no finding, values that may break
//! them are left to the run, and values that always break them are an error of the check.

use std::collections::{BTreeMap, BTreeSet};

use planrun_lang::diag::{Diagnostic, Severity};
use planrun_lang::sema::{CheckedFile, StepKind};
use planrun_lang::source::SourceFile;
use rayon::prelude::*;
use serde_json::{Value as Json, json};

use super::project_context::{ProjectContext, seeds};
use crate::generate::contracts::{Given, PAIR_RULES, ROWS, Row, filled, literal};
use crate::generate::{Limited, Project, Size, project};

/// Number of plans that are tried in CI.
const PLANS: u64 = 1000;
/// The line of the call in [`calling`].
const CALL: u32 = 4;

#[test]
fn each_row_judges_its_own_values() {
    let mut faults = Vec::new();
    for row in ROWS {
        for partly in [false, true] {
            for kept in row.keeps {
                let open = filled(kept, |ty| format!("given_{}", ty.text()));
                let closed = literal(kept);
                for value in [open, closed] {
                    faults.extend(judged(row, &value, partly, Expected::Fits));
                }
            }
            for broken in row.breaks {
                let open = filled(broken, |ty| format!("given_{}", ty.text()));
                let closed = literal(broken);
                for value in [open, closed] {
                    faults.extend(judged(row, &value, partly, Expected::Error));
                }
            }
            if row.whole {
                faults.extend(judged(row, "given", partly, Expected::NoError));
            }
        }
        for (kept, broken) in row.keeps.iter().zip(row.breaks) {
            let either = format!("given_bool ? {kept} : {broken}");
            let either = filled(&either, |ty| format!("given_{}", ty.text()));
            if row.whole && !broken_by_type(row, broken) {
                faults.extend(judged(row, &either, true, Expected::Open));
            }
        }
    }
    assert!(
        faults.is_empty(),
        "{} faults\n{}",
        faults.len(),
        faults.join("\n")
    );
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Expected {
    /// No finding, and nothing is left to the run.
    Fits,
    /// An error in the line of the call.
    Error,
    /// No error.
    NoError,
    /// No finding, and only the run can decide.
    Open,
}

/// Returns the fault in the verdict about a value. With `partly`, another argument of the call is unknown.
fn judged(row: &Row, value: &str, partly: bool, expected: Expected) -> Option<String> {
    let made = calling(row, value, partly);
    let checked = ProjectContext::of(&made).check(&made);
    let found: Vec<&Diagnostic> = checked
        .diagnostics
        .iter()
        .filter(|found| found.severity != Severity::Note)
        .collect();
    let source = SourceFile::new("main.plan", made.main());
    let here =
        |found: &&&Diagnostic| found.is_error() && source.position(found.span.start).line == CALL;
    let right = match expected {
        Expected::Fits => found.is_empty() && !leaves_open(&checked),
        Expected::Open => found.is_empty() && leaves_open(&checked),
        Expected::Error => found.iter().find(here).is_some(),
        Expected::NoError => found.is_empty(),
    };
    if right {
        return None;
    }
    let messages: Vec<String> = found
        .iter()
        .map(|found| format!("{}: {}", found.code.name, found.message))
        .collect();
    let open = if leaves_open(&checked) {
        "open"
    } else {
        "sure"
    };
    Some(format!(
        "{}: `{value}`, partly {partly}, wanted {expected:?}, is {open} with {messages:?}",
        row.name
    ))
}

fn broken_by_type(row: &Row, broken: &str) -> bool {
    let value = filled(broken, |ty| format!("given_{}", ty.text()));
    let made = calling(row, &value, true);
    let checked = ProjectContext::of(&made).check(&made);
    checked
        .diagnostics
        .iter()
        .any(|found| found.code.name != "schema-violation")
}

fn leaves_open(checked: &CheckedFile) -> bool {
    let nodes = checked.plans.iter().flat_map(|plan| &plan.body().nodes);
    nodes
        .filter_map(|node| node.step())
        .any(|step| matches!(&step.kind, StepKind::Call(call) if call.checked_at_run))
}

/// Returns a plan that passes an argument to a tool, in one line.
fn calling(row: &Row, value: &str, partly: bool) -> Project {
    let mut schema =
        json!({"type": "object", "properties": {"x": row.schema(), "other": {"type": "string"}}});
    if let Some((name, definition)) = row.definition() {
        schema["$defs"] = json!({name: definition});
    }
    let other = if partly { ", other: given_string" } else { "" };
    let given = if row.whole {
        format!(", given: {}", row.declared())
    } else {
        String::new()
    };
    let read = if row.whole { ", json(given)" } else { "" };
    let text = format!(
        "use desk\n\nplan limited(given_string: string, given_int: int, given_double: double, given_bool: bool{given}) {{\n    \
         step called = desk.call(x: {value}{other})\n    reply [json(given_string), json(given_int), json(given_double), json(given_bool){read}]\n}}\n"
    );
    of_one_tool(&schema, text)
}

fn of_one_tool(schema: &Json, text: String) -> Project {
    let tool = json!([{"name": "call", "description": "Takes it.", "endpoint": "http://127.0.0.1:8009/tool",
        "effect": "read", "parameters": schema, "returns": {"type": "string"}}]);
    let app = format!("name: desk\ntools: {tool}\n");
    Project {
        apps: vec![("apps/desk.yaml".to_owned(), app)],
        plans: vec![("main.plan".to_owned(), text)],
        tools: Vec::new(),
        limited: Vec::new(),
    }
}

#[test]
fn each_pair_of_arguments_is_judged() {
    let mut faults = Vec::new();
    for rule in PAIR_RULES {
        let first = if rule.asks_truth() {
            "boolean"
        } else {
            "string"
        };
        let mut schema = json!({"type": "object", "properties": {"one": {"type": first}, "two": {"type": "integer"}, "id": {"type": "integer"}}});
        let more = (rule.schema)("one", "two");
        schema
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let lists = rule
            .keeps
            .iter()
            .map(|given| (given, true))
            .chain(rule.breaks.iter().map(|given| (given, false)));
        for (given, keeps) in lists {
            for known in [false, true] {
                let arguments = [
                    Some(if known { "id: 1" } else { "id: given_int" }.to_owned()),
                    argument("one", if known { "\"x\"" } else { "given_string" }, given.0),
                    argument("two", if known { "1" } else { "given_int" }, given.1),
                ];
                let arguments: Vec<String> = arguments.into_iter().flatten().collect();
                let text = format!(
                    "use desk\n\nplan limited(given_string: string, given_int: int) {{\n    step called = desk.call({})\n}}\n",
                    arguments.join(", ")
                );
                let made = of_one_tool(&schema, text);
                let checked = ProjectContext::of(&made).check(&made);
                let errors = checked
                    .diagnostics
                    .iter()
                    .filter(|found| found.is_error())
                    .count();
                if leaves_open(&checked) || (errors == 0) != keeps {
                    faults.push(format!(
                        "{}: {arguments:?}: {:?}",
                        rule.name, checked.diagnostics
                    ));
                }
            }
        }
    }
    assert!(
        faults.is_empty(),
        "{} faults\n{}",
        faults.len(),
        faults.join("\n")
    );
}

fn argument(name: &str, value: &str, given: Given) -> Option<String> {
    match given {
        Given::Absent => None,
        Given::There => Some(format!("{name}: {value}")),
        Given::True => Some(format!("{name}: true")),
        Given::False => Some(format!("{name}: false")),
    }
}

#[test]
fn a_generated_call_that_breaks_its_contract_is_an_error_in_its_place() {
    let (base, count) = seeds(PLANS);
    let tried: Vec<(Vec<&str>, Vec<String>)> =
        (base..base + count).into_par_iter().map(try_seed).collect();
    let wrong: Vec<&String> = tried.iter().flat_map(|(_, faults)| faults).collect();
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    tried
        .iter()
        .flat_map(|(names, _)| names)
        .for_each(|name| *names.entry(name).or_default() += 1);
    println!("{count} plans from seed {base}, broken calls: {names:?}");
    for fault in wrong.iter().take(5) {
        println!("{fault}");
    }
    assert!(
        wrong.is_empty(),
        "{} broken calls of {count} plans are not refused",
        wrong.len()
    );
    if count >= 1000 {
        let all = ROWS
            .iter()
            .map(|row| row.name)
            .chain(PAIR_RULES.iter().map(|rule| rule.name));
        let never: Vec<&str> = all.filter(|name| !names.contains_key(name)).collect();
        assert!(never.is_empty(), "no plan is limited by {never:?}");
    }
}

/// Returns the names of the constraints that were broken, and the faults.
fn try_seed(seed: u64) -> (Vec<&'static str>, Vec<String>) {
    let made = project(
        seed,
        Size {
            whole_language: !seed.is_multiple_of(3),
            ..Size::SMALL
        },
    );
    let (mut names, mut faults) = (Vec::new(), Vec::new());
    for limited in &made.limited {
        names.push(limited.name);
        faults.extend(try_broken(&made, limited, seed).err());
    }
    (names, faults)
}

fn try_broken(made: &Project, limited: &Limited, seed: u64) -> Result<(), String> {
    let mut broken = made.clone();
    broken.plans[0]
        .1
        .replace_range(limited.place.clone(), &limited.broken);
    let source = SourceFile::new("main.plan", broken.main());
    let at = u32::try_from(limited.place.start).unwrap();
    let line = source.position(at).line;
    let checked = ProjectContext::of(made).check(&broken);
    let errors: Vec<&Diagnostic> = checked
        .diagnostics
        .iter()
        .filter(|found| found.is_error())
        .collect();
    if errors
        .iter()
        .any(|found| source.position(found.span.start).line == line)
    {
        return Ok(());
    }
    let messages: Vec<String> = errors
        .iter()
        .map(|found| format!("{} `{}`", found.code.name, found.message))
        .collect();
    let lines = broken
        .main()
        .lines()
        .skip(line.saturating_sub(3) as usize)
        .take(5)
        .collect::<Vec<_>>()
        .join("\n");
    Err(format!(
        "seed {seed}, line {line}, {}: `{}` gives {messages:?}\n{lines}\n",
        limited.name, limited.broken
    ))
}

/// Parts of the language that generated plans must contain, and the text that identifies each.
const PARTS: [(&str, &str); 12] = [
    ("waits for signals", "= wait for signal "),
    ("external tasks", " } external\n"),
    ("races", "= race {"),
    ("forms", "= input "),
    ("undo", "    undo "),
    ("verify", "    verify "),
    ("agents that look", "    verify ask "),
    ("agents that are asked at the end", " verify: agents,"),
    ("plans of the other file", "= other."),
    ("listeners that get what completed", " is completed as "),
    ("listeners that get a signal", " on signal \"changed "),
    ("listeners that get one of several", "sys.echo(value: json("),
];
const DEFAULTS: &str = "defaults of parameters";
const OWN: &str = "plans of the same file";
const BELOW: &str = "plans of the same file that stand below";
const RECOVERED: &str = "called plans that recover";

#[test]
fn generated_plans_have_every_part_of_the_language() {
    let (base, count) = seeds(2000);
    let count = count.max(500);
    let counted: Vec<BTreeSet<&str>> = (base..base + count)
        .into_par_iter()
        .map(|seed| {
            parts_of(
                project(
                    seed,
                    Size {
                        whole_language: true,
                        ..Size::SMALL
                    },
                )
                .main(),
            )
        })
        .collect();
    let names = PARTS
        .iter()
        .map(|(name, _)| *name)
        .chain([DEFAULTS, OWN, BELOW, RECOVERED]);
    let counts: Vec<(&str, usize)> = names
        .map(|name| {
            (
                name,
                counted.iter().filter(|parts| parts.contains(&name)).count(),
            )
        })
        .collect();
    println!("{count} plans from seed {base}: {counts:?}");
    for (name, times) in counts {
        assert!(times >= 3, "{name}: {times} of {count} plans");
    }
}

fn parts_of(text: &str) -> BTreeSet<&'static str> {
    let heads: Vec<(usize, &str)> = text
        .match_indices("\nplan ")
        .map(|(at, _)| (at, text[at + 6..].split('(').next().unwrap()))
        .collect();
    let mut parts: BTreeSet<&str> = PARTS
        .iter()
        .filter(|(_, marker)| text.contains(marker))
        .map(|(name, _)| *name)
        .collect();
    for (number, (at, _)) in heads.iter().enumerate() {
        let end = heads.get(number + 1).map_or(text.len(), |(next, _)| *next);
        let (head, body) = text[*at..end].split_once(" {\n").unwrap();
        if head.contains(" = ") {
            parts.insert(DEFAULTS);
        }
        let others = heads
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != number);
        for (other, (_, name)) in
            others.filter(|(_, (_, name))| body.contains(&format!(" = {name}(")))
        {
            parts.insert(OWN);
            if other > number {
                parts.insert(BELOW);
            }
            let call = body.find(&format!(" = {name}(")).unwrap();
            // The clauses of a step are indented more than the step.
            let step = body[..call].rfind('\n').map_or(0, |start| start + 1);
            let margin = body[step..].len() - body[step..].trim_start().len();
            let clauses = body[call..].lines().skip(1).take_while(|line| {
                line.len() - line.trim_start().len() > margin || line.trim_start().starts_with(')')
            });
            if clauses
                .into_iter()
                .any(|line| line.trim_start().starts_with("recover"))
            {
                parts.insert(RECOVERED);
            }
        }
    }
    parts
}
