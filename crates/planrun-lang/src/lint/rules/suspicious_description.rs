//! `suspicious-description`: a call of a tool whose description addresses a model instead of describing the tool.

use std::collections::BTreeSet;

use super::Subject;
use crate::diag::render::command;
use crate::diag::{Diagnostic, codes};
use crate::lint::suspicions;
use crate::types::BUILT_IN;

pub(super) fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    let mut reported = BTreeSet::new();
    for (_, call, signature) in subject.calls() {
        let Some(description) = &signature.description else {
            continue;
        };
        // The descriptions of built-in tools are trusted, and compiling the patterns takes longer than checking a small
        // plan.
        if BUILT_IN.contains(&&*signature.namespace) {
            continue;
        }
        if !reported.insert(signature.path()) {
            continue;
        }
        for what in suspicions(description) {
            let message = format!("the description of `{}` {what}", signature.path());
            let code = &codes::contracts::SUSPICIOUS_DESCRIPTION;
            let finding = code.at(call.span, message);
            let show = command("tools show");
            found.push(finding.help(format!("read it with `{show}` before a model does")));
        }
    }
}
