//! Approvals, as the journal has them: no call is announced that nobody has approved, if its plan or its project asks for
//! that, and none with other arguments than those that were shown.

use std::collections::{BTreeMap, BTreeSet};

use planrun_core::run::Defaults;
use planrun_lang::sema::Plan;
use serde_json::Value as Json;

use super::levels::levels;

/// The approvals of a run, by the paths of the steps.
#[derive(Default)]
pub struct Gates {
    /// The arguments that were shown with the latest question.
    shown: BTreeMap<String, Json>,
    approved: BTreeMap<String, Approved>,
    /// Number of calls that needed an approval.
    pub passed: u64,
}

/// What was approved of a step.
#[derive(Default)]
struct Approved {
    arguments: Json,
    /// Number of approvals.
    times: usize,
    /// The executions that were announced.
    executions: BTreeSet<u64>,
}

impl Gates {
    /// Takes the next event of the journal. Returns an error if it announces a call that must not be made.
    pub fn take(&mut self, event: &Json, plan: &Plan, defaults: &Defaults) -> Result<(), String> {
        let path = event["path"].as_str().unwrap_or_default();
        match event["event"].as_str().unwrap_or_default() {
            "step.waiting" if event["for"] == "confirm" => {
                self.shown.insert(path.to_owned(), arguments(event));
            }
            "answer.given" => {
                let Some(step) = path.strip_suffix(".confirm") else {
                    return Ok(());
                };
                let value = &event["value"];
                if *value == true || value["approve"] == true {
                    let approved = self.approved.entry(step.to_owned()).or_default();
                    approved.times += 1;
                    approved.arguments = self.shown.remove(step).unwrap_or_default();
                } else {
                    self.approved.remove(step);
                }
            }
            "step.running" if event["execution"].is_number() => {
                return self.announced(event, path, plan, defaults);
            }
            _ => {}
        }
        Ok(())
    }

    fn announced(
        &mut self,
        event: &Json,
        path: &str,
        plan: &Plan,
        defaults: &Defaults,
    ) -> Result<(), String> {
        if path.contains(".undo") || path.contains(".verify") {
            return Ok(());
        }
        let (namespace, tool) = event["tool"].as_str().unwrap().split_once('.').unwrap();
        let mut covers = defaults.confirm.iter();
        let is_required = covers.any(|tools| tools.names(namespace, tool));
        for level in levels(path, plan) {
            let own = level.path();
            let step = level.node().step();
            let asks = step.is_some_and(|step| step.confirm().is_some());
            let is_call = own == path;
            let recovers = path[own.len()..].starts_with(".recover");
            if recovers || !(asks || is_call && is_required) {
                continue;
            }
            let Some(approved) = self.approved.get_mut(&own) else {
                return Err(format!("`{path}` runs without the approval of `{own}`"));
            };
            self.passed += 1;
            if !is_call {
                continue;
            }
            let (shown, given) = (&approved.arguments, arguments(event));
            if *shown != given {
                return Err(format!(
                    "`{path}` is approved with {shown}, not with {given}"
                ));
            }
            // All polls of an `until` have one approval.
            let polls = step.is_some_and(|step| step.until().is_some());
            approved.executions.extend(event["execution"].as_u64());
            if approved.executions.len() > approved.times && !polls {
                return Err(format!("`{path}` is executed again without an approval"));
            }
        }
        Ok(())
    }
}

/// Returns the arguments of an event, in whatever form it has them.
pub fn arguments(event: &Json) -> Json {
    let forms = [
        "arguments",
        "arguments_typed",
        "arguments_kept",
        "arguments_typed_kept",
    ];
    forms
        .iter()
        .filter_map(|form| event.get(form).cloned())
        .collect()
}
