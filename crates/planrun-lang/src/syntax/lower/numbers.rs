//! Parses number literals: integers, doubles, durations and sizes.

use std::fmt::Write as _;

use super::Lowering;
use crate::diag::Diagnostic;
use crate::diag::codes::text as codes;
use crate::source::Span;
use crate::syntax::ast::Literal;

/// Units of time in nanoseconds, longest first, with common misspellings.
const TIME_UNITS: [(&str, i128, &[&str]); 7] = [
    ("d", 86_400_000_000_000, &["day", "days", "D"]),
    ("h", 3_600_000_000_000, &["hr", "hrs", "hour", "hours", "H"]),
    ("m", 60_000_000_000, &["min", "mins", "minute", "minutes"]),
    (
        "s",
        1_000_000_000,
        &["sec", "secs", "second", "seconds", "S"],
    ),
    (
        "ms",
        1_000_000,
        &["msec", "msecs", "millis", "millisecond", "milliseconds"],
    ),
    (
        "us",
        1_000,
        &["µs", "μs", "micros", "microsecond", "microseconds"],
    ),
    ("ns", 1, &["nanos", "nanosecond", "nanoseconds"]),
];

/// Units of size in bytes, with common misspellings.
const SIZE_UNITS: [(&str, i64, &[&str]); 4] = [
    ("KiB", 1 << 10, &["KB", "kB", "kb", "K", "k", "kib"]),
    ("MiB", 1 << 20, &["MB", "mb", "M", "mib"]),
    ("GiB", 1 << 30, &["GB", "gb", "G", "gib"]),
    ("TiB", 1 << 40, &["TB", "tb", "T", "tib"]),
];

/// Parses a number; `negative` if a minus directly precedes it. Returns `None`, after reporting it, if it is invalid.
pub(super) fn lower_number(
    cx: &mut Lowering<'_>,
    text: &str,
    span: Span,
    negative: bool,
) -> Option<Literal> {
    match literal(text, negative) {
        Ok(literal) => Some(literal),
        Err(problem) => {
            cx.report(problem.diagnostic(text, span));
            None
        }
    }
}

/// The reason why a number is invalid.
#[derive(Debug, PartialEq)]
enum Problem {
    TooLarge { limit: &'static str },
    Number { help: String, fix: Option<String> },
    Duration { help: String, fix: Option<String> },
}

impl Problem {
    fn diagnostic(self, text: &str, span: Span) -> Diagnostic {
        let number = |message: String| codes::BAD_NUMBER.at(span, message);
        let fixed = |diagnostic: Diagnostic, fix: Option<String>| match fix {
            Some(fix) => diagnostic.fix(format!("write `{fix}`"), span, fix),
            None => diagnostic,
        };
        match self {
            Self::TooLarge { limit } => number(format!("`{text}` is too large"))
                .help(format!("the largest value here is {limit}")),
            Self::Number { help, fix } => {
                fixed(number(format!("`{text}` is not a number")).help(help), fix)
            }
            Self::Duration { help, fix } => {
                let message = format!("`{text}` is not a duration");
                fixed(codes::BAD_DURATION.at(span, message).help(help), fix)
            }
        }
    }
}

fn literal(text: &str, negative: bool) -> Result<Literal, Problem> {
    let digits_end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, rest) = text.split_at(digits_end);
    if rest.is_empty() {
        return integer(digits, 10, negative);
    }
    if let Some(hex) = rest.strip_prefix(['x', 'X']).filter(|_| digits == "0") {
        return hexadecimal(hex, negative);
    }
    if rest.eq_ignore_ascii_case("u") {
        return unsigned(digits, 10, negative);
    }
    if text.parse::<f64>().is_ok() {
        return double(text, negative);
    }
    if let Some((_, factor, _)) = SIZE_UNITS.iter().find(|(unit, _, _)| *unit == rest) {
        return size(digits, *factor, negative);
    }
    if let Some(nanoseconds) = duration(text) {
        return Ok(Literal::Duration(if negative {
            -nanoseconds
        } else {
            nanoseconds
        }));
    }
    Err(misspelt(text, digits, rest))
}

fn integer(digits: &str, radix: u32, negative: bool) -> Result<Literal, Problem> {
    let too_large = Problem::TooLarge {
        limit: "9223372036854775807",
    };
    let Ok(magnitude) = i128::from_str_radix(digits, radix) else {
        return Err(too_large);
    };
    let value = if negative { -magnitude } else { magnitude };
    i64::try_from(value)
        .map(Literal::Int)
        .map_err(|_| too_large)
}

fn unsigned(digits: &str, radix: u32, negative: bool) -> Result<Literal, Problem> {
    if negative {
        let help = "an unsigned integer is never negative: leave out the `-` or the `u`".to_owned();
        return Err(Problem::Number { help, fix: None });
    }
    let too_large = Problem::TooLarge {
        limit: "18446744073709551615u",
    };
    u64::from_str_radix(digits, radix)
        .map(Literal::Uint)
        .map_err(|_| too_large)
}

fn hexadecimal(text: &str, negative: bool) -> Result<Literal, Problem> {
    let (digits, is_unsigned) = match text.strip_suffix(['u', 'U']) {
        Some(digits) => (digits, true),
        None => (text, false),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        let help = "write hexadecimal digits after `0x`, such as `0xFF`".to_owned();
        return Err(Problem::Number { help, fix: None });
    }
    if is_unsigned {
        unsigned(digits, 16, negative)
    } else {
        integer(digits, 16, negative)
    }
}

fn double(text: &str, negative: bool) -> Result<Literal, Problem> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => {
            Ok(Literal::Double(if negative { -value } else { value }))
        }
        Ok(_) | Err(_) => Err(Problem::TooLarge {
            limit: "about 1.8e308",
        }),
    }
}

fn size(digits: &str, factor: i64, negative: bool) -> Result<Literal, Problem> {
    let count = digits
        .parse::<i64>()
        .ok()
        .and_then(|count| count.checked_mul(factor));
    let bytes = count.ok_or(Problem::TooLarge {
        limit: "8388607TiB",
    })?;
    Ok(Literal::Int(if negative { -bytes } else { bytes }))
}

/// Parses a duration such as `1h30m` as nanoseconds: whole numbers, each unit at most once, the longest first.
fn duration(text: &str) -> Option<i128> {
    let mut rest = text;
    let mut units = TIME_UNITS.iter();
    let mut total = 0_i128;
    while !rest.is_empty() {
        let digits_end = rest
            .find(|c: char| !c.is_ascii_digit())
            .filter(|end| *end > 0)?;
        let (digits, tail) = rest.split_at(digits_end);
        let unit_end = tail
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit_end);
        let (_, factor, _) = units.find(|(name, _, _)| *name == unit)?;
        total += i128::from(digits.parse::<u64>().ok()?) * factor;
        rest = tail;
    }
    Some(total)
}

/// Returns what was probably meant by digits followed by letters.
fn misspelt(text: &str, digits: &str, rest: &str) -> Problem {
    if text.contains('_') {
        let fix = text.replace('_', "");
        let help = format!("write `{fix}`: digits have no separators");
        let sound = literal(&fix, false).is_ok();
        return Problem::Number {
            help,
            fix: sound.then_some(fix),
        };
    }
    if let Some((unit, _, _)) = SIZE_UNITS
        .iter()
        .find(|(_, _, others)| others.contains(&rest))
    {
        let help = format!("sizes are written in powers of 1024, such as `{digits}{unit}`");
        return Problem::Number { help, fix: None };
    }
    if let Some((unit, _, _)) = TIME_UNITS
        .iter()
        .find(|(_, _, others)| others.contains(&rest))
    {
        let fix = format!("{digits}{unit}");
        return Problem::Duration {
            help: format!("write `{fix}`"),
            fix: Some(fix),
        };
    }
    if matches!(rest, "w" | "week" | "weeks")
        && let Some(days) = digits
            .parse::<u64>()
            .ok()
            .and_then(|weeks| weeks.checked_mul(7))
    {
        return Problem::Duration {
            help: format!("write it in days: `{days}d`"),
            fix: Some(format!("{days}d")),
        };
    }
    if let Some(problem) = fraction_of_time(text) {
        return problem;
    }
    if TIME_UNITS.iter().any(|(unit, _, _)| rest.ends_with(unit))
        && rest.contains(|c: char| c.is_ascii_digit())
    {
        let help =
            "write whole numbers, each unit once and the longest first, such as `1h30m`".to_owned();
        return Problem::Duration { help, fix: None };
    }
    let help = "numbers are written `10`, `1.5`, `0xFF`, `10u`; durations `200ms`, `10s`, `1h30m`; sizes `8MiB`";
    Problem::Number {
        help: help.to_owned(),
        fix: None,
    }
}

/// Suggests `1h30m` for `1.5h`.
fn fraction_of_time(text: &str) -> Option<Problem> {
    let unit_start = text.find(|c: char| c != '.' && !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(unit_start);
    let factor = TIME_UNITS
        .iter()
        .find(|(name, _, others)| *name == unit || others.contains(&unit))?
        .1;
    let (whole, fraction) = number.split_once('.')?;
    let places = u32::try_from(fraction.len())
        .ok()
        .filter(|places| *places <= 9)?;
    let scaled = i128::from(format!("{whole}{fraction}").parse::<u64>().ok()?) * factor;
    let scale = 10_i128.pow(places);
    let help = "durations are whole numbers of units".to_owned();
    if scaled % scale != 0 {
        return Some(Problem::Duration { help, fix: None });
    }
    let fix = spelled(scaled / scale);
    Some(Problem::Duration {
        help: format!("{help}: write `{fix}`"),
        fix: Some(fix),
    })
}

/// Formats a duration as it is written in a plan; a negative one has a leading minus.
pub(in crate::syntax) fn spelled(nanoseconds: i128) -> String {
    if nanoseconds == 0 {
        return "0s".to_owned();
    }
    let mut text = if nanoseconds < 0 {
        "-".to_owned()
    } else {
        String::new()
    };
    let mut rest = nanoseconds.abs();
    for (unit, factor, _) in TIME_UNITS {
        if rest >= factor {
            let _ = write!(text, "{}{unit}", rest / factor);
            rest %= factor;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_of_number_has_its_value() {
        let value = |text| literal(text, false);
        assert_eq!(value("0x1F"), Ok(Literal::Int(31)));
        assert_eq!(value("0xFFu"), Ok(Literal::Uint(255)));
        assert_eq!(value("18446744073709551615u"), Ok(Literal::Uint(u64::MAX)));
        assert_eq!(value("1e3"), Ok(Literal::Double(1000.0)));
        assert_eq!(value(".5"), Ok(Literal::Double(0.5)));
        assert_eq!(value("8MiB"), Ok(Literal::Int(8 << 20)));
        assert_eq!(value("1h30m"), Ok(Literal::Duration(5_400_000_000_000)));
        assert_eq!(value("200ms"), Ok(Literal::Duration(200_000_000)));
        assert_eq!(
            literal("9223372036854775808", true),
            Ok(Literal::Int(i64::MIN))
        );
        assert!(matches!(
            value("9223372036854775808"),
            Err(Problem::TooLarge { .. })
        ));
        for text in ["1u", "0x1Fu"] {
            let negative = literal(text, true);
            assert!(matches!(negative, Err(Problem::Number { .. })), "{text}");
        }
    }

    #[test]
    fn a_misspelt_duration_is_mended() {
        let fix = |text| match literal(text, false) {
            Err(Problem::Duration { fix, .. }) => fix,
            other => panic!("{other:?}"),
        };
        assert_eq!(fix("10sec").as_deref(), Some("10s"));
        assert_eq!(fix("1.5h").as_deref(), Some("1h30m"));
        assert_eq!(fix("2w").as_deref(), Some("14d"));
        assert_eq!(fix("30m1h"), None);
    }

    #[test]
    fn durations_are_spelled_as_they_are_read() {
        assert_eq!(spelled(5_400_000_000_000), "1h30m");
        assert_eq!(spelled(-1_000_001), "-1ms1ns");
    }
}
