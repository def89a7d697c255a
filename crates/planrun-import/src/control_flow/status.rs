//! HTTP statuses as error classes.

/// The error names for statuses with which systems reject calls; tools use the same names.
const WORDS: [(i64, &str); 12] = [
    (400, "bad_request"),
    (402, "payment_required"),
    (404, "not_found"),
    (405, "method_not_allowed"),
    (406, "not_acceptable"),
    (409, "conflict"),
    (410, "gone"),
    (412, "precondition_failed"),
    (413, "payload_too_large"),
    (415, "unsupported_media_type"),
    (422, "unprocessable_entity"),
    (423, "locked"),
];

/// Returns the error classes of a status. If `unknown_outcome` is among them, the call may have happened all the
/// same.
pub fn of_status(status: i64) -> Vec<String> {
    let classes: &[&str] = match status {
        401 => &["auth.authentication"],
        403 => &["auth.authorization"],
        408 | 504 => &["transient.timeout", "unknown_outcome"],
        429 => &["transient.rate_limited"],
        501 => &["tool.failed"],
        503 => &["transient.unavailable"],
        500..=599 => &["transient.unavailable", "unknown_outcome"],
        _ => return vec![format!("tool.{}", reason(status))],
    };
    classes.iter().map(|class| (*class).to_owned()).collect()
}

/// Returns the error name of a status that has no class of its own.
pub fn reason(status: i64) -> String {
    let words = WORDS.iter().find(|(known, _)| *known == status);
    words.map_or_else(
        || format!("status_{status}"),
        |(_, words)| (*words).to_owned(),
    )
}
