//! The report of a test run as JUnit XML: one test suite per file, one test case per test or row.

use std::io;
use std::time::Duration;

use planrun_lang::diag::render::{Xml, visible_line, xml_document};
use quick_xml::events::BytesText;

use super::{BARE, Counts, FileReport, Report, Status, TestReport};

/// The name of the whole report.
const NAME: &str = "planrun test";

/// Returns the document. The schema of Jenkins has no line number for a case, so the texts of failures start with
/// their location. If a test has several failures, the first is the message, since readers display one. A flaky case
/// counts as failed, because it fails the command, too.
#[must_use]
pub fn junit(report: &Report) -> String {
    xml_document(|writer| document(writer, report))
}

fn document(writer: &mut Xml, report: &Report) -> io::Result<()> {
    let counts = report.counts();
    let failed = counts.failed + counts.flaky;
    let [tests, failures, errors] =
        [counts.tests, failed, counts.errored].map(|count| count.to_string());
    let time = seconds(report.duration);
    let attributes = [
        ("name", NAME),
        ("tests", tests.as_str()),
        ("failures", failures.as_str()),
        ("errors", errors.as_str()),
        ("time", time.as_str()),
    ];
    let whole = writer
        .create_element("testsuites")
        .with_attributes(attributes);
    whole.write_inner_content(|writer| {
        report.files.iter().try_for_each(|file| suite(writer, file))
    })?;
    Ok(())
}

fn suite(writer: &mut Xml, file: &FileReport) -> io::Result<()> {
    let path = visible_line(&file.path);
    let counts = Counts::of(&file.tests);
    let failed = counts.failed + counts.flaky;
    let [tests, failures, errors] =
        [counts.tests, failed, counts.errored].map(|count| count.to_string());
    let time = seconds(file.tests.iter().map(|test| test.duration).sum());
    let attributes = [
        ("name", &*path),
        ("tests", tests.as_str()),
        ("failures", failures.as_str()),
        ("errors", errors.as_str()),
        ("time", time.as_str()),
        ("file", &*path),
    ];
    let suite = writer
        .create_element("testsuite")
        .with_attributes(attributes);
    suite.write_inner_content(|writer| {
        file.tests
            .iter()
            .try_for_each(|test| case(writer, &path, test))
    })?;
    Ok(())
}

fn case(writer: &mut Xml, path: &str, test: &TestReport) -> io::Result<()> {
    let title = test.title();
    let (name, time) = (visible_line(&title), seconds(test.duration));
    let attributes = [
        ("name", &*name),
        ("classname", path),
        ("time", time.as_str()),
    ];
    let case = writer
        .create_element("testcase")
        .with_attributes(attributes);
    let (element, kind) = match test.status {
        Status::Passed => return case.write_empty().map(drop),
        Status::Failed => ("failure", "failed"),
        Status::Errored => ("error", "errored"),
        Status::Flaky => ("failure", "flaky"),
    };
    let first = test
        .failures
        .first()
        .map_or(BARE.into(), |failure| visible_line(&failure.message));
    let further = test.failures.len().saturating_sub(1);
    let message = if further > 0 {
        format!("{first} (and {further} more)")
    } else {
        first.into_owned()
    };
    let texts = test.failures.iter().map(|failure| {
        let (line, column) = (failure.line, failure.column);
        format!("{path}:{line}:{column}: {}", failure.sentences())
    });
    let bare = test
        .failures
        .is_empty()
        .then(|| format!("{path}:{}: {}", test.line, BARE));
    let account = texts.chain(bare).collect::<Vec<_>>().join("\n\n");
    case.write_inner_content(|writer| {
        let inner = writer.create_element(element);
        let inner = inner.with_attributes([("message", message.as_str()), ("type", kind)]);
        inner.write_text_content(BytesText::new(&account)).map(drop)
    })?;
    Ok(())
}

/// Formats seconds with three decimal places, the most that the schema allows.
fn seconds(duration: Duration) -> String {
    format!("{}.{:03}", duration.as_secs(), duration.subsec_millis())
}
