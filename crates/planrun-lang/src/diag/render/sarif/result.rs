//! The results of a SARIF document.

use std::collections::BTreeMap;

use serde::Serialize;

use super::place::{ArtifactLocation, Location, Region, artifact, region};
use super::{Text, rule, text};
use crate::diag::render::FileReport;
use crate::diag::render::plain::sentences;
use crate::diag::{Diagnostic, Fix};
use crate::source::SourceFile;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Finding<'a> {
    rule_id: &'static str,
    rule_index: usize,
    level: &'static str,
    message: Text,
    locations: [Location; 1],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related_locations: Vec<Location>,
    partial_fingerprints: Fingerprints,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fixes: Vec<Remedy<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Fingerprints {
    primary_location_line_hash: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Remedy<'a> {
    description: Text,
    artifact_changes: [ArtifactChange<'a>; 1],
    properties: RemedyProperties,
}

#[derive(Serialize)]
struct RemedyProperties {
    safe: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ArtifactChange<'a> {
    artifact_location: ArtifactLocation,
    replacements: Vec<Replacement<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Replacement<'a> {
    deleted_region: Region,
    inserted_content: Inserted<'a>,
}

#[derive(Serialize)]
struct Inserted<'a> {
    text: &'a str,
}

/// Returns the results of one file. `rules` are the indices of the codes in the list of rules.
pub(super) fn of_file<'a>(file: &'a FileReport, rules: &BTreeMap<&str, usize>) -> Vec<Finding<'a>> {
    let mut alike = BTreeMap::new();
    file.diagnostics
        .iter()
        .map(|diagnostic| finding(&file.source, diagnostic, rules, &mut alike))
        .collect()
}

fn finding<'a>(
    source: &'a SourceFile,
    diagnostic: &'a Diagnostic,
    rules: &BTreeMap<&str, usize>,
    alike: &mut BTreeMap<String, usize>,
) -> Finding<'a> {
    let mut place = Location::of(source, diagnostic.span);
    place.message = (!diagnostic.note.is_empty()).then(|| text(&diagnostic.note));
    let related = diagnostic.labels.iter().enumerate().map(|(index, label)| {
        let mut place = Location::of(source, label.span);
        place.id = Some(index + 1);
        place.message = Some(text(&label.message));
        place
    });
    Finding {
        rule_id: diagnostic.code.name,
        rule_index: rules.get(diagnostic.code.name).copied().unwrap_or_default(),
        level: rule::level(diagnostic.severity),
        message: Text {
            text: sentences(diagnostic),
        },
        locations: [place],
        related_locations: related.collect(),
        partial_fingerprints: Fingerprints {
            primary_location_line_hash: fingerprint(source, diagnostic, alike),
        },
        fixes: diagnostic
            .fix
            .iter()
            .map(|fix| remedy(source, fix))
            .collect(),
    }
}

/// Returns a fingerprint that does not change when lines are added above: a hash of the code and the text of the line,
/// with the number of equal ones up to this one.
fn fingerprint(
    source: &SourceFile,
    diagnostic: &Diagnostic,
    alike: &mut BTreeMap<String, usize>,
) -> String {
    let line = source
        .line(source.position(diagnostic.span.start).line)
        .map_or("", |span| source.slice(span).trim());
    let mut hasher = blake3::Hasher::new();
    hasher
        .update(diagnostic.code.name.as_bytes())
        .update(b"\0")
        .update(line.as_bytes());
    let hash = hasher.finalize().to_hex()[..16].to_owned();
    let count = alike.entry(hash.clone()).or_insert(0);
    *count += 1;
    format!("{hash}:{count}")
}

fn remedy<'a>(source: &SourceFile, fix: &'a Fix) -> Remedy<'a> {
    let replacements = fix.edits.iter().map(|edit| Replacement {
        deleted_region: region(source, edit.span),
        inserted_content: Inserted { text: &edit.text },
    });
    Remedy {
        description: text(&fix.title),
        artifact_changes: [ArtifactChange {
            artifact_location: artifact(source),
            replacements: replacements.collect(),
        }],
        properties: RemedyProperties { safe: fix.safe },
    }
}
