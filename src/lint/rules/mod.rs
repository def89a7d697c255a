//! The rules: one file each, in the table below.

mod budget_impossible;
mod busy_loop;
mod complementary_guards;
mod insecure_url;
mod never_fires;
mod never_set;
mod parallel_set;
mod parallel_write;
mod permission_missing;
mod permission_unused;
mod recover_swallows;
mod redundant_after;
mod too_wide;
mod undo_of_read;
mod wait_forever;

use super::subject::{self, Subject};
use crate::diag::codes::{effects, failure, order, safety};
use crate::diag::{Code, Diagnostic};

/// One rule: the codes that it reports, and how it looks.
pub(super) struct Rule {
    pub codes: &'static [&'static Code],
    pub look: fn(&Subject<'_>, &mut Vec<Diagnostic>),
}

/// Every rule, in the order of the catalogue.
pub(super) const RULES: &[Rule] = &[
    Rule {
        codes: &[&order::NEVER_FIRES, &order::DEPENDENCY_CYCLE, &order::CANNOT_FINISH, &order::STALLS],
        look: never_fires::look,
    },
    Rule { codes: &[&order::REDUNDANT_AFTER], look: redundant_after::look },
    Rule { codes: &[&order::COMPLEMENTARY_GUARDS], look: complementary_guards::look },
    Rule { codes: &[&order::PARALLEL_SET], look: parallel_set::look },
    Rule { codes: &[&order::PARALLEL_WRITE], look: parallel_write::look },
    Rule { codes: &[&order::TOO_WIDE], look: too_wide::look },
    Rule { codes: &[&order::NEVER_SET], look: never_set::look },
    Rule { codes: &[&order::BUSY_LOOP], look: busy_loop::look },
    Rule { codes: &[&order::WAIT_FOREVER], look: wait_forever::look },
    Rule { codes: &[&failure::RECOVER_SWALLOWS], look: recover_swallows::look },
    Rule { codes: &[&effects::UNDO_OF_READ], look: undo_of_read::look },
    Rule { codes: &[&safety::PERMISSION_MISSING, &safety::PATH_ESCAPES], look: permission_missing::look },
    Rule { codes: &[&safety::PERMISSION_UNUSED], look: permission_unused::look },
    Rule { codes: &[&safety::INSECURE_URL], look: insecure_url::look },
    Rule { codes: &[&safety::BUDGET_IMPOSSIBLE], look: budget_impossible::look },
];
