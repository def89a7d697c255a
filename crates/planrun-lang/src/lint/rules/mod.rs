//! The table of lint rules, each of which has a file of its own.

mod beyond_limit;
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
mod shared_signal;
mod shell_string;
mod suspicious_description;
mod too_wide;
mod unbounded_cost;
mod unchecked_index;
mod undo_changes_nothing;
mod undo_missing;
mod undo_never_runs;
mod undo_of_read;
mod unimplemented_tool;
mod unreachable_recover;
mod untrusted_to_irreversible;
mod useless_retry;
mod verify_cannot_resolve;
mod wait_forever;
mod when_after_confirm;
mod within_impossible;

pub(super) use constant_failure::finding as always_fails;

use super::subject::{self, Subject};
use crate::diag::codes::{contracts, effects, failure, names, order, safety, types};
use crate::diag::{Code, Diagnostic, Near};
use crate::source::Span;

/// A rule, with the codes that it reports.
pub(super) struct Rule {
    pub codes: &'static [&'static Code],
    pub check: Check,
}

type Check = fn(&Subject<'_>, &mut Vec<Diagnostic>);

/// Defines the table of rules, in catalog order, with the codes that each reports.
macro_rules! rules {
    ($($rule:ident: $($code:path),+;)+) => {
        pub(super) const RULES: &[Rule] = &[
            $(Rule { codes: &[$(&$code),+], check: $rule::check },)+
        ];
    };
}

rules! {
    constant_condition: order::CONSTANT_CONDITION;
    constant_failure: order::CONSTANT_FAILURE, types::SCHEMA_VIOLATION;
    default_type: types::DEFAULT_TYPE;
    unchecked_index: types::UNCHECKED_INDEX;
    never_fires: order::NEVER_FIRES, order::DEPENDENCY_CYCLE, order::CANNOT_FINISH, order::STALLS;
    redundant_after: order::REDUNDANT_AFTER;
    complementary_guards: order::COMPLEMENTARY_GUARDS;
    could_run_together: order::COULD_RUN_TOGETHER;
    parallel_set: order::PARALLEL_SET;
    shared_signal: order::SHARED_SIGNAL;
    when_after_confirm: order::WHEN_AFTER_CONFIRM;
    parallel_write: order::PARALLEL_WRITE;
    too_wide: order::TOO_WIDE;
    never_set: order::NEVER_SET;
    busy_loop: order::BUSY_LOOP;
    wait_forever: order::WAIT_FOREVER;
    useless_retry: failure::USELESS_RETRY;
    retry_repeats_effect: failure::RETRY_REPEATS_EFFECT;
    retry_never_matches: failure::RETRY_NEVER_MATCHES, names::UNKNOWN_ERROR_CLASS;
    within_impossible: failure::WITHIN_IMPOSSIBLE;
    deadline_impossible: failure::DEADLINE_IMPOSSIBLE;
    unreachable_recover: failure::UNREACHABLE_RECOVER, names::UNKNOWN_ERROR_CLASS;
    recover_swallows: failure::RECOVER_SWALLOWS;
    undo_never_runs: failure::UNDO_NEVER_RUNS;
    verify_cannot_resolve: effects::VERIFY_CANNOT_RESOLVE;
    irreversible_unconfirmed: effects::IRREVERSIBLE_UNCONFIRMED;
    undo_of_read: effects::UNDO_OF_READ;
    undo_changes_nothing: effects::UNDO_CHANGES_NOTHING;
    undo_missing: effects::UNDO_MISSING;
    effect_unknown: effects::EFFECT_UNKNOWN;
    secret_literal: safety::SECRET_LITERAL;
    secret_leaks: safety::SECRET_LEAKS;
    untrusted_to_irreversible: safety::UNTRUSTED_TO_IRREVERSIBLE;
    shell_string: safety::SHELL_STRING;
    permission_missing: safety::PERMISSION_MISSING, safety::PATH_ESCAPES;
    permission_unused: safety::PERMISSION_UNUSED;
    insecure_url: safety::INSECURE_URL;
    budget_impossible: safety::BUDGET_IMPOSSIBLE;
    beyond_limit: safety::BEYOND_LIMIT;
    unbounded_cost: safety::UNBOUNDED_COST;
    deprecated_tool: contracts::DEPRECATED_TOOL;
    unimplemented_tool: contracts::UNIMPLEMENTED_TOOL;
    suspicious_description: contracts::SUSPICIOUS_DESCRIPTION;
}

/// The rules that find what would make a run fail midway.
pub(super) const OBSTACLES: &[Check] = &[permission_missing::obstacles, unimplemented_tool::check];

/// Reports an error class whose name resembles one that the tool declares.
fn misspelt_class(span: Span, message: String, near: Near<'_>) -> Diagnostic {
    names::UNKNOWN_ERROR_CLASS
        .at(span, message)
        .did_you_mean(near, span, near.name)
}
