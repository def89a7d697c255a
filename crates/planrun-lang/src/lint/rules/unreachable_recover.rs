//! `unreachable-recover`: an arm names an error that its step never fails with; `unknown-error-class` if the name
//! resembles one that it can fail with.

use super::subject::{StepSite, tool_call};
use super::{Subject, misspelt_class};
use crate::diag::{Diagnostic, Edit, codes, nearest};
use crate::lint::raises::{Classes, Raising};
use crate::sema::{Recover, StepKind, Wait};
use crate::source::Span;
use crate::types::{ErrorClass, ErrorPattern, Signature};

pub(super) fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    let mut raising = Raising::new(subject.project.calls);
    for site in subject.steps() {
        if site.step.recover.is_empty() {
            continue;
        }
        let classes = raising.step(subject.plan, site.step);
        for (arm, clause) in site
            .step
            .recover
            .iter()
            .zip(site.step.clause_spans("recover"))
        {
            for pattern in arm
                .patterns
                .iter()
                .filter(|pattern| !classes.may_match(pattern))
            {
                found.push(match (pattern, tool_call(site.step)) {
                    (ErrorPattern::Class(class @ ErrorClass::Tool(_)), Some((_, signature))) => {
                        undeclared(subject, clause, class, signature)
                    }
                    _ => never(subject, site, (arm, clause), pattern, &classes),
                });
            }
        }
    }
}

/// Reports a reason that the contract of the tool does not list.
fn undeclared(
    subject: &Subject<'_>,
    clause: Span,
    class: &ErrorClass,
    signature: &Signature,
) -> Diagnostic {
    let raised = signature
        .raises
        .iter()
        .map(|name| format!("tool.{name}"))
        .collect::<Vec<_>>();
    let raised = raised.iter().map(String::as_str);
    let class = class.to_string();
    let message = format!("`{}` never fails with `{class}`", signature.path());
    let span = subject.word(clause, &class);
    match nearest(&class, raised.clone()) {
        Some(near) => misspelt_class(span, message, near).available(raised),
        None => codes::failure::UNREACHABLE_RECOVER
            .at(span, message)
            .help("use `tool.failed` for reasons that its contract does not list")
            .available(raised),
    }
}

/// Reports a class that cannot occur on this kind of step.
fn never(
    subject: &Subject<'_>,
    site: &StepSite<'_>,
    (arm, clause): (&Recover, Span),
    pattern: &ErrorPattern,
    classes: &Classes,
) -> Diagnostic {
    let name = match pattern {
        ErrorPattern::Class(class) => class.to_string(),
        ErrorPattern::Family(family) => (*family).to_owned(),
    };
    let message = format!("{} never fails with `{name}`", describe(&site.step.kind));
    let no_value = matches!(pattern, ErrorPattern::Family("budget"))
        || matches!(
            pattern,
            ErrorPattern::Class(ErrorClass::Budget(_) | ErrorClass::Cancelled)
        );
    let help = if no_value {
        "an exceeded budget or a cancelled run ends everything, so no arm can catch it".to_owned()
    } else {
        format!("it can fail with {}", classes.names().join(", "))
    };
    let finding = codes::failure::UNREACHABLE_RECOVER
        .at(subject.word(clause, &name), message)
        .note("never taken")
        .help(help)
        .available(classes.names());
    if arm
        .patterns
        .iter()
        .any(|pattern| classes.may_match(pattern))
    {
        return finding;
    }
    finding.fix_all("remove the arm", vec![Edit::removal(clause)])
}

/// Describes a step for messages.
fn describe(kind: &StepKind) -> String {
    match kind {
        StepKind::Call(_) => "this call".to_owned(),
        StepKind::Wait(wait) => match &**wait {
            Wait::For(_) | Wait::Until(_) => "a `wait` for a time".to_owned(),
            Wait::Event { .. } => "a `wait for`".to_owned(),
        },
        StepKind::Do(_)
        | StepKind::Each(_)
        | StepKind::Repeat(_)
        | StepKind::Race(_)
        | StepKind::Match { .. }
        | StepKind::Input(_)
        | StepKind::Damaged => format!("this `{}`", kind.word().unwrap_or("step")),
    }
}
