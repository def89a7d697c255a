//! `unchecked-index`: an element of a list, an entry of a map, or a field under a computed name is read without a test
//! whether it is there.

use foldhash::HashSet;

use super::Subject;
use crate::diag::{Diagnostic, codes};
use crate::sema::expr::{CheckedExpr, Link, Node, Unchecked};
use crate::source::Span;

pub(super) fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    let mut reported = HashSet::default();
    for node in subject.plan.nodes() {
        let mut check = |code: &CheckedExpr| {
            if subject.known(code).is_none() {
                code.root.paths(&mut |base, links| {
                    found.extend(of_path(subject, base, links, &mut reported));
                });
            }
        };
        node.codes(&mut check);
        node.inner_codes(&mut check);
    }
}

/// Reports the first unchecked link of a path, unless the same text has been reported.
fn of_path<'a>(
    subject: &Subject<'a>,
    base: &Node,
    links: &[Link],
    reported: &mut HashSet<&'a str>,
) -> Option<Diagnostic> {
    let mut before = base.span;
    for link in links {
        let whole = base.span.to(link.span);
        if let Some(unchecked) = link.unchecked
            && reported.insert(subject.source.slice(whole))
        {
            return Some(report(subject, unchecked, before, whole));
        }
        before = whole;
    }
    None
}

fn report(subject: &Subject<'_>, unchecked: Unchecked, before: Span, whole: Span) -> Diagnostic {
    let (before, read) = (subject.source.slice(before), subject.source.slice(whole));
    let (message, test) = match unchecked {
        Unchecked::Element => (
            "this fails if the list has no such element",
            format!("`size({before}) > …`"),
        ),
        Unchecked::Entry => (
            "this fails if the map has no such entry",
            format!("`has({read})`"),
        ),
        Unchecked::Field => (
            "this fails if the object has no such field",
            format!("`has({read})`"),
        ),
    };
    codes::types::UNCHECKED_INDEX
        .at(whole, message)
        .help(format!(
            "test it first, as in {test}, or give a default: `{read} ?? …`"
        ))
}
