//! Generates numbers within bounds, exactly in decimal.

use serde_json::{Map, Number, Value as Json};

/// Maximum number of digits after the decimal point that are distinguished.
const MAX_DECIMALS: u32 = 18;
/// Default width of an unbounded range.
const USUAL_WIDTH: i128 = 99;

/// A decimal number: its digits, and the number of digits after the decimal point.
#[derive(Clone, Copy, Debug)]
struct Decimal {
    digits: i128,
    decimals: u32,
}

/// The constraints on a number.
#[derive(Debug, Default)]
pub(super) struct Bounds {
    least: Vec<(Decimal, bool)>,
    most: Vec<(Decimal, bool)>,
    steps: Vec<Decimal>,
}

/// Selects a number of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    By(u64),
    Least,
    Most,
    Near(i8),
}

/// A range in units of a power of ten.
struct Units {
    decimals: u32,
    least: Option<i128>,
    most: Option<i128>,
    step: i128,
}

impl Bounds {
    pub fn narrow(&mut self, schema: &Map<String, Json>) {
        let decimal = |keyword: &str| {
            schema
                .get(keyword)
                .and_then(Json::as_number)
                .and_then(Decimal::read)
        };
        // Up to draft 4, `exclusiveMinimum` is a Boolean that modifies `minimum`.
        let strict = |keyword: &str| schema.get(keyword) == Some(&Json::Bool(true));
        self.least
            .extend(decimal("minimum").map(|bound| (bound, strict("exclusiveMinimum"))));
        self.least
            .extend(decimal("exclusiveMinimum").map(|bound| (bound, true)));
        self.most
            .extend(decimal("maximum").map(|bound| (bound, strict("exclusiveMaximum"))));
        self.most
            .extend(decimal("exclusiveMaximum").map(|bound| (bound, true)));
        self.steps
            .extend(decimal("multipleOf").filter(|step| step.digits > 0));
    }

    /// Returns an integer, or a number that may have a fraction. `None` if the bounds allow none.
    pub fn number(&self, whole: bool, target: Target) -> Option<Number> {
        let units = self.units(whole)?;
        let (low, high) = units.range(whole, target);
        let first = low.checked_add(units.step - 1)?.div_euclid(units.step);
        let last = high.div_euclid(units.step);
        let width = last.checked_sub(first).filter(|width| *width >= 0)?;
        let steps = match target {
            Target::By(chance) => first + i128::from(chance) % (width.checked_add(1)?),
            Target::Least => first,
            Target::Most => last,
            Target::Near(number) => {
                let target = i128::from(number) * 10_i128.checked_pow(units.decimals)?;
                target.div_euclid(units.step).clamp(first, last)
            }
        };
        written(steps.checked_mul(units.step)?, units.decimals)
    }

    /// Returns an inclusive bound as a fallback; `None` if there is none.
    pub fn bound(&self) -> Option<Number> {
        let strict = self
            .least
            .iter()
            .chain(&self.most)
            .find(|(_, strict)| !strict);
        strict.and_then(|(bound, _)| written(bound.digits, bound.decimals))
    }

    fn units(&self, whole: bool) -> Option<Units> {
        let all = self
            .least
            .iter()
            .chain(&self.most)
            .map(|(bound, _)| bound)
            .chain(&self.steps);
        let declared = all.map(|decimal| decimal.decimals).max().unwrap_or(0);
        // Additional digits are needed to find a number between close bounds.
        let decimals = if whole || !self.steps.is_empty() {
            declared
        } else {
            (declared + 2).min(MAX_DECIMALS)
        };
        let mut step = if whole {
            10_i128.checked_pow(decimals)?
        } else {
            1
        };
        for other in &self.steps {
            step = least_common(step, other.at(decimals)?)?;
        }
        let bound = |(decimal, strict): &(Decimal, bool), inward: i128| {
            decimal
                .at(decimals)?
                .checked_add(if *strict { inward } else { 0 })
        };
        let least = self
            .least
            .iter()
            .map(|one| bound(one, 1))
            .collect::<Option<Vec<_>>>()?
            .into_iter()
            .max();
        let most = self
            .most
            .iter()
            .map(|one| bound(one, -1))
            .collect::<Option<Vec<_>>>()?
            .into_iter()
            .min();
        Some(Units {
            decimals,
            least,
            most,
            step,
        })
    }
}

impl Units {
    /// Returns the bounds. An open side is limited to a default width, or for extremes to the widest range that every
    /// reader supports.
    fn range(&self, whole: bool, target: Target) -> (i128, i128) {
        let unit = 10_i128.checked_pow(self.decimals).unwrap_or(1);
        let width = unit.max(self.step).saturating_mul(USUAL_WIDTH);
        if matches!(target, Target::By(_)) {
            return match (self.least, self.most) {
                (Some(least), Some(most)) => (least, most),
                (Some(least), None) => (least, least.saturating_add(width)),
                (None, Some(most)) => (most.saturating_sub(width).max(most.min(unit)), most),
                (None, None) => (unit.min(self.step), width.saturating_add(unit)),
            };
        }
        // Integers are read with 64 bits; other numbers are exact up to 2^53.
        let (lowest, highest) = if whole {
            (
                i128::from(i64::MIN).saturating_mul(unit),
                i128::from(i64::MAX).saturating_mul(unit),
            )
        } else {
            (-(1_i128 << 53) * unit, (1_i128 << 53) * unit)
        };
        (self.least.unwrap_or(lowest), self.most.unwrap_or(highest))
    }
}

impl Decimal {
    fn read(number: &Number) -> Option<Self> {
        let text = number.to_string();
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((&text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let fraction = fraction.trim_end_matches('0');
        let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
        let decimals = i64::try_from(fraction.len())
            .ok()?
            .checked_sub(exponent.parse::<i64>().ok()?)?;
        if decimals > i64::from(MAX_DECIMALS) {
            return None;
        }
        if let Ok(decimals) = u32::try_from(decimals) {
            return Some(Self { digits, decimals });
        }
        let zeros = 10_i128.checked_pow(u32::try_from(-decimals).ok()?)?;
        Some(Self {
            digits: digits.checked_mul(zeros)?,
            decimals: 0,
        })
    }

    fn at(self, decimals: u32) -> Option<i128> {
        self.digits
            .checked_mul(10_i128.checked_pow(decimals.checked_sub(self.decimals)?)?)
    }
}

fn least_common(left: i128, right: i128) -> Option<i128> {
    let (mut one, mut other) = (left, right);
    while other != 0 {
        (one, other) = (other, one % other);
    }
    (left / one).checked_mul(right)
}

fn written(units: i128, decimals: u32) -> Option<Number> {
    let unit = 10_i128.checked_pow(decimals)?;
    let sign = if units < 0 { "-" } else { "" };
    let (whole, fraction) = (
        units.unsigned_abs() / unit.unsigned_abs(),
        units.unsigned_abs() % unit.unsigned_abs(),
    );
    let width = usize::try_from(decimals).ok()?;
    let fraction = if width == 0 {
        String::new()
    } else {
        format!(".{fraction:0width$}")
    };
    let fraction = fraction.trim_end_matches('0').trim_end_matches('.');
    format!("{sign}{whole}{fraction}").parse().ok()
}

/// Returns the count that a bound such as `2` or `2.0` states; `None` if it is out of range.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the range is checked first"
)]
pub(super) fn count(bound: f64) -> Option<u64> {
    (0.0..9e15).contains(&bound).then_some(bound as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn bounds(schema: &Json) -> Bounds {
        let mut bounds = Bounds::default();
        bounds.narrow(schema.as_object().unwrap());
        bounds
    }

    #[test]
    fn multiples_are_exact_and_bounds_are_kept() {
        let cents =
            bounds(&json!({"minimum": 19.98, "exclusiveMaximum": 20.01, "multipleOf": 0.01}));
        let made = |target| cents.number(false, target).map(|number| number.to_string());
        assert_eq!(made(Target::Least).as_deref(), Some("19.98"));
        assert_eq!(made(Target::Most).as_deref(), Some("20"));
        assert_eq!(
            bounds(&json!({"minimum": 1.1, "maximum": 1.9})).number(true, Target::Least),
            None
        );
        let both = bounds(&json!({"multipleOf": 4, "minimum": 1})).number(true, Target::Least);
        assert_eq!(both.map(|number| number.to_string()).as_deref(), Some("4"));
        let open = Bounds::default();
        assert_eq!(
            open.number(true, Target::Most)
                .and_then(|number| number.as_i64()),
            Some(i64::MAX)
        );
        assert_eq!(
            open.number(true, Target::Near(-1))
                .and_then(|number| number.as_i64()),
            Some(-1)
        );
    }
}
