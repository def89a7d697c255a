//! Converts the results of tests to the data of the reports for other programs.

use std::time::Duration;

use planrun_lang::diag::{Diagnostic, codes};
use planrun_lang::source::SourceFile;

use super::FileRun;
use super::files::Tested;
use planrun_test::plantest::report::{Failure, FileReport, Report, Status, TestReport};
use planrun_test::plantest::suite::Ran;

/// Returns the report of all results.
pub(super) fn report(tested: &Tested, runs: &[FileRun<'_>], duration: Duration) -> Report {
    let mut files: Vec<FileReport> = runs.iter().map(file).collect();
    for broken in tested
        .reports
        .iter()
        .filter(|report| !report.diagnostics.is_empty())
    {
        let failures = broken
            .diagnostics
            .iter()
            .map(|found| failure(&broken.source, found));
        files.push(untested(broken.source.name(), failures.collect()));
    }
    for problem in &tested.problems {
        let path = problem.file.as_deref().unwrap_or_default();
        let message = problem.message.clone();
        let failure = Failure {
            message,
            line: 1,
            column: 1,
            expected: None,
            actual: None,
            help: None,
        };
        files.push(untested(path, vec![failure]));
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    Report { files, duration }
}

fn file(run: &FileRun<'_>) -> FileReport {
    let suite = &run.file.suite;
    if !suite.broken.is_empty() {
        return untested(
            suite.source.name(),
            suite
                .broken
                .iter()
                .map(|found| failure(&suite.source, found))
                .collect(),
        );
    }
    let tests = run.ran.iter().map(|ran| test(&suite.source, ran));
    FileReport {
        path: suite.source.name().to_owned(),
        tests: tests.collect(),
    }
}

fn test(source: &SourceFile, ran: &Ran) -> TestReport {
    TestReport {
        name: ran.test.name.to_string(),
        row: ran.row,
        line: source.position(ran.test.span.start).line,
        status: status(ran),
        duration: ran.took,
        failures: ran
            .faults
            .iter()
            .map(|fault| failure(source, fault))
            .collect(),
    }
}

fn status(ran: &Ran) -> Status {
    let missed = [&codes::tests::EXPECTATION, &codes::tests::SNAPSHOT];
    match ran.faults.as_slice() {
        [] => Status::Passed,
        _ if ran.is_flaky => Status::Flaky,
        faults if faults.iter().all(|fault| missed.contains(&fault.code)) => Status::Failed,
        _ => Status::Errored,
    }
}

/// Returns the report of a file whose tests cannot run.
fn untested(path: &str, failures: Vec<Failure>) -> FileReport {
    let check = TestReport {
        name: "planrun check".to_owned(),
        row: None,
        line: 1,
        status: Status::Errored,
        duration: Duration::ZERO,
        failures,
    };
    FileReport {
        path: path.to_owned(),
        tests: vec![check],
    }
}

fn failure(source: &SourceFile, found: &Diagnostic) -> Failure {
    let position = source.position(found.span.start);
    Failure {
        message: found.message.clone(),
        line: position.line,
        column: position.column,
        expected: found.expected.clone(),
        actual: found.actual.clone(),
        help: found.help.clone(),
    }
}
