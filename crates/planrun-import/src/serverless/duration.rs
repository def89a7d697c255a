//! Parses durations: `{ minutes: 5 }` and `PT5M`.

use planrun_lang::yaml::Node;

/// The message for an invalid duration.
pub const EXPECTED: &str = "is not a constant duration such as `PT5M` or `{ minutes: 5 }`";
const SECOND: f64 = 1e9;
/// The longest duration, in nanoseconds: a hundred years.
const MAX: f64 = 100.0 * 365.0 * 86_400.0 * SECOND;

/// Returns a constant duration in nanoseconds; `None` if it is invalid or computed.
pub fn nanoseconds(node: &Node) -> Option<i128> {
    let sum = match (node.entries(), node.text()) {
        (Some(parts), _) if !parts.is_empty() => {
            let parts = parts.iter().map(|part| {
                let seconds = match part.name.as_str() {
                    "days" => 86_400.0,
                    "hours" => 3600.0,
                    "minutes" => 60.0,
                    "seconds" => 1.0,
                    "milliseconds" => 1e-3,
                    _ => return None,
                };
                Some(part.value.scalar()?.parse::<f64>().ok()? * seconds)
            });
            parts.sum::<Option<f64>>()?
        }
        (_, Some(text)) => iso(text)?,
        _ => return None,
    };
    let nanoseconds = sum * SECOND;
    if !(0.0..=MAX).contains(&nanoseconds) {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "bounded above")]
    let whole = nanoseconds.round() as i128;
    Some(whole)
}

/// Parses an ISO 8601 duration such as `P1DT2H30M` into seconds. Years and months are rejected, since their length
/// varies.
fn iso(text: &str) -> Option<f64> {
    let rest = text.strip_prefix('P')?;
    let (date, time) = rest.split_once('T').unwrap_or((rest, ""));
    let date = parts(date, &[('W', 604_800.0), ('D', 86_400.0)])?;
    let time = parts(time, &[('H', 3600.0), ('M', 60.0), ('S', 1.0)])?;
    (!rest.is_empty() && !rest.ends_with('T')).then_some(date + time)
}

/// Sums numbers with units, which must be in the given order, each at most once.
fn parts(text: &str, units: &[(char, f64)]) -> Option<f64> {
    let (mut rest, mut sum) = (text, 0.0);
    for (unit, seconds) in units {
        if let Some((number, behind)) = rest.split_once(*unit) {
            sum += number.parse::<f64>().ok()? * seconds;
            rest = behind;
        }
    }
    rest.is_empty().then_some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_in_both_spellings() {
        let read = |text: &str| nanoseconds(&crate::document::read(text).unwrap());
        assert_eq!(
            read("{\"minutes\": 1, \"milliseconds\": 5}"),
            Some(60_005_000_000)
        );
        assert_eq!(read("{\"years\": 1}"), None);
        let text = |text: &str| iso(text);
        assert_eq!(text("PT1H30M"), Some(5400.0));
        assert_eq!(text("P1DT0.5S"), Some(86_400.5));
        for wrong in ["", "P", "PT", "P1Y", "1h", "PT1M1H", "P-1DX"] {
            assert_eq!(text(wrong), None, "{wrong}");
        }
    }
}
