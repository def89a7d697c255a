//! The rules: one file each, in the table below.

mod budget_impossible;
mod insecure_url;
mod permission_missing;
mod permission_unused;
mod recover_swallows;
mod undo_of_read;

use super::subject::{self, Subject};
use crate::diag::codes::{effects, failure, safety};
use crate::diag::{Code, Diagnostic};

/// One rule: the codes that it reports, and how it looks.
pub(super) struct Rule {
    pub codes: &'static [&'static Code],
    pub look: fn(&Subject<'_>, &mut Vec<Diagnostic>),
}

/// Every rule, in the order of the catalogue.
pub(super) const RULES: &[Rule] = &[
    Rule { codes: &[&failure::RECOVER_SWALLOWS], look: recover_swallows::look },
    Rule { codes: &[&effects::UNDO_OF_READ], look: undo_of_read::look },
    Rule { codes: &[&safety::PERMISSION_MISSING, &safety::PATH_ESCAPES], look: permission_missing::look },
    Rule { codes: &[&safety::PERMISSION_UNUSED], look: permission_unused::look },
    Rule { codes: &[&safety::INSECURE_URL], look: insecure_url::look },
    Rule { codes: &[&safety::BUDGET_IMPOSSIBLE], look: budget_impossible::look },
];
