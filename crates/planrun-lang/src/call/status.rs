//! HTTP statuses as failures of calls.

use http::StatusCode;

use crate::protocol::Sent;
use crate::types::{Auth, ErrorClass, Transient};

/// Returns the error class of a status that has one for every tool, and whether the call may have had an effect.
pub fn status_class(status: u16) -> Option<(ErrorClass, Sent)> {
    let transient = ErrorClass::Transient;
    Some(match status {
        401 => (ErrorClass::Auth(Auth::Authentication), Sent::Answered),
        403 => (ErrorClass::Auth(Auth::Authorization), Sent::Answered),
        408 | 504 => (transient(Transient::Timeout), Sent::Maybe),
        429 => (transient(Transient::RateLimited), Sent::No),
        503 => (transient(Transient::Unavailable), Sent::No),
        501 => (ErrorClass::Tool("failed".into()), Sent::Answered),
        // The server may have performed the call before it failed.
        500..=599 => (transient(Transient::Unavailable), Sent::Maybe),
        _ => return None,
    })
}

/// Returns the error name of a status without such a class: its reason phrase, such as `not_found` for 404.
pub fn status_name(status: u16) -> String {
    let reason = StatusCode::from_u16(status).ok();
    let Some(reason) = reason.and_then(|status| status.canonical_reason()) else {
        return format!("status_{status}");
    };
    let letters = reason.chars().filter(|letter| *letter != '\'');
    letters
        .map(|letter| match letter {
            'a'..='z' | 'A'..='Z' | '0'..='9' => letter.to_ascii_lowercase(),
            _ => '_',
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_named_after_their_status() {
        let names = [400, 404, 409, 418, 422, 499].map(status_name);
        let expected = [
            "bad_request",
            "not_found",
            "conflict",
            "im_a_teapot",
            "unprocessable_entity",
            "status_499",
        ];
        assert_eq!(names, expected);
    }
}
