//! `retry-never-matches`: `on` names an error that the call never fails with; `unknown-error-class` if the name
//! resembles one that it can fail with.

use super::subject::tool_call;
use super::{Subject, misspelt_class};
use crate::diag::{Diagnostic, codes, nearest};
use crate::types::{Denied, Effect, ErrorClass, ErrorPattern, Signature, Validation};

pub(super) fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    for site in subject.steps() {
        let (Some(retry), Some((call, signature))) = (site.step.retry(), tool_call(site.step))
        else {
            continue;
        };
        for pattern in retry.on.iter().flatten() {
            let (Some(name), Some(clause)) = (
                never(pattern, signature, call.effect),
                site.step.clause_spans("retry").next(),
            ) else {
                continue;
            };
            let raised = signature
                .raises
                .iter()
                .map(|name| format!("tool.{name}"))
                .collect::<Vec<_>>();
            let raised = raised.iter().map(String::as_str);
            let message = format!(
                "no attempt of `{}` fails with `{name}`, so it is never retried for that reason",
                signature.path()
            );
            let span = subject.word(clause, &name);
            found.push(match nearest(&name, raised.clone()) {
                Some(near) => misspelt_class(span, message, near).available(raised),
                None => codes::failure::RETRY_NEVER_MATCHES.at(span, message)
                    .help("remove it from `on`; attempts fail with `transient`, `auth` or an error of the tool's contract")
                    .available(raised),
            });
        }
    }
}

/// Returns the error that a pattern names if no attempt can fail with it.
fn never(pattern: &ErrorPattern, signature: &Signature, effect: Effect) -> Option<String> {
    match pattern {
        ErrorPattern::Family("budget") => Some("budget".to_owned()),
        ErrorPattern::Family(_) => None,
        ErrorPattern::Class(class) => is_never(class, signature, effect).then(|| class.to_string()),
    }
}

fn is_never(class: &ErrorClass, signature: &Signature, effect: Effect) -> bool {
    match class {
        // The list of a contract is complete: any other reason is `tool.failed`. An empty list means unknown.
        ErrorClass::Tool(name) => !signature.raises.is_empty() && !signature.raises.contains(name),
        // Raised by the `ensure`, the poll, the `verify` or the expression, not by an attempt.
        ErrorClass::Validation(kind) => {
            matches!(
                kind,
                Validation::Ensure
                    | Validation::Until
                    | Validation::Verify
                    | Validation::Expression
            )
        }
        ErrorClass::Denied(kind) => matches!(kind, Denied::Human | Denied::Contract),
        ErrorClass::Budget(_) | ErrorClass::Expired | ErrorClass::Cancelled => true,
        // A repeatable call is simply repeated; effects are covered by `retry-repeats-effect`.
        ErrorClass::UnknownOutcome => effect.repeatable(),
        ErrorClass::Transient(_) | ErrorClass::Auth(_) | ErrorClass::Internal => false,
    }
}
