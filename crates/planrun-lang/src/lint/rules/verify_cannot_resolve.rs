//! `verify-cannot-resolve`: a `verify` can determine that a step happened, but not its result, which is read.

use super::Subject;
use crate::diag::{Diagnostic, codes};
use crate::sema::expr::{CheckedExpr, ReadKind};

pub(super) fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    for site in subject.steps() {
        let Some(verify) = site.step.verify().filter(|verify| !verify.gives) else {
            continue;
        };
        let Some(slot) = site.node.slot else { continue };
        let read = |block, code: &CheckedExpr| {
            let of_value = code
                .reads
                .iter()
                .filter(|read| read.kind == ReadKind::Value && read.place.slot == slot);
            of_value
                .into_iter()
                .find(|read| subject.frame(block, read.place) == Some(site.block))
                .map(|read| read.span)
        };
        let mut reader = None;
        let own = |block| {
            site.step
                .auxiliary_blocks()
                .any(|auxiliary| auxiliary == block)
        };
        let others = subject
            .plan
            .sites()
            .filter(|(block, _, node)| !std::ptr::eq(*node, site.node) && !own(*block));
        for (block, _, node) in others {
            node.codes(&mut |code| reader = reader.or_else(|| read(block, code)));
        }
        let Some(reader) = reader else { continue };
        let name = site.node.name.as_deref().unwrap_or("the step");
        let message = format!(
            "if the answer of `{name}` is lost, this can verify that it happened, but not recover its result"
        );
        let finding = codes::effects::VERIFY_CANNOT_RESOLVE.at(verify.span, message)
            .label(reader, format!("`{name}` is read here"))
            .help("add `gives EXPR`, which computes the value of the step from the result of the check; without it, the run waits for an answer or fails with `unknown_outcome`");
        found.push(finding);
    }
}
