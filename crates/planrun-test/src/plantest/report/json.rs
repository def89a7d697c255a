//! The report of a test run as one JSON document.

use std::time::Duration;

use planrun_lang::diag::render::escape_json;
use serde::{Serialize, Serializer};

use super::{Counts, FileReport, Report};

/// Returns the document of `test --format json`. Its version is incremented if an existing key is removed or changes
/// its meaning; new keys do not change it.
#[must_use]
pub fn json(report: &Report) -> String {
    let document = Document {
        version: 2,
        summary: Summary {
            counts: report.counts(),
            duration: report.duration,
        },
        files: &report.files,
    };
    // Contains only text, numbers and lists, so serialization cannot fail.
    escape_json(&serde_json::to_string_pretty(&document).unwrap_or_default()) + "\n"
}

#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    summary: Summary,
    files: &'a [FileReport],
}

#[derive(Serialize)]
struct Summary {
    #[serde(flatten)]
    counts: Counts,
    #[serde(rename = "duration_ms", serialize_with = "milliseconds")]
    duration: Duration,
}

pub(super) fn milliseconds<S: Serializer>(duration: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u64(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}
