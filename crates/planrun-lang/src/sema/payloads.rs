//! Checks that a signal can have the types that all its receivers declare for its payload.

use std::sync::Arc;

use super::plan::{Payload, Plan};
use crate::diag::{Diagnostic, codes};

/// Reports receivers of a signal whose type excludes that of a receiver above them, or in a plan that this one calls: the
/// run accepts a payload only if it has the type of every receiver.
pub(super) fn check_payloads(plan: &Plan, diagnostics: &mut Vec<Diagnostic>) {
    let mut own = plan.payloads();
    own.sort_by_key(|payload| payload.span.start);
    for (position, payload) in own.iter().enumerate() {
        let is_excluded =
            |other: &Payload<'_>| other.signal == payload.signal && other.ty.excludes(payload.ty);
        let finding = |other: &str| {
            let Payload { signal, span, ty } = payload;
            let message = format!("no payload of the signal `{signal}` fits here and {other}");
            codes::types::WRONG_TYPE
                .at(*span, message)
                .note(format!("here it is {ty}"))
                .help("a payload must fit everywhere: give the type that the signal really has, or use two signals")
        };
        if let Some(above) = own[..position].iter().find(|above| is_excluded(above)) {
            let label = format!("here it is {}", above.ty);
            diagnostics.push(finding("above").label(above.span, label));
        } else if let Some(called) = find_receiver(&plan.plans, &is_excluded) {
            diagnostics.push(finding(&format!("in the plan `{}`", called.name)));
        }
    }
}

/// Returns the first plan, of these and those that they call, with such a receiver.
fn find_receiver<'p>(
    plans: &'p [Arc<Plan>],
    is_it: &impl Fn(&Payload<'_>) -> bool,
) -> Option<&'p Plan> {
    plans.iter().find_map(|plan| {
        if plan.payloads().iter().any(is_it) {
            Some(&**plan)
        } else {
            find_receiver(&plan.plans, is_it)
        }
    })
}
