//! `tool` items that weaken the contract of a tool: a lower effect class, a key that the tool is not known to recognize,
//! a hidden value.

use crate::diag::codes::contracts::WEAKENED_CONTRACT;
use crate::diag::{Diagnostic, Severity};
use crate::sema::{CheckedFile, Tools};
use crate::types::Signature;

/// Finds items that give a tool of the catalog a lower class than its contract does. If a model has written the text, any
/// weakening is an error, because the permissions of a plan and its description for people follow from the contracts.
pub(super) fn find(checked: &CheckedFile, catalog: &Tools, by_model: bool) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (span, declared) in &checked.tools {
        let Some(known) = catalog.find(&declared.namespace, &declared.name) else {
            continue;
        };
        let Some((message, help)) = weakening(declared, known, by_model) else {
            continue;
        };
        let mut finding = WEAKENED_CONTRACT.at(*span, message).help(help);
        if by_model {
            finding.severity = Severity::Error;
        }
        found.push(finding);
    }
    found
}

/// Returns what an item weakens, and the remedy.
fn weakening(
    declared: &Signature,
    known: &Signature,
    by_model: bool,
) -> Option<(String, &'static str)> {
    let path = known.path();
    if declared.effect < known.effect && (by_model || known.effect_declared) {
        let (class, lower) = (known.effect.name(), declared.effect.name());
        let message = if known.effect_declared {
            format!(
                "the contract of `{path}` declares the class `{class}`, and this item lowers it to `{lower}`"
            )
        } else {
            format!("`{path}` may change something, and this item lowers its class to `{lower}`")
        };
        return Some((
            message,
            "leave the class out: it is taken from the contract",
        ));
    }
    if !by_model {
        return None;
    }
    if let Some(key) = &declared.key_argument
        && known.key_argument.as_ref() != Some(key)
    {
        let message =
            format!("the contract of `{path}` does not say that `{key}` is an idempotency key");
        return Some((message, "remove `key` from the item"));
    }
    let mut hidden = declared.sensitive.iter();
    let hidden = hidden.find(|path| !known.sensitive.contains(path))?;
    let message = format!(
        "the contract of `{path}` does not say that `{hidden}` is a secret, so a person must see it"
    );
    Some((message, "use `string` in place of `secret`"))
}
