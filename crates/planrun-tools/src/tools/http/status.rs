//! The meaning of an HTTP status for a call: the error class, and whether the call may have had an effect.

use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::{rfc2822, strtime};
use jiff::tz::TimeZone;
use planrun_lang::call::{CallError, status_class};
use planrun_lang::value::saturating_duration;
use reqwest::header::{self, HeaderMap};

/// Maximum wait that `Retry-After` can request.
const LONGEST_WAIT: Duration = Duration::from_hours(24);

/// Returns the failure that a status means, if any. `now` is the wall-clock time in nanoseconds since the Unix epoch,
/// for `Retry-After` with a date. `who` answered, and `detail` is the answer's message.
pub fn failure(
    status: u16,
    headers: &HeaderMap,
    now: i128,
    who: &str,
    detail: &str,
) -> Option<CallError> {
    let (class, sent) = status_class(status)?;
    let separator = if detail.is_empty() { "" } else { ": " };
    let message = format!("{who} answered with status {status}{separator}{detail}");
    Some(CallError {
        class,
        message,
        sent,
        retry_after: retry_after(headers, now),
        details: None,
    })
}

/// Returns the wait that `Retry-After` requests, in seconds or until a date, at most a day; zero for a date in the
/// past, and `None` for anything else. `now` is the wall-clock time in nanoseconds since the Unix epoch.
pub fn retry_after(headers: &HeaderMap, now: i128) -> Option<Duration> {
    let text = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let wait = if is_number {
        // A number that is too large to be read is longer than any wait.
        text.parse().map_or(LONGEST_WAIT, Duration::from_secs)
    } else {
        saturating_duration(date(text)?.as_nanosecond() - now)
    };
    Some(wait.min(LONGEST_WAIT))
}

/// Parses a date of HTTP, in its usual form or in one of the two obsolete ones that recipients have to accept.
fn date(text: &str) -> Option<Timestamp> {
    let obsolete = |form: &str| {
        let date = strtime::parse(form, text).and_then(|parts| parts.to_datetime());
        date.and_then(|date| date.to_zoned(TimeZone::UTC)).ok()
    };
    let date = rfc2822::parse(text).ok();
    let date = date.or_else(|| obsolete("%A, %d-%b-%y %H:%M:%S GMT"));
    let date = date.or_else(|| obsolete("%a %b %e %H:%M:%S %Y"));
    date.map(|date| date.timestamp())
}

#[cfg(test)]
mod tests {
    use planrun_lang::protocol::Sent;

    use super::*;

    fn waits(text: &str) -> Option<u64> {
        let headers = HeaderMap::from_iter([(header::RETRY_AFTER, text.parse().unwrap())]);
        // 1994-11-06T08:49:00Z
        retry_after(&headers, 784_111_740_000_000_000).map(|wait| wait.as_secs())
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        assert_eq!(waits("120"), Some(120));
        assert_eq!(waits("Sun, 06 Nov 1994 08:49:37 GMT"), Some(37));
        assert_eq!(waits("Sat, 05 Nov 1994 08:49:37 GMT"), Some(0));
        assert_eq!(waits("Sunday, 06-Nov-94 08:49:37 GMT"), Some(37));
        assert_eq!(waits("Sun Nov  6 08:49:37 1994"), Some(37));
        assert_eq!(waits("Sun, 06 Nov 9994 08:49:37 GMT"), Some(86_400));
        assert_eq!(waits("9999999999"), Some(86_400));
        assert_eq!(waits("99999999999999999999"), Some(86_400));
        assert_eq!(waits("0"), Some(0));
        for neither in ["", "soon", "-5", "+5", "1.5", "5 s", "Sun, 06 Nov"] {
            assert_eq!(waits(neither), None, "{neither}");
        }
    }

    #[test]
    fn statuses_say_whether_it_may_have_happened() {
        let outcome = |status| {
            failure(status, &HeaderMap::new(), 0, "it", "")
                .map(|error| (error.class.to_string(), error.sent))
        };
        let expected = [
            (401, "auth.authentication", Sent::Answered),
            (403, "auth.authorization", Sent::Answered),
            (408, "transient.timeout", Sent::Maybe),
            (429, "transient.rate_limited", Sent::No),
            (500, "transient.unavailable", Sent::Maybe),
            (501, "tool.failed", Sent::Answered),
            (502, "transient.unavailable", Sent::Maybe),
            (503, "transient.unavailable", Sent::No),
            (504, "transient.timeout", Sent::Maybe),
        ];
        for (status, class, sent) in expected {
            assert_eq!(outcome(status), Some((class.to_owned(), sent)), "{status}");
        }
        assert_eq!(outcome(200), None);
        assert_eq!(outcome(404), None);
    }
}
