//! The rules: one file each, in the table below.

mod budget_impossible;
mod busy_loop;
mod complementary_guards;
mod constant_condition;
mod constant_failure;
mod could_run_together;
mod deadline_impossible;
mod default_type;
mod deprecated_tool;
mod effect_unknown;
mod insecure_url;
mod irreversible_unconfirmed;
mod never_fires;
mod never_set;
mod parallel_set;
mod parallel_write;
mod permission_missing;
mod permission_unused;
mod recover_swallows;
mod redundant_after;
mod retry_never_matches;
mod retry_repeats_effect;
mod secret_leaks;
mod secret_literal;
mod shell_string;
mod suspicious_description;
mod too_wide;
mod unbounded_cost;
mod undo_missing;
mod undo_never_runs;
mod undo_of_read;
mod unimplemented_tool;
mod unreachable_recover;
mod untrusted_to_irreversible;
mod useless_retry;
mod verify_cannot_resolve;
mod wait_forever;
mod within_impossible;

pub(super) use constant_failure::finding as always_fails;

use super::subject::{self, Subject};
use crate::diag::codes::{contracts, effects, failure, names, order, safety, types};
use crate::diag::{Code, Diagnostic, Near};
use crate::source::Span;

/// One rule: the codes that it reports, and how it looks.
pub(super) struct Rule {
    pub codes: &'static [&'static Code],
    pub look: fn(&Subject<'_>, &mut Vec<Diagnostic>),
}

/// What may be said of a condition that never comes true.
const UNANSWERED: &[&Code] = &[
    &order::NEVER_FIRES,
    &order::DEPENDENCY_CYCLE,
    &order::CANNOT_FINISH,
    &order::STALLS,
];

/// Every rule, in the order of the catalogue.
pub(super) const RULES: &[Rule] = &[
    Rule {
        codes: &[&order::CONSTANT_CONDITION],
        look: constant_condition::look,
    },
    Rule {
        codes: &[&order::CONSTANT_FAILURE],
        look: constant_failure::look,
    },
    Rule {
        codes: &[&types::DEFAULT_TYPE],
        look: default_type::look,
    },
    Rule {
        codes: UNANSWERED,
        look: never_fires::look,
    },
    Rule {
        codes: &[&order::REDUNDANT_AFTER],
        look: redundant_after::look,
    },
    Rule {
        codes: &[&order::COMPLEMENTARY_GUARDS],
        look: complementary_guards::look,
    },
    Rule {
        codes: &[&order::COULD_RUN_TOGETHER],
        look: could_run_together::look,
    },
    Rule {
        codes: &[&order::PARALLEL_SET],
        look: parallel_set::look,
    },
    Rule {
        codes: &[&order::PARALLEL_WRITE],
        look: parallel_write::look,
    },
    Rule {
        codes: &[&order::TOO_WIDE],
        look: too_wide::look,
    },
    Rule {
        codes: &[&order::NEVER_SET],
        look: never_set::look,
    },
    Rule {
        codes: &[&order::BUSY_LOOP],
        look: busy_loop::look,
    },
    Rule {
        codes: &[&order::WAIT_FOREVER],
        look: wait_forever::look,
    },
    Rule {
        codes: &[&failure::USELESS_RETRY],
        look: useless_retry::look,
    },
    Rule {
        codes: &[&failure::RETRY_REPEATS_EFFECT],
        look: retry_repeats_effect::look,
    },
    Rule {
        codes: &[&failure::RETRY_NEVER_MATCHES, &names::UNKNOWN_ERROR_CLASS],
        look: retry_never_matches::look,
    },
    Rule {
        codes: &[&failure::WITHIN_IMPOSSIBLE],
        look: within_impossible::look,
    },
    Rule {
        codes: &[&failure::DEADLINE_IMPOSSIBLE],
        look: deadline_impossible::look,
    },
    Rule {
        codes: &[&failure::UNREACHABLE_RECOVER, &names::UNKNOWN_ERROR_CLASS],
        look: unreachable_recover::look,
    },
    Rule {
        codes: &[&failure::RECOVER_SWALLOWS],
        look: recover_swallows::look,
    },
    Rule {
        codes: &[&failure::UNDO_NEVER_RUNS],
        look: undo_never_runs::look,
    },
    Rule {
        codes: &[&effects::VERIFY_CANNOT_RESOLVE],
        look: verify_cannot_resolve::look,
    },
    Rule {
        codes: &[&effects::IRREVERSIBLE_UNCONFIRMED],
        look: irreversible_unconfirmed::look,
    },
    Rule {
        codes: &[&effects::UNDO_OF_READ],
        look: undo_of_read::look,
    },
    Rule {
        codes: &[&effects::UNDO_MISSING],
        look: undo_missing::look,
    },
    Rule {
        codes: &[&effects::EFFECT_UNKNOWN],
        look: effect_unknown::look,
    },
    Rule {
        codes: &[&safety::SECRET_LITERAL],
        look: secret_literal::look,
    },
    Rule {
        codes: &[&safety::SECRET_LEAKS],
        look: secret_leaks::look,
    },
    Rule {
        codes: &[&safety::UNTRUSTED_TO_IRREVERSIBLE],
        look: untrusted_to_irreversible::look,
    },
    Rule {
        codes: &[&safety::SHELL_STRING],
        look: shell_string::look,
    },
    Rule {
        codes: &[&safety::PERMISSION_MISSING, &safety::PATH_ESCAPES],
        look: permission_missing::look,
    },
    Rule {
        codes: &[&safety::PERMISSION_UNUSED],
        look: permission_unused::look,
    },
    Rule {
        codes: &[&safety::INSECURE_URL],
        look: insecure_url::look,
    },
    Rule {
        codes: &[&safety::BUDGET_IMPOSSIBLE],
        look: budget_impossible::look,
    },
    Rule {
        codes: &[&safety::UNBOUNDED_COST],
        look: unbounded_cost::look,
    },
    Rule {
        codes: &[&contracts::DEPRECATED_TOOL],
        look: deprecated_tool::look,
    },
    Rule {
        codes: &[&contracts::UNIMPLEMENTED_TOOL],
        look: unimplemented_tool::look,
    },
    Rule {
        codes: &[&contracts::SUSPICIOUS_DESCRIPTION],
        look: suspicious_description::look,
    },
];

/// Those that tell what keeps a run from being made whole.
pub(super) const OBSTACLES: &[fn(&Subject<'_>, &mut Vec<Diagnostic>)] =
    &[permission_missing::look, unimplemented_tool::look];

/// An error of a tool whose name is nearly one that the tool declares.
fn misspelt_class(span: Span, message: String, near: Near<'_>) -> Diagnostic {
    Diagnostic::new(&names::UNKNOWN_ERROR_CLASS, span, message).did_you_mean(near, span, near.name)
}
