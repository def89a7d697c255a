//! Statuses of answers in criteria, and the error classes that they correspond to when a call fails.

use std::collections::BTreeSet;

use planrun_lang::syntax::ast::BinaryOp;
use planrun_lang::yaml::Node;
use regex::Regex;

use crate::control_flow::status::of_status;
use crate::document::items;
use crate::expression::condition::{self, Truth, Words};

/// The runtime expression for the status of an answer.
pub const STATUS: &str = "$statusCode";

/// A set of statuses. Redirections are never included: they are followed, so no answer has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statuses(BTreeSet<i64>);

impl Truth for Statuses {
    fn every(parts: Vec<Self>) -> Option<Self> {
        parts
            .into_iter()
            .reduce(|one, other| Self(&one.0 & &other.0))
    }

    fn either(parts: Vec<Self>) -> Option<Self> {
        parts
            .into_iter()
            .reduce(|one, other| Self(&one.0 | &other.0))
    }

    fn not(self) -> Self {
        Self::those(|status| !self.0.contains(&status))
    }
}

impl Statuses {
    fn those(hold: impl Fn(i64) -> bool) -> Self {
        let all = (200..300).chain(400..600);
        Self(all.filter(|status| hold(*status)).collect())
    }

    /// Returns the statuses that a criterion requires; `None` if it tests anything else.
    pub fn asked(criterion: &Node) -> Option<Self> {
        let condition = criterion.get("condition")?.text()?;
        match criterion.get("type").map_or(Some("simple"), Node::text)? {
            "simple" if condition.contains(STATUS) => condition::read(condition, compared).ok(),
            "regex" if criterion.get("context")?.text()?.trim() == STATUS => {
                let pattern = Regex::new(condition).ok()?;
                Some(Self::those(|status| pattern.is_match(&status.to_string())))
            }
            _ => None,
        }
    }

    /// Returns true if all of them are statuses of success, and there is at least one.
    pub fn are_good(&self) -> bool {
        !self.0.is_empty() && self.0.iter().all(|status| *status < 300)
    }

    /// Returns whether the success statuses of `others` are in this set: `None` if only some are.
    pub fn allow(&self, others: &Self) -> Option<bool> {
        let mut good = others.0.iter().filter(|status| **status < 300).peekable();
        let first = good.peek().is_some_and(|status| self.0.contains(status));
        good.all(|status| self.0.contains(status) == first)
            .then_some(first)
    }

    /// Returns the error classes of calls that fail with these statuses; empty for all failures, `None` if there are
    /// no such failures.
    pub fn classes(&self) -> Option<Vec<String>> {
        let failing = || self.0.iter().filter(|status| **status >= 400);
        failing().next()?;
        if failing().count() == 200 {
            return Some(Vec::new());
        }
        let is_refused = |status: &i64| of_status(*status).iter().all(|class| is_of_tool(class));
        let all_refused = (400..500)
            .filter(is_refused)
            .all(|status| self.0.contains(&status));
        let mut classes: Vec<String> = Vec::new();
        for class in failing().flat_map(|status| of_status(*status)) {
            let class = if all_refused && is_of_tool(&class) {
                "tool".to_owned()
            } else {
                class
            };
            if !classes.contains(&class) {
                classes.push(class);
            }
        }
        Some(classes)
    }
}

fn is_of_tool(class: &str) -> bool {
    class.starts_with("tool.")
}

/// Parses a comparison of the status with a number.
fn compared(words: &mut Words<'_>) -> Result<Statuses, String> {
    let left = words.take()?;
    let operator = words.comparison().ok_or("it has no comparison")?;
    let right = words.take()?;
    let operand = |word: &str, status: i64| {
        if word == STATUS {
            Some(status)
        } else {
            word.parse::<i64>().ok()
        }
    };
    if operand(left, 0).is_none() || operand(right, 0).is_none() {
        return Err("it compares something other than the status".into());
    }
    Ok(Statuses::those(|status| {
        let (left, right) = (operand(left, status), operand(right, status));
        match operator {
            BinaryOp::Equal => left == right,
            BinaryOp::NotEqual => left != right,
            BinaryOp::Less => left < right,
            BinaryOp::LessEqual => left <= right,
            BinaryOp::Greater => left > right,
            _ => left >= right,
        }
    }))
}

/// Criteria that must all hold: the statuses that they require, `None` if they require none, and all other criteria.
pub struct Criteria<'d> {
    pub statuses: Option<Statuses>,
    pub others: Vec<&'d Node>,
}

impl<'d> Criteria<'d> {
    pub fn read(holder: &'d Node, list: &str) -> Self {
        let (mut statuses, mut others) = (Vec::new(), Vec::new());
        for criterion in items(holder, list) {
            match Statuses::asked(criterion) {
                Some(asked) => statuses.push(asked),
                None => others.push(criterion),
            }
        }
        Self {
            statuses: Statuses::every(statuses),
            others,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document;

    fn asked(criterion: &str) -> Option<Statuses> {
        Statuses::asked(&document::read(criterion).unwrap())
    }

    fn simple(condition: &str) -> Option<Statuses> {
        asked(&format!("condition: {condition}"))
    }

    #[test]
    fn good_statuses_are_what_every_call_asks_for() {
        for text in [
            "$statusCode == 200",
            "$statusCode >= 200 && $statusCode < 300",
            "$statusCode==201 || $statusCode==204",
            "$statusCode < 400",
        ] {
            assert!(simple(text).unwrap().are_good(), "{text}");
        }
        for text in [
            "$statusCode == 404",
            "$statusCode == 302",
            "$statusCode != 500",
        ] {
            assert!(!simple(text).unwrap().are_good(), "{text}");
        }
        for text in [
            "$statusCode == 200 && $response.body#/ok == true",
            "$statusCode == $inputs.status",
            "$statusCode",
            "200",
        ] {
            assert_eq!(simple(text), None, "{text}");
        }
        let pattern = "context: $statusCode\ncondition: '^20[04]$'\ntype: regex";
        assert_eq!(
            asked(pattern),
            simple("$statusCode == 200 || $statusCode == 204")
        );
    }

    #[test]
    fn good_statuses_are_told_apart_only_as_far_as_a_step_asks_for_one() {
        let [both, one, other, bad] = [
            "$statusCode < 202",
            "$statusCode == 200",
            "$statusCode == 204",
            "$statusCode == 404",
        ]
        .map(|text| simple(text).unwrap());
        assert_eq!(both.allow(&one), Some(true));
        assert_eq!(one.allow(&both), None);
        assert_eq!(other.allow(&both), Some(false));
        assert_eq!(bad.allow(&both), Some(false));
    }

    #[test]
    fn bad_statuses_are_classes() {
        let classes = |condition| simple(condition).unwrap().classes();
        let some = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
        assert_eq!(classes("$statusCode == 200"), None);
        assert_eq!(classes("$statusCode != 200"), Some(Vec::new()));
        assert_eq!(classes("$statusCode == 404"), some(&["tool.not_found"]));
        let required = some(&["tool.precondition_required"]);
        assert_eq!(classes("$statusCode == 428"), required);
        let refused = [
            "tool",
            "auth.authentication",
            "auth.authorization",
            "transient.timeout",
            "unknown_outcome",
            "transient.rate_limited",
        ];
        assert_eq!(
            classes("$statusCode >= 400 && $statusCode < 500"),
            some(&refused)
        );
    }
}
