//! `deprecated-tool`: a call of a tool that its contract marks as deprecated.

use super::Subject;
use crate::diag::{Diagnostic, codes};

pub(super) fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    for (_, call, signature) in subject.calls() {
        let Some(reason) = &signature.deprecated else {
            continue;
        };
        let message = format!("`{}` is deprecated", signature.path());
        let finding = codes::contracts::DEPRECATED_TOOL.at(call.span, message);
        found.push(if reason.is_empty() {
            finding.help("ask its owner for a replacement: its contract marks it as deprecated")
        } else {
            finding.help(format!("its contract states: {reason}"))
        });
    }
}
