//! The approval of a plan that changes something: a question that describes the most that the plan may do.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use planrun_core::run::{Approval, short_duration};
use planrun_lang::bounds::{Argument, Bounds, Role, Undoing, Use};
use planrun_lang::diag::render::{command, visible_line};
use planrun_lang::origin::Source;
use planrun_lang::secrets::{MARK, redact_paths};
use planrun_lang::sema::{OnFailure, PassedArgument, Plan};
use planrun_lang::types::Effect;
use planrun_lang::value::{Value, counted};
use planrun_runs::runs::{
    Base, CheckedPlan, Error, Inputs, Planrun, Repeated, RunOptions, required_grant,
};

use crate::tokens::cut;

/// How long the question can be answered.
const OPEN_FOR: Duration = Duration::from_hours(24);
/// How long an approval is valid.
const VALID_FOR: Duration = Duration::from_hours(24);
/// Maximum length of the question, in characters.
const MAX_CHARACTERS: usize = 1_200;
/// Maximum length of the text up to the end of the lines of tools, in characters.
const MAX_OF_TOOLS: usize = 620;
/// Maximum length of the lines of effects that are made again, in characters.
const MAX_OF_REPEATED: usize = 300;
/// Maximum size of one of them, in bytes.
const REPEATED_BYTES: usize = 120;
/// Maximum length of the lines of inputs, in characters.
const MAX_OF_INPUTS: usize = 220;
/// Maximum size of a name, of a constant, and of the value of an input, in bytes.
const NAME_BYTES: usize = 60;
const CONSTANT_BYTES: usize = 40;
const INPUT_BYTES: usize = 80;

/// Returns the options of a run of a plan that a model wrote: a plan that changes something needs an approval. A grant
/// that was given before approves it, unless effects of `base` are made again: whoever gave the grant did not know of
/// them. The question lists the inputs `listed`.
///
/// # Errors
/// Returns an error if the grants that were given before cannot be read.
pub fn run_options(
    planrun: &Planrun,
    plan: &CheckedPlan,
    run: String,
    listed: &Inputs,
    base: Option<Base>,
) -> Result<RunOptions, Error> {
    let bounds = plan.bounds(None);
    let repeated = base.as_ref().map(|base| base.forced_repeats(&plan.plan));
    let repeated = repeated.unwrap_or_default();
    let approval = match required_grant(&plan.plan, &bounds) {
        Some(needed) => {
            let standing = plan.valid_grant(planrun, &needed)?;
            let standing = standing.filter(|_| repeated.is_empty());
            let text = text(&run, &plan.plan, listed.values(), (&bounds, &repeated));
            Some(Approval {
                text: text.into(),
                open_for: OPEN_FOR,
                grant: standing.unwrap_or(needed),
                valid_for: VALID_FOR,
            })
        }
        None => None,
    };
    Ok(RunOptions {
        id: Some(run),
        repeats_effects: approval.is_some() && !repeated.is_empty(),
        approval,
        base,
        ..RunOptions::default()
    })
}

fn text(
    run: &str,
    plan: &Plan,
    inputs: &BTreeMap<Arc<str>, Value>,
    (bounds, repeated): (&Bounds, &[Repeated]),
) -> String {
    let hash = plan.digest.get(..12).unwrap_or(&plan.digest);
    let mut text = format!("May the plan {} ({hash}) run?\n", name(&plan.name));
    text.push_str(&repeated_lines(repeated));
    let works = |one: &&Use| matches!(one.role, Role::Forward | Role::Recover);
    let (mut changes, reads): (Vec<&Use>, Vec<&Use>) = bounds
        .uses
        .iter()
        .filter(works)
        .partition(|one| !one.effect.is_read_only());
    let is_undo = |one: &&Use| one.role == Role::Undo && !one.effect.is_read_only();
    changes.extend(bounds.uses.iter().filter(is_undo));
    // Effects that cannot be undone come first, because the person must see them.
    changes.sort_by_key(|one| std::cmp::Reverse(one.effect));
    let _ = writeln!(text, "It may change, at most:");
    let mut left = changes.len();
    for one in &changes {
        let line = line(one);
        if text.chars().count() + line.chars().count() > MAX_OF_TOOLS {
            break;
        }
        text.push_str(&line);
        left -= 1;
    }
    if left > 0 {
        let more = counted(left, "more tool");
        let _ = writeln!(text, "- and {more}: read the plan before you agree");
    }
    text.push_str(&input_lines(run, plan, inputs));
    if !reads.is_empty() {
        let mut names: Vec<String> = reads.iter().map(|one| name(&one.tool)).collect();
        names.dedup();
        let _ = writeln!(text, "It reads: {}", cut(&names.join(", "), 120));
    }
    let _ = writeln!(text, "{}", limits(bounds));
    let show = command(&format!("runs show {run} --plan"));
    let _ = write!(text, "The whole plan: {show}");
    text.chars().take(MAX_CHARACTERS).collect()
}

/// Lists effects that are made again, one per line: `- pay (bank.pay, which may have happened)`.
fn repeated_lines(repeated: &[Repeated]) -> String {
    let mut lines = String::new();
    let mut left = repeated.len();
    if left > 0 {
        lines.push_str("It does again what an earlier run has done, or may have done:\n");
    }
    for one in repeated {
        let line = format!(
            "- {}\n",
            cut(&visible_line(&one.to_string()), REPEATED_BYTES)
        );
        if lines.chars().count() + line.chars().count() > MAX_OF_REPEATED {
            break;
        }
        lines.push_str(&line);
        left -= 1;
    }
    if left > 0 {
        let _ = writeln!(lines, "- and {}", counted(left, "more effect"));
    }
    lines
}

/// Lists the inputs, one per line: `| id: 77`. Values that the plan marks as secret, or passes to a secret argument, are
/// redacted. Names the command that shows what is left out.
fn input_lines(run: &str, plan: &Plan, inputs: &BTreeMap<Arc<str>, Value>) -> String {
    let mut lines = String::new();
    let mut is_whole = true;
    let given = plan.parameters.iter();
    let given = given.filter_map(|input| Some((input, inputs.get(&input.name)?)));
    let given: Vec<_> = given.collect();
    let mut left = given.len();
    if left > 0 {
        lines.push_str("Its inputs:\n");
    }
    for (input, value) in given {
        let is_hidden = |to: &PassedArgument| to.signature.sensitive.contains(&to.argument);
        let value = if input.passed_on.iter().any(is_hidden) {
            MARK.to_owned()
        } else {
            redact_paths(value, &input.sensitive).to_json().to_string()
        };
        let value = visible_line(&value);
        let shown = both_ends(&value);
        let mut line = format!("| {}: {shown}", name(&input.name));
        if value != shown {
            is_whole = false;
            let _ = write!(line, " ({} bytes in total)", value.len());
        }
        line.push('\n');
        if lines.chars().count() + line.chars().count() > MAX_OF_INPUTS {
            break;
        }
        lines.push_str(&line);
        left -= 1;
    }
    if left > 0 {
        let _ = writeln!(lines, "| and {}", counted(left, "more input"));
    }
    if left > 0 || !is_whole {
        let show = command(&format!("runs show {run} --inputs"));
        let _ = writeln!(lines, "All of them: {show}");
    }
    lines
}

/// Shortens the value of an input to its beginning and its end: a path is what it ends with.
fn both_ends(value: &str) -> Cow<'_, str> {
    if value.len() <= INPUT_BYTES {
        return Cow::Borrowed(value);
    }
    let end = value.ceil_char_boundary(value.len() - INPUT_BYTES / 2);
    let start = cut(value, INPUT_BYTES / 2);
    Cow::Owned(format!("{start}{}", value.get(end..).unwrap_or_default()))
}

/// Formats one tool: `- desk.close: 20 times (effect), id from desk.find; undone by desk.reopen if the plan fails`.
fn line(one: &Use) -> String {
    let times = match one.max {
        None => "any number of times".to_owned(),
        Some(1) => "once".to_owned(),
        Some(max) => format!("{max} times"),
    };
    let mut line = format!("- {}: {times} ({})", name(&one.tool), one.effect.name());
    for argument in &one.arguments {
        let _ = write!(line, ", {}", describe(argument));
    }
    let strangers: Vec<String> = one
        .arguments
        .iter()
        .filter(|argument| !argument.strangers.is_empty())
        .map(|argument| name(&argument.name))
        .collect();
    if !strangers.is_empty() {
        let _ = write!(line, "; untrusted text flows into {}", strangers.join(", "));
    }
    if one.role == Role::Undo {
        line.push_str("; only if the plan fails");
    }
    if let Some(undoing) = undoing(one) {
        let _ = write!(line, "; {undoing}");
    }
    line.push('\n');
    line
}

/// Describes what happens to the effect if the plan fails.
fn undoing(one: &Use) -> Option<String> {
    let tools = |tools: &[Arc<str>]| {
        let names: Vec<String> = tools.iter().map(|tool| name(tool)).collect();
        names.join(", ")
    };
    if one.effect == Effect::Irreversible {
        return Some("CANNOT BE UNDONE".to_owned());
    }
    Some(match one.undo.as_ref()? {
        Undoing::With(by) if by.is_empty() => "undone if the plan fails".to_owned(),
        Undoing::With(by) | Undoing::Whole(by) => {
            format!("undone by {} if the plan fails", tools(by))
        }
        Undoing::Policy(OnFailure::Pause) => {
            "not undone if the plan fails; the run is then paused".to_owned()
        }
        Undoing::Policy(_) | Undoing::Inverse(_) | Undoing::Stays | Undoing::AfterEnd => {
            "not undone if the plan fails".to_owned()
        }
    })
}

/// Formats an argument with the sources of its values.
fn describe(argument: &Argument) -> String {
    let (own, more) = (name(&argument.name), argument.more);
    let constants: Option<Vec<String>> = argument.from.iter().map(constant).collect();
    match constants
        .as_deref()
        .filter(|all| !argument.computed || all.is_empty())
    {
        Some([]) => own,
        Some([only]) if !more => format!("{own} = {only}"),
        Some(several) => format!("{own} is {}", one_of(several, more)),
        None => {
            let sources = argument.from.iter();
            if argument.computed {
                let operand = |one| {
                    constant(one).map_or_else(|| source(one), |constant| format!("from {constant}"))
                };
                let sources: Vec<String> = sources.map(operand).collect();
                format!("{own} computed {}", all_of(&sources, more))
            } else {
                let sources: Vec<String> = sources.map(source).collect();
                format!("{own} {}", one_of(&sources, more))
            }
        }
    }
}

/// Formats alternatives: `a, b or c`, `a, b or one of 3 more`, or `a, b or another` if the number of further ones is
/// unknown.
fn one_of(choices: &[String], more: bool) -> String {
    let (mut listed, left) = first_of(choices);
    match left {
        _ if more => listed.push("another".to_owned()),
        0 => {}
        left => listed.push(format!("one of {left} more")),
    }
    joined(&listed, "or")
}

/// Formats parts: `a, b and c`, `a, b and 3 more`, or `a, b and others` if the number of further ones is unknown.
fn all_of(parts: &[String], more: bool) -> String {
    let (mut listed, left) = first_of(parts);
    match left {
        _ if more => listed.push("others".to_owned()),
        0 => {}
        left => listed.push(format!("{left} more")),
    }
    joined(&listed, "and")
}

/// Returns all if there are at most three, otherwise the first two and the number of the others.
fn first_of(all: &[String]) -> (Vec<String>, usize) {
    let count = if all.len() > 3 { 2 } else { all.len() };
    let (first, left) = all.split_at(count);
    (first.to_vec(), left.len())
}

fn joined(parts: &[String], word: &str) -> String {
    match parts.split_last() {
        Some((last, first)) if !first.is_empty() => format!("{} {word} {last}", first.join(", ")),
        _ => parts.concat(),
    }
}

/// Formats a constant; returns `None` if the source is not one.
fn constant(source: &Source) -> Option<String> {
    match source {
        Source::Constant(value) => {
            let json = value.to_string();
            Some(cut(&visible_line(&json), CONSTANT_BYTES).into_owned())
        }
        Source::Hidden => Some("a secret of the plan".to_owned()),
        Source::Input(_)
        | Source::Result(_)
        | Source::Agent(_)
        | Source::Model
        | Source::Answer(_)
        | Source::Signal(_)
        | Source::Error(_)
        | Source::Task(_)
        | Source::Unknown => None,
    }
}

fn source(source: &Source) -> String {
    match source {
        Source::Constant(_) | Source::Hidden => constant(source).unwrap_or_default(),
        Source::Input(input) => format!("from the input {}", name(input)),
        Source::Result(tool) => format!("from {}", name(tool)),
        Source::Agent(agent) => format!("from the agent {}", name(agent)),
        Source::Model => "from a model".to_owned(),
        Source::Answer(step) => format!("from an answer to {}", name(step)),
        Source::Signal(signal) => format!("from the signal {}", name(signal)),
        Source::Error(step) => format!("from the error of {}", name(step)),
        Source::Task(task) => format!("from the task {}", name(task)),
        Source::Unknown => "from something else".to_owned(),
    }
}

fn limits(bounds: &Bounds) -> String {
    let limits = &bounds.limits;
    let parts = [
        limits.calls.map(|calls| counted(calls, "call")),
        limits
            .time_ms
            .map(|time| short_duration(Duration::from_millis(time))),
        limits.cost.map(|cost| format!("a cost of {cost}")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let within = if parts.is_empty() {
        String::new()
    } else {
        format!("Within {}. ", parts.join(", "))
    };
    format!(
        "{within}An approval is valid for {}.",
        short_duration(VALID_FOR)
    )
}

/// Shortens an external name and makes it visible.
fn name(text: &str) -> String {
    cut(&visible_line(text), NAME_BYTES).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn argument(from: Vec<Source>, computed: bool, more: bool) -> String {
        describe(&Argument {
            name: "id".into(),
            from,
            computed,
            more,
            strangers: Vec::new(),
        })
    }

    fn constants(count: i64) -> Vec<Source> {
        (1..=count)
            .map(|one| Source::Constant(one.into()))
            .collect()
    }

    #[test]
    fn constants_are_told_as_a_person_would_list_them() {
        assert_eq!(argument(constants(1), false, false), "id = 1");
        assert_eq!(argument(constants(2), false, false), "id is 1 or 2");
        assert_eq!(argument(constants(3), false, false), "id is 1, 2 or 3");
        assert_eq!(
            argument(constants(5), false, false),
            "id is 1, 2 or one of 3 more"
        );
        assert_eq!(
            argument(constants(3), false, true),
            "id is 1, 2, 3 or another"
        );
        assert_eq!(argument(constants(1), false, true), "id is 1 or another");
        // They are parts of it, or what it may also be.
        assert_eq!(argument(constants(1), true, false), "id computed from 1");
    }

    #[test]
    fn other_sources_say_whether_a_value_is_one_of_them_or_made_of_them() {
        let two = || {
            vec![
                Source::Result("desk.list".into()),
                Source::Input("n".into()),
            ]
        };
        assert_eq!(
            argument(two(), false, false),
            "id from desk.list or from the input n"
        );
        assert_eq!(
            argument(two(), true, true),
            "id computed from desk.list, from the input n and others"
        );
        let four = two().into_iter().chain(constants(2)).collect();
        assert_eq!(
            argument(four, true, false),
            "id computed from desk.list, from the input n and 2 more"
        );
    }
}
