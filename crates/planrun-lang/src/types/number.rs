//! Reads JSON numbers exactly.

use serde_json::Number;

use crate::value::{Value, double_of};

/// Returns the integer value of a JSON number in any notation: `1.0` and `1e3` are integers too.
pub(super) fn integer(number: &Number) -> Option<i64> {
    number
        .as_i64()
        .or_else(|| integral(&number.to_string())?.parse().ok())
}

/// Returns the unsigned integer value of a JSON number.
pub(super) fn unsigned(number: &Number) -> Option<u64> {
    number
        .as_u64()
        .or_else(|| integral(&number.to_string())?.parse().ok())
}

/// Returns true if a JSON number is written without fraction and exponent.
pub(super) fn is_plain_integer(number: &Number) -> bool {
    !number.to_string().contains(['.', 'e', 'E'])
}

/// Returns the double for a JSON number, with the original text if the double would print differently.
pub(super) fn double(number: &Number) -> Value {
    double_of(&number.to_string())
}

/// Returns the digits of an integral number: `-12.50e1` is `-125`. `None` if it has a fraction or more than 40 digits.
fn integral(text: &str) -> Option<String> {
    let (sign, text) = text
        .strip_prefix('-')
        .map_or(("", text), |rest| ("-", rest));
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    let digits = format!("{whole}{fraction}");
    if digits.bytes().all(|digit| digit == b'0') {
        return Some("0".into());
    }
    let shift = exponent
        .parse::<i64>()
        .ok()?
        .checked_sub(i64::try_from(fraction.len()).ok()?)?;
    let digits = digits.trim_start_matches('0');
    let zeros = usize::try_from(shift.max(0)).ok()?;
    if digits.len().checked_add(zeros)? > 40 {
        return None;
    }
    let cut = usize::try_from((-shift).max(0)).ok()?;
    let (kept, dropped) = digits.split_at_checked(digits.len().checked_sub(cut)?)?;
    let exact = dropped.bytes().all(|digit| digit == b'0') && !kept.is_empty();
    exact.then(|| format!("{sign}{kept}{}", "0".repeat(zeros)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn integers_are_found_in_any_spelling() {
        let cases = [
            ("1.0", 1),
            ("1e3", 1000),
            ("-12.50e1", -125),
            ("1200e-2", 12),
            ("0e9999999999", 0),
            ("-0.0", 0),
        ];
        for (text, expected) in cases {
            assert_eq!(integer(&number(text)), Some(expected), "{text}");
        }
        for text in [
            "1.5",
            "1e-1",
            "1e400",
            "9223372036854775808",
            "1e99999999999999999999",
        ] {
            assert_eq!(integer(&number(text)), None, "{text}");
        }
        assert_eq!(unsigned(&number("18446744073709551615")), Some(u64::MAX));
        assert_eq!(integer(&number("-9223372036854775808")), Some(i64::MIN));
    }

    #[test]
    fn doubles_keep_text_that_they_could_not_print() {
        assert!(matches!(double(&number("1.5")), Value::Double(_)));
        assert!(matches!(double(&number("2")), Value::Double(_)));
        assert!(matches!(double(&number("1.10")), Value::Exact(_)));
        assert!(matches!(double(&number("1e400")), Value::Exact(_)));
    }
}
