//! `deprecated-tool`: a call of a tool whose contract says that it goes away.

use super::Subject;
use crate::diag::{Diagnostic, codes};

pub(super) fn look(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    for (_, call, signature) in subject.calls() {
        let Some(reason) = &signature.deprecated else {
            continue;
        };
        let message = format!("`{}` should not be called any more", signature.path());
        let finding = Diagnostic::new(&codes::contracts::DEPRECATED_TOOL, call.span, message);
        found.push(if reason.is_empty() {
            finding.help("its contract marks it as deprecated; ask its owner what takes its place")
        } else {
            finding.help(format!("its contract says: {reason}"))
        });
    }
}
