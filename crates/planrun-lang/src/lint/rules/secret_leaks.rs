//! `secret-leaks`: what a contract calls secret goes where everybody can read it.

use std::sync::Arc;

use super::Subject;
use crate::diag::{Diagnostic, codes};
use crate::origin::{Origin, origins};
use crate::sema::expr::Code;
use crate::sema::{BlockId, Node, NodeKind, StepKind, Target};

/// What stands before paths into results.
const RESULT: &str = "result";

pub(super) fn look<'a>(subject: &Subject<'a>, found: &mut Vec<Diagnostic>) {
    if !subject.calls().any(|(_, _, signature)| {
        signature
            .sensitive
            .iter()
            .any(|path| in_result(path).is_some())
    }) {
        return;
    }
    for (block, _, node) in subject.plan.sites() {
        let mut leaks = |code: &'a Code, place: &str, own: Option<&str>| {
            let secrets = origins(&subject.nesting, block, code).into_iter();
            let mut secrets = secrets.filter(|origin| own != Some(&*origin.signature.namespace));
            if let Some((origin, path)) =
                secrets.find_map(|origin| secret(&origin).map(|path| (origin.clone(), path)))
            {
                found.push(finding(code, place, &origin, &path));
            }
        };
        places(node, block, &mut leaks);
    }
}

/// Every expression of a node whose value others get to see: what sees it, and the system that does where it is one.
fn places<'a>(node: &'a Node, block: BlockId, leaks: &mut dyn FnMut(&'a Code, &str, Option<&str>)) {
    match &node.kind {
        NodeKind::Reply(code) if block == BlockId(0) => leaks(code, "the reply", None),
        NodeKind::Ensure { message, .. } => leaks(message, "the message of an error", None),
        NodeKind::Fail(failing) => failing
            .message
            .iter()
            .for_each(|code| leaks(code, "the message of an error", None)),
        NodeKind::Step(step) => {
            match &step.kind {
                StepKind::Call(call) => {
                    let Target::Tool(signature) = &call.target else {
                        return;
                    };
                    let is_prompt = signature.kind.word().is_some();
                    for (name, code) in &call.arguments {
                        if is_prompt {
                            leaks(code, "a prompt", None);
                        } else if !signature
                            .sensitive
                            .iter()
                            .any(|path| first(path) == &**name)
                        {
                            let place = format!("the argument `{name}` of `{}`", signature.path());
                            leaks(code, &place, Some(&signature.namespace));
                        }
                    }
                }
                StepKind::Input(input) => leaks(&input.prompt, "a question to people", None),
                _ => {}
            }
            let confirm = step
                .clauses
                .as_deref()
                .and_then(|clauses| clauses.confirm.as_ref());
            if let Some(confirm) = confirm {
                leaks(&confirm.text, "a question to people", None);
            }
        }
        _ => {}
    }
}

/// The path of the secret that a part of a result is, holds or belongs to.
fn secret(origin: &Origin<'_>) -> Option<String> {
    let covers = |path: &&Arc<str>| {
        let Some(fields) = in_result(path) else {
            return false;
        };
        let fields = fields.split('.').filter(|field| !field.is_empty());
        fields
            .zip(&origin.path)
            .all(|(secret, taken)| *secret == **taken)
    };
    origin
        .signature
        .sensitive
        .iter()
        .find(covers)
        .map(ToString::to_string)
}

/// The fields of a path that leads into the result.
fn in_result(path: &str) -> Option<&str> {
    let rest = path.strip_prefix(RESULT)?;
    rest.is_empty()
        .then_some(rest)
        .or_else(|| rest.strip_prefix('.'))
}

fn first(path: &str) -> &str {
    path.split(['.', '[']).next().unwrap_or(path)
}

fn finding(code: &Code, place: &str, origin: &Origin<'_>, path: &str) -> Diagnostic {
    let message = format!(
        "a secret of `{}` goes into {place}",
        origin.signature.path()
    );
    let read = origin.read_in(code.span);
    let mut finding = Diagnostic::new(&codes::safety::SECRET_LEAKS, read, message)
        .note(format!("its contract says that `{path}` is sensitive"))
        .help("pass on the fields that are needed and no secret; an argument that takes secrets is listed under `sensitive` of its tool");
    for (span, name) in origin.through.iter().filter(|(span, _)| *span != read) {
        finding = finding.label(*span, format!("by way of `{name}`"));
    }
    finding.label(origin.call.span, "the secret comes from here")
}
