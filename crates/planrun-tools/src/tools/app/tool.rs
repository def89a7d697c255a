//! Reads one tool of an app file: its contract, endpoint and errors.

use std::sync::Arc;
use std::time::Duration;

use planrun_lang::diag::{Severity, closest};
use planrun_lang::source::Span;
use planrun_lang::types::{
    CallKind, Contract, Effect, ErrorClass, KEY_TTL, Parameter, Signature, Type, UsagePaths,
    Validator, from_schema, method_effect,
};
use planrun_lang::value::{parse_duration, saturating_duration};
use serde_json::Value as Json;

use super::script::Script;
use super::section::{Mistakes, Section};
use super::variables::{Variable, unset_in};
use super::{AppTool, Reason, rest, safety};
use crate::contract::Arguments;
use planrun_lang::yaml::Node;

/// The keys of a tool in addition to [`CONTRACT_KEYS`].
const OWN_KEYS: [&str; 5] = ["endpoint", "request", "response", "usage", "mock"];

/// The properties that the tools of one file share.
pub(crate) struct Shared<'a> {
    pub namespace: &'a Arc<str>,
}

/// Reads one tool. Returns `None` if it has no name; other mistakes are reported, and the remaining keys are used.
pub(super) fn read(
    node: &Node,
    shared: &Shared,
    filled: &[Variable],
    found: &Mistakes,
) -> Option<AppTool> {
    let mut section = Section::new(format!("a tool of {}", shared.namespace), node, found)?;
    let name: Arc<str> = section.required("name")?.into();
    section.rename(format!("the tool {}.{name}", shared.namespace));
    let keys = [&CONTRACT_KEYS[..], &OWN_KEYS].concat();
    section.expect_keys(&keys);
    let unset = section
        .get("endpoint")
        .and_then(|node| unset_in(node, filled));
    let endpoint = endpoint(&section, unset.is_some());
    let arguments = arguments(&section);
    let rest = rest::read(&section, &arguments).map(Arc::new);
    let method = rest.as_ref().map(|rest| rest.method.as_str());
    let parts = (arguments, "reason", method);
    let (signature, errors) = contract(&section, (shared, name), parts);
    let mock = section.get("mock").map(Node::to_json);
    check_mock(&section, mock.as_ref(), &signature);
    Some(AppTool {
        signature: Arc::new(signature),
        endpoint,
        unset,
        rest,
        errors,
        mock,
    })
}

/// Warns about a `mock` section that no mock can answer from. Runs without `--mock` do not read it.
fn check_mock(section: &Section, mock: Option<&Json>, signature: &Signature) {
    let span = section.get("mock").map_or(section.span(), |node| node.span);
    let problems = section.found.of_part();
    match Script::read(mock) {
        Ok(script) => {
            let known = Known {
                parameters: &signature.parameters,
                extra: signature.extra_arguments,
            };
            for name in script.conditions() {
                known.expect(name, "when", span, &problems);
            }
        }
        Err(problem) => {
            let path = signature.path();
            problems.add(span, format!("`mock` of the tool {path}: {problem}"));
        }
    }
    section.found.add_warnings(problems);
}

/// The keys of a tool that define its contract, for any kind of transport.
pub(crate) const CONTRACT_KEYS: [&str; 14] = [
    "name",
    "description",
    "parameters",
    "returns",
    "effect",
    "errors",
    "key",
    "resource",
    "sensitive",
    "target",
    "command",
    "open_world",
    "inverse",
    "deprecated",
];

/// Reads the contract of a tool with this name and these arguments, and the meanings of its failures, which are
/// identified by the key `code`. If no effect class is declared, it is `idempotent` for a tool with idempotency keys
/// and otherwise follows from the method of the request.
pub(crate) fn contract(
    section: &Section,
    (shared, name): (&Shared, Arc<str>),
    (arguments, code, method): (Arguments, &str, Option<&str>),
) -> (Signature, Vec<Reason>) {
    let output_schema = schema(section, "returns");
    let errors = errors(section, code);
    let (key_ttl, key_argument) = key(section, &arguments).unzip();
    let key_argument = key_argument.flatten();
    let effect = effect(section, key_ttl.is_some()).or(method.map(method_effect));
    let mut parameters = arguments.parameters;
    for parameter in &mut parameters {
        // The engine passes the key, so the plan does not have to.
        parameter.required &= key_argument.as_deref() != Some(&*parameter.name);
    }
    let known = Known {
        parameters: &parameters,
        extra: arguments.extra,
    };
    let contract = Signature {
        namespace: shared.namespace.clone(),
        description: section.text("description").map(Into::into),
        observed: None,
        returned_argument: None,
        returns: output_schema.as_ref().map_or(Type::Any, from_schema),
        effect: effect.unwrap_or_default(),
        effect_declared: effect.is_some(),
        raises: raises(&errors),
        may_have_happened: may_have_happened(&errors),
        sensitive: safety::sensitive(section, arguments.schema.as_ref(), output_schema.as_ref()),
        target: known.named(section, "target"),
        command: known.named(section, "command"),
        open_world: section.flag("open_world"),
        inverse: safety::inverse(section, shared.namespace),
        deprecated: safety::deprecated(section),
        key_argument,
        key_ttl,
        resource: resource(section, &known),
        reads_clock: false,
        kind: CallKind::Tool,
        usage: usage(section),
        input_schema: arguments
            .schema
            .map(|schema| Arc::new(Contract::of_arguments(schema))),
        output_schema: output_schema.map(|schema| Arc::new(Contract::of_result(schema))),
        received_schema: None,
        extra_arguments: arguments.extra,
        name,
        parameters: parameters.clone(),
    };
    (contract, errors)
}

/// Reads `usage: { tokens: PATH, cost: PATH }`.
fn usage(section: &Section) -> Option<Arc<UsagePaths>> {
    let node = section.get("usage")?;
    let inner = Section::new("`usage`", node, section.found)?;
    inner.prefer_keys(&["tokens", "cost"]);
    let path = |name: &str| inner.text(name).map(Into::into);
    Some(Arc::new(UsagePaths {
        tokens: path("tokens"),
        cost: path("cost"),
    }))
}

/// Reads the address that calls are sent to. Plans are checked against a tool without a valid address too; its calls
/// fail. With a variable that is not set it is incomplete, which is reported already.
fn endpoint(section: &Section, incomplete: bool) -> Arc<str> {
    let Some(text) = section.required("endpoint") else {
        return "".into();
    };
    let problem = match reqwest::Url::parse(&text) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => None,
        Ok(url) => Some(format!("it begins with `{}:`", url.scheme())),
        Err(problem) => Some(problem.to_string()),
    };
    let problem = problem.filter(|_| !incomplete);
    if let (Some(problem), Some(node)) = (problem, section.get("endpoint")) {
        // The text itself is left out, because variables may have put credentials into it.
        let message = format!("the endpoint is not an HTTP or HTTPS URL: {problem}");
        let help = "write the full URL, such as `http://127.0.0.1:8009/tool`";
        section.found.explain(node.span, message, help);
    }
    text.into()
}

pub(crate) fn arguments(section: &Section) -> Arguments {
    match schema(section, "parameters") {
        Some(schema) => Arguments::of(schema),
        None => Arguments {
            extra: section.get("parameters").is_some(),
            ..Arguments::default()
        },
    }
}

/// Returns the JSON Schema under a key, if it is valid.
fn schema(section: &Section, name: &str) -> Option<Json> {
    let node = section.get(name)?;
    let schema = node.to_json();
    if !schema.is_object() && !schema.is_boolean() {
        section.report(
            node.span,
            format!("`{name}` must be a JSON Schema, but is {}", node.kind()),
        );
        return None;
    }
    match Validator::new(&schema) {
        Ok(_) => Some(schema),
        Err(problem) => {
            let span = node
                .entries()
                .and_then(<[_]>::first)
                .map_or(node.span, |first| first.span);
            section.report(
                span,
                format!("`{name}` is not a valid JSON Schema: {problem}"),
            );
            None
        }
    }
}

fn errors(section: &Section, code: &str) -> Vec<Reason> {
    let mut errors = Vec::new();
    for node in section.list("errors") {
        // A single word is both the reason and the name of the error.
        if let Some(reason) = node.text().filter(|_| code == "reason") {
            let class = ErrorClass::Tool(reason.into());
            errors.push(Reason {
                reason: reason.into(),
                class,
                may_have_happened: false,
            });
            continue;
        }
        let Some(entry) = Section::new("an entry of `errors`", node, section.found) else {
            continue;
        };
        entry.prefer_keys(&[code, "class", "happened"]);
        let Some(reason) = entry.required(code) else {
            continue;
        };
        let class = match entry.get("class") {
            Some(_) => class(&entry).unwrap_or_else(|| ErrorClass::Tool("failed".into())),
            None if code == "reason" => ErrorClass::Tool(reason.as_str().into()),
            None => {
                entry.required("class");
                continue;
            }
        };
        let words = |word: &str| match word {
            "no" => Some(false),
            "maybe" => Some(true),
            _ => None,
        };
        let may_have_happened = entry
            .word("happened", &["no", "maybe"], words)
            .unwrap_or(false);
        errors.push(Reason {
            reason: reason.into(),
            class,
            may_have_happened,
        });
    }
    errors
}

fn class(entry: &Section) -> Option<ErrorClass> {
    let single: Vec<&str> = ErrorClass::names()
        .filter(|name| name.contains('.') || ErrorClass::find(name).is_some())
        .collect();
    entry.word("class", &single, ErrorClass::find)
}

/// Returns the names of the errors that the tool raises. Every app tool may fail without a declared reason.
fn raises(errors: &[Reason]) -> Vec<Arc<str>> {
    let mut names: Vec<Arc<str>> = vec!["failed".into()];
    for error in errors {
        if let ErrorClass::Tool(name) = &error.class
            && !names.contains(name)
        {
            names.push(name.clone());
        }
    }
    names
}

/// Returns the names of errors after which it is always unknown whether the effect happened.
fn may_have_happened(errors: &[Reason]) -> Vec<Arc<str>> {
    let names = raises(errors).into_iter().filter(|name| {
        let mut own = errors
            .iter()
            .filter(|error| error.class == ErrorClass::Tool(name.clone()))
            .peekable();
        own.peek().is_some() && own.all(|error| error.may_have_happened)
    });
    names.collect()
}

/// Reads the effect class. With idempotency keys, `effect` becomes `idempotent`, because repeated calls have no further
/// effect.
fn effect(section: &Section, has_key: bool) -> Option<Effect> {
    let written = section.word("effect", &Effect::ALL.map(Effect::name), Effect::find);
    if written != Some(Effect::Effect) || !has_key {
        return written.or(has_key.then_some(Effect::Idempotent));
    }
    if let Some(node) = section.get("effect") {
        let message = "`effect: effect` means that every call counts, but `key` means that repetitions do not; the \
                       tool is treated as `idempotent`";
        let help = "remove `effect`, or remove `key` if the system does not recognize keys";
        section.found.warn(node.span, message, help);
    }
    Some(Effect::Idempotent)
}

/// Reads how long the system recognizes a key, and the argument that carries it.
fn key(section: &Section, arguments: &Arguments) -> Option<(Duration, Option<Arc<str>>)> {
    let entry = Section::new("`key`", section.get("key")?, section.found)?;
    if let Some(per) = entry.get("per") {
        let message = "`per` of `key` is no longer supported: all attempts of one execution carry the same key";
        let mut finding = section.found.at(per.span, message).help("remove it");
        if per.text() == Some("execution") {
            finding.severity = Severity::Warning;
        }
        section.found.push(finding);
    }
    entry.prefer_keys(&["argument", "ttl", "per"]);
    let known = Known {
        parameters: &arguments.parameters,
        extra: arguments.extra,
    };
    let argument = known.named(&entry, "argument").into_iter().next();
    let ttl = entry.get("ttl").map_or(KEY_TTL, |node| {
        let length = node.text().and_then(parse_duration);
        if let Some(length) = length.filter(|length| *length > 0) {
            return saturating_duration(length);
        }
        entry.report(node.span, "`ttl` of `key` must be a duration such as 24h");
        KEY_TTL
    });
    Some((ttl, argument))
}

/// Reads the template that names the state which a call accesses. The names in it must be arguments.
fn resource(section: &Section, known: &Known) -> Option<Arc<str>> {
    let template = section.text("resource")?;
    let span = section.get("resource")?.span;
    for part in template.split('{').skip(1) {
        if let Some((name, _)) = part.split_once('}') {
            known.expect(name, "resource", span, section.found);
        } else {
            section.report(
                span,
                format!("`resource` has `{{` without `}}`: `{template}`"),
            );
        }
    }
    Some(template.into())
}

/// The arguments that other keys may name.
struct Known<'a> {
    parameters: &'a [Parameter],
    extra: bool,
}

impl Known<'_> {
    /// Returns the arguments that the texts under a key name.
    fn named(&self, section: &Section, key: &str) -> Vec<Arc<str>> {
        let mut names = Vec::new();
        for (name, span) in section.texts(key) {
            self.expect(&name, key, span, section.found);
            names.push(name.into());
        }
        names
    }

    /// Reports a name that is not an argument. A path such as `order.id` starts with one.
    fn expect(&self, name: &str, key: &str, span: Span, found: &Mistakes) {
        let first = name.split(['.', '[']).next().unwrap_or(name);
        let names = || self.parameters.iter().map(|parameter| &*parameter.name);
        if self.extra || names().any(|known| known == first) {
            return;
        }
        let message = format!("`{key}` names `{first}`, which is not a parameter");
        let finding = found.at(span, message).available(names());
        found.push(match closest(first, names()) {
            Some(near) => finding.help(format!("did you mean `{near}`?")),
            None => finding.help("name a parameter, or list it under `parameters`"),
        });
    }
}
