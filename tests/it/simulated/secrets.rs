//! A secret among the inputs of a simulated run, which nothing may show.

use std::collections::BTreeMap;
use std::sync::Arc;

use planrun_core::journal::EventRedactor;
use planrun_core::run::{Outcome, Program};
use planrun_lang::sema::Plan;
use planrun_lang::value::Value;

use super::checked;
use crate::generate::{Dice, Project};
use crate::generated::project_context::ProjectContext;

/// The value of every secret input.
const SECRET: &str = "s3cr3t-9f-geheim";

/// Makes a text among the parameters of a plan a secret, if it then still passes the check.
pub fn with_secret(
    context: &ProjectContext,
    made: Project,
    program: Arc<Program>,
    dice: &mut Dice,
) -> (Project, Arc<Program>) {
    let Some(text) = edited(made.main(), &program.plan.name, dice) else {
        return (made, program);
    };
    let mut edited = made.clone();
    edited.plans[0].1 = text;
    match checked(context, &edited, Some(&program.plan.name)) {
        Some(program) => (edited, program),
        None => (made, program),
    }
}

fn edited(text: &str, plan: &str, dice: &mut Dice) -> Option<String> {
    let begin = text.find(&format!("plan {plan}("))?;
    let end = begin + text[begin..].find(" -> ")?;
    let types = text[begin..end].match_indices(": string");
    let ends = types.map(|(at, ty)| (begin + at, begin + at + ty.len()));
    let whole: Vec<(usize, usize)> = ends
        .filter(|(_, end)| text[*end..].starts_with([',', ')']))
        .collect();
    let (from, to) = *whole.get(dice.below(whole.len().max(1)))?;
    Some([&text[..from], ": secret", &text[to..]].concat())
}

/// Gives the secret inputs of a plan their value. Returns true if there are any.
pub fn fill_in(plan: &Plan, inputs: &mut BTreeMap<Arc<str>, Value>) -> bool {
    let mut is_secret = false;
    for parameter in &plan.parameters {
        if !parameter.sensitive.is_empty() {
            inputs.insert(parameter.name.clone(), Value::from(SECRET));
            is_secret = true;
        }
    }
    is_secret
}

/// Checks that neither the redacted events of a run nor the document of its outcome show its secret.
pub fn check_views(
    journal: &[String],
    kept: &BTreeMap<String, Vec<u8>>,
    outcome: &Outcome,
) -> Result<(), String> {
    let mut redactor = EventRedactor::default();
    redactor.add_value(&Value::from(SECRET));
    let mut known = |digest: &str| {
        let content = kept.get(digest).cloned();
        content.ok_or_else(|| format!("no value is stored under {digest}"))
    };
    for line in journal {
        if EventRedactor::has_labels(line) {
            let added = redactor.add_event(line.as_bytes(), &mut known);
            added.map_err(|error| error.to_string())?;
        }
    }
    let shown = journal.iter().map(|line| redactor.line(line));
    if let Some(line) = shown.into_iter().find(|line| line.contains(SECRET)) {
        return Err(format!("an event shows a secret: {line}"));
    }
    let mut document = Vec::new();
    let written = outcome.write_json(&mut document);
    written.map_err(|error| error.to_string())?;
    let document = String::from_utf8_lossy(&document);
    match document.find(SECRET) {
        Some(at) => {
            let around: String = document[..at].chars().rev().take(200).collect();
            let around: String = around.chars().rev().collect();
            Err(format!("the outcome shows a secret after {around}"))
        }
        None => Ok(()),
    }
}
