//! `unreachable-recover`: an arm names an error of a tool that the call never fails with; `unknown-error-class` where
//! the name is nearly that of one.

use super::{Subject, misspelt_class};
use crate::diag::{Diagnostic, codes, nearest};
use crate::types::{ErrorClass, ErrorPattern};

pub(super) fn look(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    for (site, _, signature) in subject.calls() {
        // An empty list says nothing; one with names is complete, since any other reason is `tool.failed`.
        if signature.raises.is_empty() {
            continue;
        }
        for (arm, clause) in site.step.recover.iter().zip(site.step.clause_spans("recover")) {
            for pattern in &arm.patterns {
                let ErrorPattern::Class(class @ ErrorClass::Tool(name)) = pattern else { continue };
                if signature.raises.contains(name) {
                    continue;
                }
                let raised = signature.raises.iter().map(|name| format!("tool.{name}")).collect::<Vec<_>>();
                let raised = raised.iter().map(String::as_str);
                let class = class.to_string();
                let message = format!("`{}` never fails with `{class}`", signature.path());
                let span = subject.word(clause, &class);
                found.push(match nearest(&class, raised.clone()) {
                    Some(near) => misspelt_class(span, message, near).available(raised),
                    None => Diagnostic::new(&codes::failure::UNREACHABLE_RECOVER, span, message)
                        .help("a reason that its contract does not list is `tool.failed`")
                        .available(raised),
                });
            }
        }
    }
}
