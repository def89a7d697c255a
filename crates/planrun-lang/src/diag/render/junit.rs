//! Renders diagnostics as a JUnit report, with a test suite for each file and a test case for each diagnostic.

use std::io;

use quick_xml::events::BytesText;

use super::plain::sentences;
use super::{FileReport, Problem, Report, Xml, visible_line, xml_document};
use crate::diag::Diagnostic;

/// The name of the report.
const NAME: &str = "planrun check";

/// Returns the report. An error is a failed case; a warning or note, which does not fail the check, is a passed case
/// with output; a file without diagnostics is a passed case; a file that could not be checked is a case with an error.
#[must_use]
pub fn junit(report: &Report) -> String {
    xml_document(|writer| document(writer, report))
}

fn document(writer: &mut Xml, report: &Report) -> io::Result<()> {
    let cases = report.files.iter().map(cases).sum::<usize>() + report.problems.len();
    let failures = report.files.iter().map(failures).sum::<usize>();
    let counts = [cases, failures, report.problems.len()].map(|count| count.to_string());
    let [tests, failures, errors] = &counts;
    let attributes = [
        ("name", NAME),
        ("tests", tests.as_str()),
        ("failures", failures.as_str()),
        ("errors", errors.as_str()),
    ];
    let whole = writer
        .create_element("testsuites")
        .with_attributes(attributes);
    whole.write_inner_content(|writer| {
        report
            .files
            .iter()
            .try_for_each(|file| suite(writer, file))?;
        report
            .problems
            .iter()
            .try_for_each(|problem| problem_suite(writer, problem))
    })?;
    Ok(())
}

/// Returns the number of cases of a file.
fn cases(file: &FileReport) -> usize {
    file.diagnostics.len().max(1)
}

fn failures(file: &FileReport) -> usize {
    file.diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.is_error())
        .count()
}

fn suite(writer: &mut Xml, file: &FileReport) -> io::Result<()> {
    let name = visible_line(file.source.name());
    let counts = [cases(file).to_string(), failures(file).to_string()];
    let attributes = [
        ("name", &*name),
        ("tests", counts[0].as_str()),
        ("failures", counts[1].as_str()),
        ("errors", "0"),
    ];
    writer
        .create_element("testsuite")
        .with_attributes(attributes)
        .write_inner_content(|writer| {
            if file.diagnostics.is_empty() {
                writer
                    .create_element("testcase")
                    .with_attributes([("name", "check"), ("classname", &*name)])
                    .write_empty()?;
            }
            file.diagnostics
                .iter()
                .try_for_each(|diagnostic| case(writer, file, &name, diagnostic))
        })?;
    Ok(())
}

fn case(
    writer: &mut Xml,
    file: &FileReport,
    suite: &str,
    diagnostic: &Diagnostic,
) -> io::Result<()> {
    let at = file.source.position(diagnostic.span.start);
    let name = format!("{} at {}:{}", diagnostic.code.name, at.line, at.column);
    let text = format!(
        "{suite}:{}:{}: {}[{}] {}",
        at.line,
        at.column,
        diagnostic.severity,
        diagnostic.code.name,
        sentences(diagnostic)
    );
    let message = visible_line(&diagnostic.message);
    let element = writer
        .create_element("testcase")
        .with_attributes([("name", name.as_str()), ("classname", suite)]);
    element.write_inner_content(|writer| {
        let inner = if diagnostic.is_error() {
            let attributes = [("message", &*message), ("type", diagnostic.code.name)];
            writer.create_element("failure").with_attributes(attributes)
        } else {
            writer.create_element("system-out")
        };
        inner.write_text_content(BytesText::new(&text)).map(drop)
    })?;
    Ok(())
}

fn problem_suite(writer: &mut Xml, problem: &Problem) -> io::Result<()> {
    let name = problem
        .file
        .as_deref()
        .map_or("planrun".into(), visible_line);
    let message = visible_line(&problem.message);
    let attributes = [
        ("name", &*name),
        ("tests", "1"),
        ("failures", "0"),
        ("errors", "1"),
    ];
    writer
        .create_element("testsuite")
        .with_attributes(attributes)
        .write_inner_content(|writer| {
            let case = writer
                .create_element("testcase")
                .with_attributes([("name", "read"), ("classname", &*name)]);
            case.write_inner_content(|writer| {
                let error = writer
                    .create_element("error")
                    .with_attributes([("message", &*message), ("type", "environment")]);
                error.write_empty().map(drop)
            })
            .map(drop)
        })?;
    Ok(())
}
