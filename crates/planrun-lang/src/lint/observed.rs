//! `observed-read`: checks reads of results that no contract describes against observed results.
//!
//! The file is checked again as if the observed types were declared. Additional errors are reported as warnings, since
//! the next result may differ.

use std::sync::Arc;

use crate::diag::{Diagnostic, Edit, Severity, codes};
use crate::sema::{self, CheckedFile, Files, Tools, declaration};
use crate::source::{SourceFile, Span};
use crate::syntax::ast;
use crate::types::{Observed, Signature, Type};

/// A tool whose contract does not describe its results, and its observed results.
type Seen<'a> = (&'a Arc<Signature>, &'a Arc<Observed>);

/// Adds the diagnostics of this check to those of a file. Its notes replace the notes that the type is unknown.
pub(super) fn check(
    source: &SourceFile,
    (tools, files): (&Tools, &dyn Files),
    checked: &mut CheckedFile,
) {
    let plans = checked.plans.clone();
    let steps = plans.iter().flat_map(|plan| plan.steps());
    let calls: Vec<(Seen<'_>, Span)> = steps
        .filter_map(|step| {
            let (call, signature) = (step.call()?, step.tool()?);
            Some(((signature, signature.observed.as_ref()?), call.span))
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
    let message = format!("{}, according to the observed results", found.message);
    let help = format!(
        "declare the results of {}; the observed types are in planrun.lock",
        seen.iter()
            .map(|path| format!("`{path}`"))
            .collect::<Vec<_>>()
            .join(" and ")
    );
    let finding = Diagnostic {
        severity: Severity::Warning,
        ..codes::contracts::OBSERVED_READ.at(found.span, message)
    };
    finding.help(help).available(found.available)
}

fn note((signature, observed): Seen<'_>, span: Span, tree: &ast::File) -> Diagnostic {
    let results = match observed.results {
        1 => "1 result".to_owned(),
        many => format!("{many} results"),
    };
    let message = format!(
        "the type of the result of `{}` is known only from {results}: `{}`",
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
        span: first.span.before(),
        text: format!("{item}\n"),
    });
    let finding = codes::contracts::OBSERVED_READ.at(span, message);
    finding
        .help(format!(
            "declare it, so that each result is checked against it: `{}`",
            item.trim_end()
        ))
        .unsafe_fix("declare the observed type", edits.into_iter().collect())
}
