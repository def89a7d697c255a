//! `secret-leaks`: a value that a contract marks as secret goes where others can read it, or a secret is the key of an
//! element and thus part of the paths of its steps.

use std::sync::Arc;

use super::Subject;
use crate::diag::{Diagnostic, codes};
use crate::origin::{FlowContext, Origin, Source, flow, origins};
use crate::sema::expr::Code;
use crate::sema::{BlockId, Node, NodeKind, StepKind, Target};
use crate::value::{path_in, split_path};

/// The prefix of paths into results.
const RESULT: &str = "result";
/// Where the key of an element goes.
const KEY: &str = "the key of an element";
const KEY_HELP: &str =
    "omit `by` to use the index, or use a part of the element that is not secret";

pub(super) fn check<'a>(subject: &Subject<'a>, found: &mut Vec<Diagnostic>) {
    secret_inputs_as_keys(subject, found);
    if !subject.calls().any(|(_, _, signature)| {
        signature
            .sensitive
            .iter()
            .any(|path| path_in(RESULT, path).is_some())
    }) {
        return;
    }
    for (block, _, node) in subject.plan.sites() {
        let mut leaks = |block: BlockId, code: &'a Code, place: &str, own: Option<&str>| {
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

/// Receives an expression with its block, where its value goes, and the namespace of the tool that receives it.
type Visit<'v, 'a> = dyn FnMut(BlockId, &'a Code, &str, Option<&str>) + 'v;

/// Visits the expressions of a node whose values others can read, with a description of where they go and, for an
/// argument, the namespace of the tool that receives it.
fn places<'a>(node: &'a Node, block: BlockId, leaks: &mut Visit<'_, 'a>) {
    if let Some((body, by)) = key(node) {
        leaks(body, by, KEY, None);
    }
    let leaks = &mut |code, place: &str, own: Option<&str>| leaks(block, code, place, own);
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
                            .any(|path| path_in(name, path).is_some())
                        {
                            let place = format!("the argument `{name}` of `{}`", signature.path());
                            leaks(code, &place, Some(&signature.namespace));
                        }
                    }
                }
                StepKind::Input(input) => leaks(&input.prompt, "a question to a person", None),
                _ => {}
            }
            if let Some(confirm) = step.confirm() {
                leaks(&confirm.text, "a question to a person", None);
            }
        }
        _ => {}
    }
}

/// Returns the `by` of an `each`, with the block in which it is evaluated.
fn key(node: &Node) -> Option<(BlockId, &Code)> {
    match &node.step()?.kind {
        StepKind::Each(each) => Some((each.body, each.by.as_ref()?)),
        _ => None,
    }
}

/// Reports keys of elements that contain the text of an input which is secret as a whole.
fn secret_inputs_as_keys(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    let parameters = &subject.plan.parameters;
    let is_secret = |name: &Arc<str>| {
        let mut named = parameters
            .iter()
            .filter(|parameter| parameter.name == *name);
        named.any(|parameter| parameter.sensitive.iter().any(|path| path.is_empty()))
    };
    if !parameters
        .iter()
        .any(|parameter| is_secret(&parameter.name))
    {
        return;
    }
    let context = FlowContext {
        nesting: subject.nesting.clone(),
        replies: Vec::new(),
    };
    for (body, by) in subject.plan.nodes().filter_map(key) {
        let parts = flow(&context, body, by).parts.into_iter();
        let secret = parts
            .filter(|part| part.text)
            .find_map(|part| match part.source {
                Source::Input(name) if is_secret(&name) => Some(name),
                _ => None,
            });
        found.extend(secret.map(|name| {
            let message = format!("the secret input `{name}` is exposed in {KEY}");
            Diagnostic::new(&codes::safety::SECRET_LEAKS, by.span, message)
                .note("the paths of its steps contain the key, and paths are displayed everywhere")
                .help(KEY_HELP)
        }));
    }
}

/// Returns the path of the secret that a part of a result is, contains or belongs to.
fn secret(origin: &Origin<'_>) -> Option<String> {
    let covers = |path: &&Arc<str>| {
        let Some(mut secret) = path_in(RESULT, path) else {
            return false;
        };
        origin.path.iter().all(|taken| {
            let (first, rest) = split_path(secret);
            let agrees = secret.is_empty() || first == **taken;
            secret = rest;
            agrees
        })
    };
    origin
        .signature
        .sensitive
        .iter()
        .find(covers)
        .map(ToString::to_string)
}

fn finding(code: &Code, place: &str, origin: &Origin<'_>, path: &str) -> Diagnostic {
    let message = format!(
        "a secret of `{}` is exposed in {place}",
        origin.signature.path()
    );
    let read = origin.read_in(code.span);
    let help = if place == KEY {
        KEY_HELP
    } else {
        "pass on only the fields that are needed; list an argument that takes secrets under `sensitive` of its tool"
    };
    let mut finding = Diagnostic::new(&codes::safety::SECRET_LEAKS, read, message)
        .note(format!("its contract declares `{path}` as sensitive"))
        .help(help);
    for (span, name) in origin.through.iter().filter(|(span, _)| *span != read) {
        finding = finding.label(*span, format!("through `{name}`"));
    }
    finding.label(origin.call.span, "the secret comes from here")
}
