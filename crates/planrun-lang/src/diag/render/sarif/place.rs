//! Locations in a SARIF document: files as URIs, spans as regions.

use std::path::Path;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;

use super::Text;
use crate::source::{SourceFile, Span};

/// The identifier of the folder in which the check ran.
pub(super) const BASE: &str = "%SRCROOT%";

/// Everything except letters, digits, `-._~` and `/`.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'/');

#[derive(Serialize)]
pub(super) struct Location {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<usize>,
    #[serde(rename = "physicalLocation")]
    pub physical: PhysicalLocation,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Text>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PhysicalLocation {
    artifact_location: ArtifactLocation,
    region: Region,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ArtifactLocation {
    uri: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri_base_id: Option<&'static str>,
}

/// Lines and columns count from 1; the end is exclusive.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Region {
    start_line: u32,
    start_column: u32,
    end_line: u32,
    end_column: u32,
}

impl Location {
    pub(super) fn of(source: &SourceFile, span: Span) -> Self {
        let physical = PhysicalLocation {
            artifact_location: artifact(source),
            region: region(source, span),
        };
        Self {
            id: None,
            physical,
            message: None,
        }
    }
}

pub(super) fn region(source: &SourceFile, span: Span) -> Region {
    let (start, end) = (source.position(span.start), source.position(span.end));
    Region {
        start_line: start.line,
        start_column: start.column,
        end_line: end.line,
        end_column: end.column,
    }
}

/// Returns the file as a URI relative to the base, or as an absolute URI if its path is absolute.
pub(super) fn artifact(source: &SourceFile) -> ArtifactLocation {
    let name = source.name();
    let uri = utf8_percent_encode(name, ESCAPED).to_string();
    if Path::new(name).is_absolute() {
        let root = if name.starts_with('/') { "" } else { "/" };
        return ArtifactLocation {
            uri: format!("file://{root}{uri}"),
            uri_base_id: None,
        };
    }
    ArtifactLocation {
        uri,
        uri_base_id: Some(BASE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_uris() {
        let uri = |name: &str| artifact(&SourceFile::new(name, "")).uri;
        assert_eq!(uri("plans/a b#1.plan"), "plans/a%20b%231.plan");
        assert_eq!(uri("入.plan"), "%E5%85%A5.plan");
        assert_eq!(uri("a:b?%.plan"), "a%3Ab%3F%25.plan");
        assert_eq!(uri("../up.plan"), "../up.plan");
        #[cfg(unix)]
        assert_eq!(uri("/tmp/x.plan"), "file:///tmp/x.plan");
    }
}
