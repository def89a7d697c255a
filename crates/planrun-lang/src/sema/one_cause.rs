//! Merges the diagnostics of a file that have one cause.

use std::collections::{BTreeMap, BTreeSet};

use super::expr::NOT_KNOWN;
use crate::diag::{Diagnostic, Fix, Label, codes};
use crate::syntax::ast;

/// Maximum number of further places that a diagnostic about an undefined name lists.
const MAX_PLACES: usize = 8;

/// Merges diagnostics that have one cause; all of them are in source order.
pub(super) fn merge(file: &ast::File, diagnostics: &mut Vec<Diagnostic>) {
    keep_first_of_cause(diagnostics);
    merge_unknown_names(file, diagnostics);
}

/// Keeps only the first of the diagnostics that are repeated at each call although they have one cause: a tool, or a
/// namespace that one `use` makes known.
fn keep_first_of_cause(diagnostics: &mut Vec<Diagnostic>) {
    let mut seen = BTreeSet::new();
    diagnostics.retain(|found| {
        let of_tool = [
            &codes::types::UNKNOWN_READ,
            &codes::types::UNSATISFIABLE_SCHEMA,
        ];
        let lacks_use = *found.code == codes::names::UNKNOWN_NAMESPACE
            && found.fix.as_ref().is_some_and(Fix::only_inserts);
        !(of_tool.contains(&found.code) || lacks_use) || seen.insert(found.message.clone())
    });
}

/// Merges the diagnostics about one name that a plan reads in several places although nothing defines it. Where another
/// name seems to be meant, each place keeps its own fix.
fn merge_unknown_names(file: &ast::File, diagnostics: &mut Vec<Diagnostic>) {
    let mut first_of: BTreeMap<_, usize> = BTreeMap::new();
    let mut merged: Vec<Diagnostic> = Vec::with_capacity(diagnostics.len());
    for found in diagnostics.drain(..) {
        if found.note != NOT_KNOWN || found.fix.is_some() {
            merged.push(found);
            continue;
        }
        let behind = |item: &ast::Item| item.span.start <= found.span.start;
        let item = file.items.partition_point(behind);
        let key = (item, found.message.clone());
        match first_of.get(&key).and_then(|first| merged.get_mut(*first)) {
            Some(first) if first.labels.len() < MAX_PLACES => {
                let message = "and here".to_owned();
                first.labels.push(Label {
                    span: found.span,
                    message,
                });
            }
            Some(_) => {}
            None => {
                first_of.insert(key, merged.len());
                merged.push(found);
            }
        }
    }
    *diagnostics = merged;
}
