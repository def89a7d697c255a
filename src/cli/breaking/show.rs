//! Renders changes for people, for programs and for GitHub Actions.

use std::fmt::Write as _;

use planrun_lang::diag::Diagnostic;
use planrun_lang::diag::render::{
    Appearance, FileReport, Problem, Report, drawn, github, range, visible_line,
};
use planrun_lang::source::{SourceFile, Span};
use serde_json::{Value as Json, json};

use super::versions::Checked;
use super::{ChangedFile, Changes};
use planrun_test::breaking::Finding;

/// Renders the changes by plan and class, with the current source lines.
pub(super) fn people(changes: &Changes, style: Appearance) -> String {
    let mut text = String::new();
    for file in &changes.files {
        for findings in file
            .comparison
            .findings
            .chunk_by(|one, other| one.plan == other.plan)
        {
            plan(&mut text, changes, file, findings, style);
        }
    }
    text
}

fn plan(
    text: &mut String,
    changes: &Changes,
    file: &ChangedFile,
    findings: &[Finding],
    style: Appearance,
) {
    let breaking = findings
        .iter()
        .filter(|found| found.kind.is_breaking())
        .count();
    let Some(plan) = findings.first().map(|found| &found.plan) else {
        return;
    };
    let name = visible_line(&file.name);
    let compatible = findings.len() - breaking;
    // Writing to a string does not fail.
    let _ = writeln!(
        text,
        "{plan} in {name}: {breaking} breaking, {compatible} compatible\n"
    );
    for class in findings.chunk_by(|one, other| one.kind.class == other.kind.class) {
        let Some(word) = class.first().map(|found| found.kind.class) else {
            continue;
        };
        let _ = writeln!(text, "{word}\n");
        for found in class {
            text.push_str(&one(changes, file, found, style));
        }
    }
}

fn one(changes: &Changes, file: &ChangedFile, found: &Finding, style: Appearance) -> String {
    let heading = format!("{}[{}]", found.kind.severity(), found.kind.name());
    let mut below = vec![("for", found.kind.concern.to_string())];
    below.extend(then(changes, file, found).map(|place| ("then", place)));
    if let (Some(now), Some(diagnostic)) = (&file.versions.now, found.diagnostic()) {
        return drawn(&now.source, &diagnostic, heading, &below, style);
    }
    // Removed parts are rendered in their old source.
    let was = file
        .versions
        .then
        .as_ref()
        .map_or("", |then| then.source.text());
    let source = SourceFile::new(format!("{}:{}", changes.revision, file.name), was);
    let diagnostic = Diagnostic::new(
        &found.kind.code,
        found.then.unwrap_or_default(),
        found.message.clone(),
    );
    drawn(&source, &diagnostic, heading, &below, style)
}

/// Returns the old location, as git names files of a revision.
fn then(changes: &Changes, file: &ChangedFile, found: &Finding) -> Option<String> {
    let (source, span) = (&file.versions.then.as_ref()?.source, found.then?);
    let place = source.position(span.start);
    Some(format!(
        "{}:{}:{}:{}",
        changes.revision, file.name, place.line, place.column
    ))
}

/// Renders one workflow command per change, each on one line. The command for a removed plan has no location.
pub(super) fn commands(changes: &Changes) -> String {
    let mut report = Report::default();
    for file in &changes.files {
        let details = |found: &Finding| {
            let then = then(changes, file, found)
                .map(|place| format!(", then at {place}"))
                .unwrap_or_default();
            format!("{} for {}{then}", found.kind.severity(), found.kind.concern)
        };
        let now = file.versions.now.as_ref();
        let placed = |found: &Finding| -> Option<Diagnostic> {
            let diagnostic = found.diagnostic().filter(|_| now.is_some())?;
            Some(diagnostic.help(details(found)))
        };
        let (located, removed): (Vec<_>, Vec<_>) = file
            .comparison
            .findings
            .iter()
            .partition(|found| placed(found).is_some());
        if let Some(now) = now {
            report.files.push(FileReport::new(
                now.source.clone(),
                located.into_iter().filter_map(placed).collect(),
            ));
        }
        report.problems.extend(removed.into_iter().map(|found| {
            let message = format!(
                "{}: {} ({})",
                found.kind.name(),
                found.message,
                details(found)
            );
            Problem {
                file: Some(file.name.clone()),
                message,
            }
        }));
    }
    github(&report)
}

pub(super) fn document(changes: &Changes) -> Json {
    let left_out = changes.left_out().map(|left_out| {
        let errors = if left_out.today { "now" } else { "then" };
        json!({ "file": left_out.file, "plan": left_out.plan, "errors": errors })
    });
    json!({
        "version": 1,
        "against": { "revision": changes.revision, "commit": changes.commit },
        "summary": {
            "plans": changes.plans(),
            "breaking": changes.count(true),
            "compatible": changes.count(false),
            "accepted": changes.accepted,
        },
        "changes": changes.files.iter().flat_map(changes_of).collect::<Json>(),
        "left_out": left_out.collect::<Json>(),
    })
}

fn changes_of(file: &ChangedFile) -> impl Iterator<Item = Json> {
    let place = |version: &Option<Checked>, span: Option<Span>| {
        Some(range(&version.as_ref()?.source, span?))
    };
    file.comparison.findings.iter().map(move |found| {
        json!({
            "kind": found.kind.name(),
            "class": found.kind.class,
            "severity": found.kind.severity(),
            "concerns": found.kind.concern,
            "file": file.name,
            "plan": found.plan,
            "subject": found.subject,
            "message": found.message,
            "span": place(&file.versions.now, found.now),
            "then": place(&file.versions.then, found.then),
        })
    })
}
