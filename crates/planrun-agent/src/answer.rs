//! Finds the plan in an answer of a model: in a code fence, in a JSON field, or as the whole answer.

use planrun_lang::syntax::begins_plan;
use serde_json::Value as Json;

/// The start and end of a code fence.
const FENCE: &str = "```";
/// Every plan contains at least one of these words.
const WORDS: [&str; 4] = ["step", "reply", "plan", "let"];

/// Returns the text of the plan in an answer: the last code fence that may contain a plan, the field `plan` of an
/// object, or the whole answer if it begins like a plan. Returns `None` if the answer has no plan.
pub fn plan_text(answer: &str) -> Option<String> {
    let answer = answer.trim();
    if let Some(plan) = field(answer) {
        return Some(plan);
    }
    let fenced = fences(answer).into_iter().rev().map(str::trim);
    let mut candidates = fenced.map(|text| field(text).unwrap_or_else(|| text.to_owned()));
    if let Some(plan) = candidates.find(|text| may_be_plan(text)) {
        return Some(plan);
    }
    begins_as_plan(answer).then(|| answer.to_owned())
}

/// Returns the plan in an answer that is still being written, up to its current end; `None` if no plan has begun. A
/// plan in JSON cannot be read before the answer is complete.
pub fn unfinished_plan(answer: &str) -> Option<&str> {
    match fences(answer).pop() {
        Some(last) => may_be_plan(last).then_some(last),
        None => begins_as_plan(answer).then_some(answer),
    }
}

/// Returns the plan of an object such as `{"plan": "…"}`, or the object itself if it is a plan in the JSON form.
fn field(text: &str) -> Option<String> {
    let json: Json = serde_json::from_str(text).ok()?;
    match json.get("plan") {
        Some(Json::String(plan)) => Some(plan.clone()),
        _ => json.get("items").map(|_| text.to_owned()),
    }
}

/// Returns the contents of code fences, in order. A fence without an end extends to the end of the text, since the
/// answer may have been truncated.
fn fences(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once(FENCE) {
        let (inner, left) = after.split_once(FENCE).unwrap_or((after, ""));
        // The word after the opening fence names a language.
        let first = inner.split_inclusive('\n').next().unwrap_or_default();
        let is_word = first.ends_with('\n') && !first.trim().contains(char::is_whitespace);
        found.push(if is_word {
            inner.get(first.len()..).unwrap_or(inner)
        } else {
            inner
        });
        rest = left;
    }
    found
}

fn may_be_plan(text: &str) -> bool {
    let mut words = text.split(|found: char| !found.is_alphanumeric() && found != '_');
    words.any(|word| WORDS.contains(&word))
        || serde_json::from_str::<Json>(text).is_ok_and(|json| json.get("items").is_some())
}

fn begins_as_plan(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    first.starts_with("//") || begins_plan(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = "step t = desk.get(id: 1)\nreply t.state";

    #[test]
    fn s1_6_and_s0_10_plans_are_found_where_models_put_them() {
        let quoted = serde_json::json!({ "plan": PLAN }).to_string();
        for answer in [
            PLAN.to_owned(),
            format!("```plan\n{PLAN}\n```"),
            format!("```\n{PLAN}\n```"),
            format!("Sure. First I look.\n\n```planrun\n{PLAN}\n```\nShall I?"),
            format!("A draft:\n```\nstep x = 1\n```\nBetter:\n```\n{PLAN}\n```"),
            format!("```plan\n{PLAN}\n"),
            quoted.clone(),
            format!("```json\n{quoted}\n```"),
            format!("```\n{PLAN}\n```\nRun it with\n```sh\nplanrun run\n```"),
        ] {
            assert_eq!(plan_text(&answer).as_deref(), Some(PLAN), "{answer}");
        }
    }

    #[test]
    fn a_plan_without_a_fence_begins_with_any_statement() {
        for first in [
            "policy { concurrency: 1 }",
            "allow { net: [\"a.example.com\"] }",
            "parallel {\n    step a = desk.get(id: 1)\n}",
            "if true { fail \"no\" }",
        ] {
            let answer = format!("{first}\n{PLAN}");
            assert_eq!(plan_text(&answer), Some(answer));
        }
    }

    #[test]
    fn a_plan_is_found_while_it_is_written() {
        for before in [
            "",
            "```\n",
            "First:\n```plan\n",
            "```\nls\n```\nNow:\n```plan\n",
        ] {
            for so_far in [
                "step t = desk.get(id: 1)\n",
                "step t = desk.get(id: 1)\nrep",
            ] {
                let answer = format!("{before}{so_far}");
                assert_eq!(unfinished_plan(&answer), Some(so_far), "{answer}");
            }
        }
        for answer in ["", "First I", "```", "{\"plan\": \"step t"] {
            assert_eq!(unfinished_plan(answer), None, "{answer}");
        }
    }

    #[test]
    fn an_answer_without_a_plan_has_none() {
        for answer in ["", "I cannot do that.", "```sh\nls\n```", "{\"answer\": 1}"] {
            assert_eq!(plan_text(answer), None, "{answer}");
        }
    }
}
