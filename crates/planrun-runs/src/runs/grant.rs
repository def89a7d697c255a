//! The grants that runs of a plan require, and grants that people have given for later runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use planrun_core::journal::{Event, EventKind, EventName, Grant, GrantScope, GrantedCalls};
use planrun_core::run::MAX_STEPS;
use planrun_lang::bounds::{Argument, Bounds, Role, Use};
use planrun_lang::origin::Source;
use planrun_lang::sema::Plan;
use planrun_lang::types::Signature;
use serde_json::Value as Json;

use super::replay::kept;
use super::{CheckedPlan, Error, Journal, Planrun};
use crate::journal::store::Filter;

/// Number of the latest runs of a plan that are searched for a valid grant.
const MAX_RUNS: usize = 20;
/// Number of events at the beginning of a run that are searched for its grant.
const MAX_EVENTS: usize = 8;

/// Returns the grant that a run of a plan with these bounds requires: every call with effects, as often as it may be
/// made. `None` if the plan only reads.
#[must_use]
pub fn required_grant(plan: &Plan, bounds: &Bounds) -> Option<Grant> {
    let plans = plan.with_called().into_iter();
    let tools: BTreeMap<String, &Arc<Signature>> = plans
        .flat_map(Plan::tool_calls)
        .map(|tool| (tool.path(), tool))
        .collect();
    // No tool is called more often than there are steps.
    let most = bounds.limits.steps.unwrap_or(MAX_STEPS);
    let mut calls: Vec<GrantedCalls> = Vec::new();
    let changes = bounds.uses.iter().filter(|one| is_granted(one));
    for one in changes {
        let max = one.max.unwrap_or(most).min(most);
        let constants: BTreeMap<_, _> = one.arguments.iter().filter_map(constant).collect();
        if let Some(known) = calls.iter_mut().find(|known| known.tool == one.tool) {
            known.max = known.max.saturating_add(max);
            known.effect = known.effect.max(one.effect);
            let other = |name: &Arc<str>| one.arguments.iter().find(|own| own.name == *name);
            known.constants.retain(|name, value| {
                other(name).is_none_or(|_| constants.get(name) == Some(value))
            });
            continue;
        }
        calls.push(GrantedCalls {
            contract: tools
                .get(&*one.tool)
                .map(|tool| tool.digest().into())
                .unwrap_or_default(),
            tool: one.tool.clone(),
            effect: one.effect,
            max,
            constants,
        });
    }
    (!calls.is_empty()).then(|| Grant {
        plan: plan.digest.clone(),
        calls,
        scope: GrantScope::Once,
        by: None,
        expires: None,
    })
}

impl CheckedPlan {
    /// Returns a grant that a person has given for every run of this plan, if one of its latest runs has such a grant
    /// which covers everything needed and has not expired.
    ///
    /// # Errors
    /// Returns an error if the journal cannot be read.
    pub fn valid_grant(&self, planrun: &Planrun, needed: &Grant) -> Result<Option<Grant>, Error> {
        let journal = planrun.shared.journal_for_new_runs()?;
        let filter = Filter {
            plan: Some(self.plan.name.to_string()),
            limit: Some(MAX_RUNS),
            ..Filter::default()
        };
        let now = planrun.host().now();
        let applies = |grant: &Grant| {
            let is_valid = grant.expires.is_some_and(|expires| expires > now);
            let covers = grant.plan == needed.plan && grant.calls == needed.calls;
            grant.scope == GrantScope::Plan && is_valid && covers
        };
        for row in journal.runs(&filter)? {
            if let Some(grant) = granted(&journal, &row.run)?.filter(applies) {
                return Ok(Some(grant));
            }
        }
        Ok(None)
    }
}

/// Returns true if a use of a tool requires a grant: it has effects, and is not in a `verify` or `undo` block.
fn is_granted(one: &Use) -> bool {
    !one.effect.is_read_only() && matches!(one.role, Role::Forward | Role::Recover)
}

/// Returns an argument that has the same value in every call.
fn constant(argument: &Argument) -> Option<(Arc<str>, Json)> {
    match argument.from.as_slice() {
        [Source::Constant(value)] if !argument.computed && !argument.more => {
            Some((argument.name.clone(), value.clone()))
        }
        _ => None,
    }
}

/// Returns the grant of a run, according to its first events.
fn granted(journal: &Journal, run: &str) -> Result<Option<Grant>, Error> {
    for event in journal.events(run, 1)?.take(MAX_EVENTS) {
        let line = event?.line;
        if !line.contains(EventName::RunGranted.name()) {
            continue;
        }
        let mut kept = |digest: &str| kept(journal, digest);
        // A grant that cannot be parsed grants nothing.
        let event = Event::read(line.as_bytes(), &mut kept);
        if let Ok(EventKind::RunGranted { grant }) = event.map(|event| event.kind) {
            return Ok(Some((*grant).clone()));
        }
    }
    Ok(None)
}
