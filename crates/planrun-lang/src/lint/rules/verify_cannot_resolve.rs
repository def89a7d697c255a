//! `verify-cannot-resolve`: a `verify` can find out that a step happened, and not what it gave.

use super::Subject;
use crate::diag::{Diagnostic, codes};
use crate::sema::expr::{Code, ReadKind};

pub(super) fn look(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    for site in subject.steps() {
        let Some(verify) = site.step.verify().filter(|verify| !verify.gives) else {
            continue;
        };
        let Some(slot) = site.node.slot else { continue };
        let read = |block, code: &Code| {
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
        let own = |block| site.step.asides().any(|aside| aside == block);
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
            "where the answer of `{name}` is lost, this can say that it happened, and not what it gave"
        );
        let finding = Diagnostic::new(&codes::effects::VERIFY_CANNOT_RESOLVE, verify.span, message)
            .label(reader, format!("`{name}` is read here"))
            .help("add `gives EXPR`: the value of the step, made from what the check has found; without it the run pauses");
        found.push(finding);
    }
}
