//! The report of a test run as one JSON document.

use std::time::Duration;

use planrun_lang::diag::render::escape_json;
use serde::Serialize;

use super::{Counts, Failure, Report, Status, TestReport};

/// Returns the document of `test --format json`. Its version is incremented if an existing key is removed or changes
/// its meaning; new keys do not change it.
#[must_use]
pub fn json(report: &Report) -> String {
    let files = report.files.iter();
    let files = files.map(|file| FileShape {
        path: &file.path,
        tests: file.tests.iter().map(shape).collect(),
    });
    let Counts {
        tests,
        passed,
        failed,
        errored,
        flaky,
    } = report.counts();
    let duration_ms = milliseconds(report.duration);
    let summary = Summary {
        tests,
        passed,
        failed,
        errored,
        flaky,
        duration_ms,
    };
    let document = Document {
        version: 2,
        summary,
        files: files.collect(),
    };
    // Contains only text, numbers and lists, so serialization cannot fail.
    escape_json(&serde_json::to_string_pretty(&document).unwrap_or_default()) + "\n"
}

#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    summary: Summary,
    files: Vec<FileShape<'a>>,
}

#[derive(Serialize)]
struct Summary {
    tests: usize,
    passed: usize,
    failed: usize,
    errored: usize,
    flaky: usize,
    duration_ms: u64,
}

#[derive(Serialize)]
struct FileShape<'a> {
    path: &'a str,
    tests: Vec<TestShape<'a>>,
}

#[derive(Serialize)]
struct TestShape<'a> {
    name: &'a str,
    row: Option<usize>,
    line: u32,
    status: Status,
    duration_ms: u64,
    failures: Vec<FailureShape<'a>>,
}

#[derive(Serialize)]
struct FailureShape<'a> {
    message: &'a str,
    line: u32,
    column: u32,
    expected: Option<&'a str>,
    actual: Option<&'a str>,
    help: Option<&'a str>,
}

fn shape(test: &TestReport) -> TestShape<'_> {
    let TestReport {
        name,
        row,
        line,
        status,
        duration,
        failures,
    } = test;
    let failures = failures.iter().map(|failure| {
        let Failure {
            message,
            line,
            column,
            expected,
            actual,
            help,
        } = failure;
        let [expected, actual, help] = [expected, actual, help].map(Option::as_deref);
        FailureShape {
            message,
            line: *line,
            column: *column,
            expected,
            actual,
            help,
        }
    });
    let (duration_ms, failures) = (milliseconds(*duration), failures.collect());
    TestShape {
        name,
        row: *row,
        line: *line,
        status: *status,
        duration_ms,
        failures,
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
