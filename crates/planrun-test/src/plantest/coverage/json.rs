//! The coverage report as JSON: every goal with its count.

use serde_json::{Value as Json, json};

use super::{Coverage, Kind, PlanCoverage, Share};

/// Returns the report as JSON.
#[must_use]
pub fn json(coverage: &Coverage<'_>) -> Json {
    let files: Vec<Json> = coverage
        .files()
        .into_iter()
        .map(|(name, plans)| json!({"file": name, "plans": plans.into_iter().map(plan).collect::<Vec<_>>()}))
        .collect();
    json!({"version": 1, "total": share(coverage.share()), "files": files})
}

fn plan(plan: &PlanCoverage<'_>) -> Json {
    let kinds: serde_json::Map<String, Json> = Kind::ALL
        .into_iter()
        .map(|kind| (kind, plan.share_of(&|own| own == kind)))
        .filter(|(_, share)| share.all > 0)
        .map(|(kind, of_kind)| (kind.name().to_owned(), share(of_kind)))
        .collect();
    let goals: Vec<Json> = plan
        .goals()
        .map(|(goal, count)| {
            let place = plan.goals.file().position(goal.span.start);
            let mut entry = json!({
                "kind": goal.kind, "name": goal.name, "what": goal.item.what.word(), "line": place.line, "column": place.column, "count": count,
            });
            if count == 0 {
                entry["missing"] = json!(goal.missing);
            }
            entry
        })
        .collect();
    json!({"plan": &*plan.goals.plan().name, "total": share(plan.share()), "kinds": kinds, "goals": goals})
}

fn share(share: Share) -> Json {
    json!({"reached": share.reached, "all": share.all, "percent": share.percent()})
}
