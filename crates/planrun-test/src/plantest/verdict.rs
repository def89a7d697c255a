//! Decides whether a case passes: checks its expectations against the outcome, and reports faults.

use std::borrow::Cow;
use std::sync::Arc;

use planrun_lang::call::sensitive_arguments;
use planrun_lang::diag::{Diagnostic, codes};
use planrun_lang::protocol::RunState;
use planrun_lang::secrets::{Redactor, at_path, redact_paths};
use planrun_lang::sema::test::{Comparison, Expect, Test};
use planrun_lang::source::{SourceFile, Span};
use planrun_lang::value::{Value, shortened};

use super::case::Case;
use super::outcome::{end, slots};
use super::play::{MAX_DURATION, Played};
use super::slots::Slots;
use crate::plantest::MAX_QUOTED;

/// Returns the faults of a case that was run, with secrets redacted; empty if it passes.
#[must_use]
pub fn faults(source: &SourceFile, case: &Case, played: &Played) -> Vec<Diagnostic> {
    let mut faults = plain_faults(source, case, played);
    if !faults.is_empty() {
        let secrets = secrets(case, played);
        for fault in &mut faults {
            redact(fault, &secrets);
        }
    }
    faults
}

/// Returns the secrets that a case knows: those in its inputs, in the arguments of calls, and those of its run, which
/// has them also in results and answers.
pub fn secrets(case: &Case, played: &Played) -> Redactor {
    let outcome = played.outcome.as_ref();
    let mut secrets = outcome
        .map(|outcome| outcome.secrets().clone())
        .unwrap_or_default();
    let mut add = |value: &Value, path: &str| {
        at_path(value, path, &mut |secret| secrets.add_value(secret));
    };
    for input in &case.test.plan.parameters {
        if let Some(value) = case.inputs.get(&input.name) {
            input.sensitive.iter().for_each(|path| add(value, path));
        }
    }
    let answered = played
        .calls
        .iter()
        .map(|call| (&call.signature, &call.arguments));
    let others = played
        .unanswered
        .iter()
        .map(|call| (&call.signature, &call.arguments));
    for (signature, arguments) in answered.chain(others) {
        for path in sensitive_arguments(signature, arguments) {
            add(arguments, &path);
        }
    }
    secrets
}

fn redact(fault: &mut Diagnostic, secrets: &Redactor) {
    let texts = [&mut fault.message, &mut fault.note].into_iter();
    let more = [&mut fault.expected, &mut fault.actual, &mut fault.help];
    for text in texts.chain(more.into_iter().flatten()) {
        if let Cow::Owned(redacted) = secrets.text(text) {
            *text = redacted;
        }
    }
}

fn plain_faults(source: &SourceFile, case: &Case, played: &Played) -> Vec<Diagnostic> {
    let test = &case.test;
    let mut faults = unanswered(case, played);
    faults.extend(played.mock_faults.first().map(|fault| {
        let help = "give the mock a value for these arguments, or let it `fail`";
        codes::tests::CALL_UNANSWERED
            .at(fault.span, &fault.why)
            .help(help)
    }));
    if !faults.is_empty() {
        // Other faults are consequences of an unanswered call.
        return faults;
    }
    faults.extend(rejected(test, played));
    if played.outcome.is_none() {
        let message = if let Some((step, calls)) = &played.endless {
            format!("the run does not end: `{step}` was called {calls} times")
        } else if played.processes > 1 {
            format!(
                "the run has not ended after {} processes, the most that a test supports",
                played.processes
            )
        } else if played.took >= MAX_DURATION {
            "the run has not ended after twenty years of virtual time, the most that a test supports".to_owned()
        } else {
            "the run neither ends nor waits for input".to_owned()
        };
        let finding = codes::tests::RUN_ENDED.at(test.span, message);
        let limit = "limit an answer or an outcome that has the call repeated with `times`, or poll less often";
        let wake = "each wait that suspends the run needs another process: test fewer rounds, or waits of at most a minute";
        faults.push(match played.endless {
            Some(_) => finding.help(limit),
            None if played.processes > 1 => finding.help(wake),
            None => finding,
        });
        return faults;
    }
    let values = slots(case, played);
    faults.extend(
        test.expects
            .iter()
            .filter_map(|expect| broken(source, expect, &values, played)),
    );
    let meant = test.expects.iter().any(|expect| expect.reads_end);
    // A rejected answer explains why the run waits.
    if played.state != RunState::Completed && !meant && played.refused.is_empty() {
        faults.push(ended(case, played));
    }
    faults
}

/// Returns the faults of answers and signals that the plan does not accept.
fn rejected(test: &Test, played: &Played) -> Vec<Diagnostic> {
    let answers = played.refused.iter().map(|(index, reason)| {
        let message = format!("this answer is rejected: {reason}");
        let span = test.answers[*index].span;
        Diagnostic::new(&codes::tests::ANSWER_REFUSED, span, message)
    });
    let signals = played.refused_signals.iter().map(|(index, reason)| {
        let message = format!("this signal is rejected: {reason}");
        let span = test.signals[*index].span;
        Diagnostic::new(&codes::tests::SIGNAL_REFUSED, span, message)
    });
    answers.chain(signals).collect()
}

/// Returns the fault of an answer that no question used; `None` if there is no such answer.
#[must_use]
pub fn unused(test: &Test, index: usize) -> Option<Diagnostic> {
    let answer = test.answers.get(index)?;
    let message = format!(
        "this answer is never used: the run never waits at `{}`",
        answer.path
    );
    let help = "remove it, or check that the test reaches this question";
    Some(
        codes::tests::ANSWER_UNUSED
            .at(answer.span, message)
            .help(help),
    )
}

/// Returns the faults of calls that no source answered, once for each tool.
fn unanswered(case: &Case, played: &Played) -> Vec<Diagnostic> {
    let mut reported: Vec<String> = Vec::new();
    let mut faults = Vec::new();
    for call in &played.unanswered {
        let tool = call.signature.path();
        if reported.contains(&tool) {
            continue;
        }
        let known = case.test.mocks.iter().any(|mock| {
            mock.signature
                .as_ref()
                .is_some_and(|own| own.path() == tool)
        });
        let why = if known {
            "none of its mocks matches this call, or all are used up"
        } else {
            "nothing answers it"
        };
        let message = format!("`{}` calls `{tool}`, but {why}", call.path);
        let secret = sensitive_arguments(&call.signature, &call.arguments);
        let arguments = redact_paths(&call.arguments, &secret).to_json_text();
        let recorded = if case.recording.is_some() {
            ", or record a real call with `--record new`"
        } else {
            ""
        };
        let finding = codes::tests::CALL_UNANSWERED.at(case.test.span, message).help(format!(
            "it is called with {}; add `mock {tool} => …`, or `mock {tool} => generated`{recorded}",
            shortened(&arguments, MAX_QUOTED)
        ));
        faults.push(finding);
        reported.push(tool);
    }
    faults
}

/// Returns the fault of an end that is not a success, and that no expectation mentions.
fn ended(case: &Case, played: &Played) -> Diagnostic {
    let message = format!("the run did not complete: {}", end(played));
    let finding = codes::tests::RUN_ENDED.at(case.test.span, message);
    let open = played
        .outcome
        .iter()
        .flat_map(|outcome| &outcome.questions)
        .map(|(path, _)| path)
        .next();
    match open {
        Some(path) => finding.help(format!(
            "it waits at `{path}`; add `answer {path} => …`, or `expect status == \"paused\"`"
        )),
        None => finding.help(format!(
            "if this is intended, add `expect status == \"{}\"`",
            played.state
        )),
    }
}

fn broken(
    source: &SourceFile,
    expect: &Expect,
    values: &Slots,
    played: &Played,
) -> Option<Diagnostic> {
    match values.evaluate(&expect.condition) {
        Ok(Value::Bool(true)) => return None,
        Ok(_) => {}
        Err(error) => {
            let span = if error.span == Span::at(0) {
                expect.span
            } else {
                error.span
            };
            let message = format!("this cannot be evaluated: {error}");
            let finding = codes::tests::EXPECTATION.at(span, message);
            return Some(match not_called(source.slice(expect.span), played) {
                Some(why) => finding.help(why),
                None => finding,
            });
        }
    }
    let wrong = expect
        .parts
        .iter()
        .find(|part| values.evaluate(&part.condition) != Ok(Value::Bool(true)));
    let span = wrong.map_or(expect.span, |part| part.span);
    let finding = codes::tests::EXPECTATION.at(span, "this does not hold");
    let finding = match wrong.and_then(|part| sides(source, part, values)) {
        Some((expected, actual, note)) => finding.expected(expected, actual).note(note),
        None => match wrong.and_then(|part| shown(source, part.receiver.as_ref()?, values)) {
            Some(note) => finding.note(note),
            None => finding,
        },
    };
    Some(match played.state {
        RunState::Completed => finding,
        _ => finding.help(end(played)),
    })
}

/// Says of a step whose arguments an expectation reads that it was not called, so that it has none.
fn not_called(expectation: &str, played: &Played) -> Option<String> {
    let steps = played.outcome.as_ref()?.steps();
    let step = steps.into_iter().find(|step| {
        let read = [
            "steps.{}.arguments",
            "steps[\"{}\"].arguments",
            "steps[\"{}\"]?.arguments",
        ];
        let mut read = read.iter().map(|form| form.replace("{}", &step.path));
        step.attempts == 0 && read.any(|read| expectation.contains(&read))
    })?;
    let (path, state) = (&step.path, step.status.name());
    Some(format!(
        "`{path}` was not called, so it has no arguments: its status is `{state}`"
    ))
}

/// Returns the sides of a comparison: the expected value, the actual value, and a note with the actual value.
fn sides(
    source: &SourceFile,
    part: &Comparison,
    values: &Slots,
) -> Option<(String, String, String)> {
    let (left, right) = part.sides.as_ref()?;
    let text = |code: &planrun_lang::sema::expr::CheckedExpr| source.slice(code.span).to_owned();
    let value = |code| {
        values
            .evaluate(code)
            .ok()
            .map(|value: Value| shortened(&value.to_json_text(), MAX_QUOTED))
    };
    let (is, expected) = (value(left)?, value(right)?);
    let operator = source
        .slice(Span::new(left.span.end as usize, right.span.start as usize))
        .trim()
        .to_owned();
    let expected = if operator == "==" {
        expected
    } else {
        format!("{operator} {expected}")
    };
    // A constant need not be explained, so `7 in xs` shows the list.
    let note = match left.constant() {
        Some(_) => shown(source, right, values)?,
        None => format!("{} is {is}", text(left)),
    };
    Some((expected, is, note))
}

/// Describes the value of an expression, such as `reply.n is [1]`.
fn shown(
    source: &SourceFile,
    code: &planrun_lang::sema::expr::CheckedExpr,
    values: &Slots,
) -> Option<String> {
    let value: Value = values.evaluate(code).ok()?;
    let value = shortened(&value.to_json_text(), MAX_QUOTED);
    Some(format!("{} is {value}", source.slice(code.span)))
}

/// Returns a fault at the name of a test.
#[must_use]
pub fn fault(span: Span, message: impl Into<Arc<str>>) -> Diagnostic {
    let message: Arc<str> = message.into();
    codes::tests::RUN_ENDED.at(span, message.to_string())
}
