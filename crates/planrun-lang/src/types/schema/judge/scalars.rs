//! Judges keywords that constrain a single number or string.

use serde_json::{Number, Value as Json};

use super::{Draft, Judge, Known, Verdict};
use crate::types::Kinds;
use crate::types::Type;

impl Judge<'_> {
    pub(super) fn number(&self, keyword: &str, expected: &Json, known: &Known) -> Verdict {
        match known {
            Known::Exactly(json @ Json::Number(given)) => {
                let plain = |number: &Number| number.to_string().parse::<i64>().ok();
                match (keyword, plain(given), expected.as_number().and_then(plain)) {
                    ("minimum", Some(given), Some(expected)) if given >= expected => Verdict::Fits,
                    ("maximum", Some(given), Some(expected)) if given <= expected => Verdict::Fits,
                    _ => self.leaf(keyword, expected, json),
                }
            }
            Known::Of(Type::Uint)
                if keyword == "minimum" && expected.as_f64().is_some_and(|least| least <= 0.0) =>
            {
                Verdict::Fits
            }
            _ if Kinds::of(known).intersects(Kinds::NUMBER) => Verdict::Unknown,
            _ => Verdict::Fits,
        }
    }

    pub(super) fn text(&self, keyword: &str, expected: &Json, known: &Known) -> Verdict {
        let told_only = match keyword {
            "format" => !self.leaves.formats(),
            "contentEncoding" | "contentMediaType" => self.is(Draft::Latest),
            _ => false,
        };
        if told_only || !Kinds::of(known).intersects(Kinds::TEXT) {
            return Verdict::Fits;
        }
        match known {
            Known::Exactly(json @ Json::String(text)) => {
                let length = || text.chars().count();
                match (keyword, super::count(expected)) {
                    ("minLength", Some(least)) if length() >= least => Verdict::Fits,
                    ("maxLength", Some(most)) if length() <= most => Verdict::Fits,
                    _ => self.leaf(keyword, expected, json),
                }
            }
            Known::Of(Type::Timestamp)
                if keyword == "format" && expected.as_str() == Some("date-time") =>
            {
                Verdict::Fits
            }
            _ if keyword == "minLength" && super::count(expected) == Some(0) => Verdict::Fits,
            _ if keyword == "format" && !super::super::validator::is_enforced(expected) => {
                Verdict::Fits
            }
            _ => Verdict::Unknown,
        }
    }

    /// Judges a known value by one keyword alone.
    pub(super) fn leaf(&self, keyword: &str, expected: &Json, value: &Json) -> Verdict {
        match self
            .leaves
            .violation(self.draft_name(), keyword, expected, value)
        {
            Some(None) => Verdict::Fits,
            Some(Some(violation)) => Verdict::Cannot(violation),
            None => Verdict::Unknown,
        }
    }
}
