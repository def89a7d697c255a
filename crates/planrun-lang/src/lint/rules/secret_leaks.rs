//! `secret-leaks`: a value that a contract marks as secret goes where others can read it, or a secret is the key of an
//! element and thus part of the paths of its steps.

use std::sync::Arc;

use super::Subject;
use crate::call::named_values;
use crate::diag::{Diagnostic, codes};
use crate::origin::{FlowContext, Origin, Source, flow, of_node};
use crate::secrets::is_secret_name;
use crate::sema::expr::{self, Code, MapKey, Op};
use crate::sema::{BlockId, Call, Node, NodeKind, StepKind, Target};
use crate::types::{BUILT_IN, Signature};
use crate::value::{path_in, split_path};

/// The prefix of paths into results.
const RESULT: &str = "result";
/// Where the key of an element goes.
const KEY: &str = "the key of an element";
const QUESTION: &str = "a question to a person";
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
        let mut leaks = |block: BlockId, value: &'a expr::Node, place: &Exposed<'_>| {
            let own = place.receiver().map(|tool| &tool.namespace);
            let secrets = of_node(&subject.nesting, block, value).into_iter();
            let mut secrets = secrets.filter(|origin| own != Some(&origin.signature.namespace));
            if let Some((origin, path)) =
                secrets.find_map(|origin| secret(&origin).map(|path| (origin.clone(), path)))
            {
                found.push(finding(value, place, &origin, &path));
            }
        };
        places(node, block, &mut leaks);
    }
}

/// Where others can read a value.
enum Exposed<'a> {
    Words(&'static str),
    /// An argument of a tool.
    Argument(&'a Signature, &'a str),
}

impl<'a> Exposed<'a> {
    /// Returns the tool that receives the value.
    fn receiver(&self) -> Option<&'a Signature> {
        match self {
            Self::Words(_) => None,
            Self::Argument(signature, _) => Some(signature),
        }
    }

    fn help(&self) -> String {
        let path = self.receiver().map(Signature::path).unwrap_or_default();
        let takes = match self {
            Self::Words(KEY) => return KEY_HELP.to_owned(),
            Self::Argument(tool, _) if BUILT_IN.contains(&&*tool.namespace) => {
                named_values(tool).map(|argument| {
                    format!("`{path}` takes a secret in `{argument}`, under a name that tells so: `{argument}: {{ \"X-Api-Key\": … }}`")
                })
            }
            Self::Words(_) | Self::Argument(..) => Some(
                "list an argument that takes secrets under `sensitive` of its tool".to_owned(),
            ),
        };
        let takes = takes.map_or(String::new(), |takes| format!("; {takes}"));
        format!("pass on only the fields that are needed{takes}")
    }
}

impl std::fmt::Display for Exposed<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Words(words) => f.write_str(words),
            Self::Argument(signature, name) => {
                write!(f, "the argument `{name}` of `{}`", signature.path())
            }
        }
    }
}

/// Receives a value with its block and where it goes.
type Visit<'v, 'a> = dyn FnMut(BlockId, &'a expr::Node, &Exposed<'_>) + 'v;

/// Visits the values of a node that others can read.
fn places<'a>(node: &'a Node, block: BlockId, leaks: &mut Visit<'_, 'a>) {
    if let Some((body, by)) = key(node) {
        leaks(body, &by.root, &Exposed::Words(KEY));
    }
    let leaks = &mut |value, place: &Exposed<'_>| leaks(block, value, place);
    let mut words = |code: &'a Code, place| leaks(&code.root, &Exposed::Words(place));
    match &node.kind {
        NodeKind::Reply(code) if block == BlockId(0) => words(code, "the reply"),
        NodeKind::Ensure { message, .. } => words(message, "the message of an error"),
        NodeKind::Fail(failing) => failing
            .message
            .iter()
            .for_each(|code| words(code, "the message of an error")),
        NodeKind::Step(step) => {
            match &step.kind {
                StepKind::Input(input) => words(&input.prompt, QUESTION),
                StepKind::Call(call) => arguments(call, leaks),
                _ => {}
            }
            if let Some(confirm) = step.confirm() {
                leaks(&confirm.text.root, &Exposed::Words(QUESTION));
            }
        }
        _ => {}
    }
}

/// Visits the arguments of a call, except for values that are redacted: arguments that take secrets, and headers and
/// variables whose names are those of credentials.
fn arguments<'a>(call: &'a Call, leaks: &mut dyn FnMut(&'a expr::Node, &Exposed<'_>)) {
    let Target::Tool(signature) = &call.target else {
        return;
    };
    for (name, code) in &call.arguments {
        if signature.kind.word().is_some() {
            leaks(&code.root, &Exposed::Words("a prompt"));
            continue;
        }
        let mut sensitive = signature.sensitive.iter();
        if sensitive.any(|path| path_in(name, path).is_some()) {
            continue;
        }
        let place = Exposed::Argument(signature, name);
        match &code.root.op {
            Op::Map(entries) if named_values(signature) == Some(name) => {
                let is_secret = |key: &MapKey| matches!(key, MapKey::Constant(key) if key.as_str().is_some_and(is_secret_name));
                let others = entries.iter().filter(|(key, _)| !is_secret(key));
                others.for_each(|(_, value)| leaks(value, &place));
            }
            _ => leaks(&code.root, &place),
        }
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

fn finding(value: &expr::Node, place: &Exposed<'_>, origin: &Origin<'_>, path: &str) -> Diagnostic {
    let message = format!(
        "a secret of `{}` is exposed in {place}",
        origin.signature.path()
    );
    let read = origin.read_in(value.span);
    let mut finding = Diagnostic::new(&codes::safety::SECRET_LEAKS, read, message)
        .note(format!("its contract declares `{path}` as sensitive"))
        .help(place.help());
    for (span, name) in origin.through.iter().filter(|(span, _)| *span != read) {
        finding = finding.label(*span, format!("through `{name}`"));
    }
    finding.label(origin.call.span, "the secret comes from here")
}
