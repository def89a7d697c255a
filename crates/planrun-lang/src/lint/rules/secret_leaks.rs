//! `secret-leaks`: a value that a contract marks as secret goes where others can read it, or a secret is the key of an
//! element and thus part of the paths of its steps.

use std::sync::Arc;

use super::Subject;
use crate::call::named_values;
use crate::diag::{Diagnostic, codes};
use crate::lint::passed::{Places, PlanCall, Sinks, Visit, with_called};
use crate::origin::{FlowContext, Origin, Reached, Source, Traced, flow};
use crate::secrets::is_secret_name;
use crate::sema::expr::{self, CheckedExpr, MapKey, Op};
use crate::sema::{BlockId, Call, InputField, Nesting, Node, NodeKind, StepKind, Target};
use crate::types::{BUILT_IN, Signature};
use crate::value::{path_in, split_path};

/// The prefix of paths into results.
const RESULT: &str = "result";
/// Where the key of an element goes.
const KEY: &str = "the key of an element";
const QUESTION: &str = "a question to a person";
const REPLY: &str = "the reply";
const KEY_HELP: &str =
    "omit `by` to use the index, or use a part of the element that is not secret";

pub(super) fn check<'a>(subject: &Subject<'a>, found: &mut Vec<Diagnostic>) {
    secret_inputs_as_keys(subject, found);
    if !with_called(subject.plan)
        .iter()
        .any(|plan| plan.tool_calls().any(|signature| gives_secrets(signature)))
    {
        return;
    }
    let (nesting, origins) = (&subject.nesting, &subject.origins);
    for (block, _, node) in subject.plan.sites() {
        let mut leaks = |block: BlockId, value: &'a expr::Node, place: Exposed<'a>| {
            let traced = origins.of_node(nesting, block, value);
            if let Some((origin, path)) = leak(traced, &place) {
                found.push(finding(value, &place, None, &(origin, path)));
            }
        };
        places(node, block, &mut leaks);
    }
    let rule = InCalled;
    let mut sinks = Sinks::new(&rule, origins);
    for call in rule.calls(nesting) {
        let sinks = sinks.of(call.called);
        for (name, code) in &call.call.arguments {
            let own = sinks.iter().filter(|sink| sink.parameter == *name);
            let mut leaks = own.filter_map(|sink| {
                let traced = origins.of_path(nesting, call.block, &code.root, &[], &sink.path);
                Some((&sink.place, leak(traced, &sink.place)?))
            });
            if let Some((place, secret)) = leaks.next() {
                found.push(finding(&code.root, place, Some(call.call), &secret));
            }
        }
    }
}

fn gives_secrets(signature: &Signature) -> bool {
    let mut sensitive = signature.sensitive.iter();
    sensitive.any(|path| path_in(RESULT, path).is_some())
}

/// Returns a secret among the sources of a value that goes to another system than the one it comes from, with its path.
fn leak<'a>(traced: Traced<'a>, place: &Exposed<'_>) -> Option<(Origin<'a>, String)> {
    let own = place.receiver().map(|tool| &tool.namespace);
    let mut secrets = traced
        .origins
        .into_iter()
        .filter(|origin| own != Some(&origin.signature.namespace));
    secrets.find_map(|origin| secret(&origin).map(|path| (origin, path)))
}

/// The places in called plans where others can read a value. The reply of a called plan is not one of them: the caller
/// decides where it goes.
struct InCalled;

impl<'a> Places<'a> for InCalled {
    type Place = Exposed<'a>;

    fn visit(&self, nesting: &Nesting<'a>, visit: &mut Visit<'_, 'a, Exposed<'a>>) {
        for (block, _, node) in nesting.plan().sites() {
            places(node, block, &mut |block, value, place| {
                if !matches!(place, Exposed::Words(REPLY)) {
                    visit(block, node, value, place);
                }
            });
        }
    }

    fn calls(&self, nesting: &Nesting<'a>) -> Vec<PlanCall<'a>> {
        let sites = nesting.plan().sites();
        sites
            .filter_map(|(block, _, node)| PlanCall::of(nesting, block, node))
            .collect()
    }

    fn passes(&self, _: &Nesting<'a>, _: BlockId, _: &'a Node, _: &Reached<'a>) -> bool {
        true
    }
}

/// Where others can read a value.
#[derive(Clone)]
enum Exposed<'a> {
    Words(&'static str),
    /// An argument of a tool.
    Argument(&'a Signature, Arc<str>),
}

impl PartialEq for Exposed<'_> {
    /// Compares what reads the value, which is what matters for secrets of a system.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Words(one), Self::Words(other)) => one == other,
            (Self::Argument(one, _), Self::Argument(other, _)) => one.namespace == other.namespace,
            (Self::Words(_), Self::Argument(..)) | (Self::Argument(..), Self::Words(_)) => false,
        }
    }
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
type Leaks<'v, 'a> = dyn FnMut(BlockId, &'a expr::Node, Exposed<'a>) + 'v;

/// Visits the values of a node that others can read.
fn places<'a>(node: &'a Node, block: BlockId, leaks: &mut Leaks<'_, 'a>) {
    if let Some((body, by)) = key(node) {
        leaks(body, &by.root, Exposed::Words(KEY));
    }
    let leaks = &mut |value, place| leaks(block, value, place);
    let mut words = |code: &'a CheckedExpr, place| leaks(&code.root, Exposed::Words(place));
    match &node.kind {
        NodeKind::Reply(code) if block == BlockId(0) => words(code, REPLY),
        NodeKind::Ensure { message, .. } => words(message, "the message of an error"),
        NodeKind::Fail(failing) => failing
            .message
            .iter()
            .for_each(|code| words(code, "the message of an error")),
        NodeKind::Step(step) => {
            match &step.kind {
                StepKind::Input(input) => {
                    words(&input.prompt, QUESTION);
                    let shown = input.fields.iter().flat_map(shown);
                    shown.for_each(|code| words(code, QUESTION));
                }
                StepKind::Call(call) => arguments(call, leaks),
                _ => {}
            }
            if let Some(confirm) = step.confirm() {
                leaks(&confirm.text.root, Exposed::Words(QUESTION));
            }
        }
        _ => {}
    }
}

/// Returns what a question shows of a field: its initial value and the choices, unless they are redacted.
fn shown(field: &InputField) -> impl Iterator<Item = &CheckedExpr> {
    let is_secret = field.sensitive.iter().any(|path| path.is_empty());
    let shown = field.prefill.iter().chain(&field.options);
    shown.filter(move |_| !is_secret)
}

/// Visits the arguments of a call, except for values that are redacted: arguments that take secrets, and headers and
/// variables whose names are those of credentials.
fn arguments<'a>(call: &'a Call, leaks: &mut dyn FnMut(&'a expr::Node, Exposed<'a>)) {
    let Target::Tool(signature) = &call.target else {
        return;
    };
    for (name, code) in &call.arguments {
        if signature.kind.word().is_some() {
            leaks(&code.root, Exposed::Words("a prompt"));
            continue;
        }
        let mut sensitive = signature.sensitive.iter();
        if sensitive.any(|path| path_in(name, path).is_some()) {
            continue;
        }
        let place = || Exposed::Argument(signature, name.clone());
        match &code.root.op {
            Op::Map(entries) if named_values(signature) == Some(name) => {
                let is_secret = |key: &MapKey| matches!(key, MapKey::Constant(key) if key.as_str().is_some_and(is_secret_name));
                let others = entries.iter().filter(|(key, _)| !is_secret(key));
                others.for_each(|(_, value)| leaks(value, place()));
            }
            _ => leaks(&code.root, place()),
        }
    }
}

/// Returns the `by` of an `each`, with the block in which it is evaluated.
fn key(node: &Node) -> Option<(BlockId, &CheckedExpr)> {
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
            codes::safety::SECRET_LEAKS
                .at(by.span, message)
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

/// Reports a secret that goes to a place, possibly one in the plan that this call calls.
fn finding(
    value: &expr::Node,
    place: &Exposed<'_>,
    called: Option<&Call>,
    (origin, path): &(Origin<'_>, String),
) -> Diagnostic {
    let tool = origin.signature.path();
    let message = match called {
        None => format!("a secret of `{tool}` is exposed in {place}"),
        Some(call) => format!("`{}` exposes a secret of `{tool}` in {place}", call.path()),
    };
    let read = origin.read_in(value.span);
    let mut finding = codes::safety::SECRET_LEAKS
        .at(read, message)
        .note(format!("its contract declares `{path}` as sensitive"))
        .help(place.help());
    for (span, name) in origin.through.iter().filter(|(span, _)| *span != read) {
        finding = finding.label(*span, format!("through `{name}`"));
    }
    finding.label(origin.call.span, "the secret comes from here")
}
