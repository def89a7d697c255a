//! Parses the `mock:` section of a tool: one value, or cases that are tried in order.

use std::time::Duration;

use planrun_lang::value::parse_duration;
use serde_json::{Map, Value as Json};

/// The keys of a case.
const KEYS: [&str; 8] = [
    "when",
    "data",
    "fail",
    "status",
    "retry_after",
    "delay",
    "times",
    "message",
];
/// Maximum delay of an answer.
const LONGEST_DELAY: Duration = Duration::from_hours(1);

/// The answers of one tool.
#[derive(Clone, Debug)]
pub(crate) enum Script {
    /// Generated from the schema of the result.
    Generated,
    /// The same value for every call, with its placeholders filled in.
    Value(Json),
    Cases(Vec<Case>),
}

/// One answer and the condition for it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Case {
    /// Argument values that the call must have.
    pub when: Map<String, Json>,
    pub reaction: Reaction,
    pub delay: Duration,
    /// Number of calls that it answers; `None` if unlimited.
    pub times: Option<u64>,
    pub message: Option<String>,
}

/// The answer of a case.
#[derive(Clone, Debug, Default)]
pub(crate) enum Reaction {
    #[default]
    Generated,
    Data(Json),
    Fail {
        reason: Option<String>,
        error: String,
    },
    Status {
        status: u16,
        retry_after: Option<u64>,
    },
}

impl Script {
    /// Reads a `mock:` section. Fails with a message that describes the mistake and that follows the name of the tool.
    pub fn read(section: Option<&Json>) -> Result<Self, String> {
        match section {
            None => Ok(Self::Generated),
            Some(Json::Array(items)) if !items.is_empty() && items.iter().all(is_case) => {
                let cases = items.iter().enumerate().map(|(index, item)| {
                    Case::read(item).map_err(|problem| format!("case {}: {problem}", index + 1))
                });
                Ok(Self::Cases(cases.collect::<Result<_, _>>()?))
            }
            Some(value) => Ok(Self::Value(value.clone())),
        }
    }

    /// Returns the names of the arguments that the cases require.
    pub fn conditions(&self) -> impl Iterator<Item = &str> {
        let cases = match self {
            Self::Cases(cases) => &**cases,
            Self::Generated | Self::Value(_) => &[],
        };
        cases
            .iter()
            .flat_map(|case| case.when.keys().map(String::as_str))
    }
}

/// Returns true if an element has the keys of a case. A list is a list of cases if all its elements have.
fn is_case(item: &Json) -> bool {
    let Json::Object(entries) = item else {
        return false;
    };
    let has_case_key = ["when", "data", "fail", "status", "delay", "times"]
        .iter()
        .any(|key| entries.contains_key(*key));
    has_case_key && entries.keys().all(|key| KEYS.contains(&key.as_str()))
}

impl Case {
    fn read(item: &Json) -> Result<Self, String> {
        let when = match item.get("when") {
            None => Map::new(),
            Some(Json::Object(when)) => when.clone(),
            Some(_) => return Err("`when` must name arguments with their values".into()),
        };
        let answers = ["data", "fail", "status"]
            .into_iter()
            .filter(|key| item.get(key).is_some());
        if let [one, other, ..] = answers.collect::<Vec<_>>()[..] {
            return Err(format!("`{one}` and `{other}` cannot be combined"));
        }
        let delay = match item.get("delay") {
            None => Duration::ZERO,
            Some(written) => delay(written)
                .ok_or("`delay` must be a duration such as `50ms`, at most an hour")?,
        };
        let times = match item.get("times") {
            None => None,
            Some(written) => Some(
                written
                    .as_u64()
                    .filter(|times| *times > 0)
                    .ok_or("`times` must be a number of calls, at least 1")?,
            ),
        };
        let message = match item.get("message") {
            None | Some(Json::Null) => None,
            Some(Json::String(message)) => Some(message.clone()),
            Some(_) => return Err("`message` must be a text".into()),
        };
        Ok(Self {
            when,
            reaction: Reaction::read(item)?,
            delay,
            times,
            message,
        })
    }

    /// Returns true if the case matches a call with these arguments.
    pub fn is_for(&self, arguments: &Map<String, Json>) -> bool {
        let equal =
            |name: &str, expected: &Json| arguments.get(name).unwrap_or(&Json::Null) == expected;
        self.when
            .iter()
            .all(|(name, expected)| equal(name, expected))
    }
}

impl Reaction {
    fn read(item: &Json) -> Result<Self, String> {
        if let Some(data) = item.get("data") {
            return Ok(Self::Data(data.clone()));
        }
        if let Some(fail) = item.get("fail") {
            let text = |name: &str| fail.get(name).and_then(Json::as_str).map(str::to_owned);
            let reason = fail.as_str().map(str::to_owned).or_else(|| text("reason"));
            let error = text("error").or_else(|| reason.clone());
            let error = error.ok_or("`fail` must be a reason, or have `reason` or `error`")?;
            return Ok(Self::Fail { reason, error });
        }
        if let Some(status) = item.get("status") {
            let status = status
                .as_u64()
                .and_then(|status| u16::try_from(status).ok());
            let status = status.filter(|status| (200..=599).contains(status));
            let status = status.ok_or("`status` must be an HTTP status from 200 to 599")?;
            let retry_after = match item.get("retry_after") {
                None | Some(Json::Null) => None,
                Some(wait) => Some(
                    wait.as_u64()
                        .ok_or("`retry_after` must be a number of seconds")?,
                ),
            };
            return Ok(Self::Status {
                status,
                retry_after,
            });
        }
        Ok(Self::Generated)
    }
}

fn delay(written: &Json) -> Option<Duration> {
    let nanoseconds = parse_duration(written.as_str()?)?;
    let delay = Duration::from_nanos(u64::try_from(nanoseconds).ok()?);
    (delay <= LONGEST_DELAY).then_some(delay)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn problem(section: &Json) -> String {
        Script::read(Some(section)).err().unwrap_or_default()
    }

    #[test]
    fn lists_of_data_are_no_cases() {
        assert!(matches!(
            Script::read(Some(&json!([{"value": "北京市"}]))),
            Ok(Script::Value(_))
        ));
        assert!(matches!(
            Script::read(Some(&json!([]))),
            Ok(Script::Value(_))
        ));
        assert!(matches!(
            Script::read(Some(&json!({"status": "ok"}))),
            Ok(Script::Value(_))
        ));
        assert!(matches!(
            Script::read(Some(&json!([{"status": 503}, {"data": 1}]))),
            Ok(Script::Cases(_))
        ));
    }

    #[test]
    fn cases_that_cannot_be_meant_are_told() {
        assert_eq!(
            problem(&json!([{"data": 1, "status": 503}])),
            "case 1: `data` and `status` cannot be combined"
        );
        assert_eq!(
            problem(&json!([{"data": 1, "delay": 50}])),
            "case 1: `delay` must be a duration such as `50ms`, at most an hour"
        );
        assert_eq!(
            problem(&json!([{"data": 1, "delay": "61m"}])),
            "case 1: `delay` must be a duration such as `50ms`, at most an hour"
        );
        assert_eq!(problem(&json!([{"data": 1, "delay": "60m"}])), "");
        assert_eq!(
            problem(&json!([{"status": 503, "retry_after": "soon"}])),
            "case 1: `retry_after` must be a number of seconds"
        );
        assert_eq!(
            problem(&json!([{"data": 1, "times": 0}])),
            "case 1: `times` must be a number of calls, at least 1"
        );
        assert_eq!(
            problem(&json!([{"data": 1, "message": 1}])),
            "case 1: `message` must be a text"
        );
        assert!(problem(&json!([{"data": 1}, {"status": 20}])).starts_with("case 2: `status`"));
        assert!(problem(&json!([{"fail": {}}])).contains("`reason` or `error`"));
    }
}
