//! `observed-read`: what plans read of results that no contract describes, held against what such results looked like.
//!
//! The file is checked once more as if what was seen were declared. What that finds is a warning: the next result may be
//! another one.

use std::sync::Arc;

use crate::diag::{Diagnostic, Edit, Severity, codes};
use crate::sema::{self, Call, CheckedFile, Files, StepKind, Target, Tools, declaration};
use crate::source::{SourceFile, Span};
use crate::syntax::ast;
use crate::types::{Observed, Signature, Type};

/// A tool whose contract says nothing of its results, and what they looked like.
type Seen<'a> = (&'a Arc<Signature>, &'a Arc<Observed>);

/// Adds what is found to the findings of a file. A note takes the place of the one that says that nothing is known.
pub(super) fn look(
    source: &SourceFile,
    (tools, files): (&Tools, &dyn Files),
    checked: &mut CheckedFile,
) {
    let plans = checked.plans.clone();
    let steps = plans.iter().flat_map(|plan| plan.steps());
    let calls: Vec<(Seen<'_>, Span)> = steps
        .filter_map(|step| match &step.kind {
            StepKind::Call(Call {
                target: Target::Tool(signature),
                span,
                ..
            }) => Some(((signature, signature.observed.as_ref()?), *span)),
            _ => None,
        })
        .filter(|((signature, _), _)| signature.returns == Type::Any)
        .collect();
    if calls.is_empty() {
        return;
    }
    let mut declared = tools.clone();
    for ((signature, observed), _) in &calls {
        declared.insert(Arc::new(as_declared(signature, observed)));
    }
    let again = sema::check_without_rules(source, &declared, files);
    let is_new = |found: &Diagnostic| {
        let same = |known: &Diagnostic| (known.code, known.span) == (found.code, found.span);
        found.is_error() && !checked.diagnostics.iter().any(same)
    };
    let seen = calls.iter().map(|((signature, _), _)| signature.path());
    let mut seen: Vec<String> = seen.collect();
    seen.sort();
    seen.dedup();
    let warnings: Vec<Diagnostic> = again
        .diagnostics
        .into_iter()
        .filter(is_new)
        .map(|found| warning(found, &seen))
        .collect();
    for found in &mut checked.diagnostics {
        let call = calls.iter().find(|(_, span)| *span == found.span);
        if let Some((seen, _)) = call.filter(|_| found.code == &codes::types::UNKNOWN_READ) {
            *found = note(*seen, found.span, &checked.tree);
        }
    }
    checked.diagnostics.extend(warnings);
}

fn as_declared(signature: &Signature, observed: &Observed) -> Signature {
    Signature {
        returns: observed.returns.clone(),
        ..signature.clone()
    }
}

fn warning(found: Diagnostic, seen: &[String]) -> Diagnostic {
    let message = format!("{}, as far as results were seen", found.message);
    let help = format!(
        "nothing declares what {} {}; what was seen of it is in planrun.lock",
        seen.iter()
            .map(|path| format!("`{path}`"))
            .collect::<Vec<_>>()
            .join(" and "),
        if seen.len() == 1 { "gives" } else { "give" },
    );
    let finding = Diagnostic {
        severity: Severity::Warning,
        ..Diagnostic::new(&codes::contracts::OBSERVED_READ, found.span, message)
    };
    finding.help(help).available(found.available)
}

fn note((signature, observed): Seen<'_>, span: Span, tree: &ast::File) -> Diagnostic {
    let results = match observed.results {
        1 => "1 result".to_owned(),
        many => format!("{many} results"),
    };
    let message = format!(
        "what `{}` gives is known from {results} only: `{}`",
        signature.path(),
        observed.returns
    );
    let item = declaration(&Signature {
        description: None,
        ..as_declared(signature, observed)
    });
    let mut items = tree.items.iter();
    let place = items.find(|item| !matches!(item.kind, ast::ItemKind::Use(_)));
    let edits = place.map(|first| Edit {
        span: Span::at(first.span.start as usize),
        text: format!("{item}\n"),
    });
    let finding = Diagnostic::new(&codes::contracts::OBSERVED_READ, span, message);
    finding
        .help(format!(
            "declare it, so that each result is held against it: `{}`",
            item.trim_end()
        ))
        .unsafe_fix("declare what was seen", edits.into_iter().collect())
}
