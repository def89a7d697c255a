//! Signatures of tools: what a plan is checked against.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value as Json, json};

use super::{Contract, Effect, Observed, Type, to_schema};
use crate::value::Value;

/// How long keys are recognized where a contract does not say.
pub const KEY_TTL: Duration = Duration::from_hours(24);

/// What is known of one tool before any call.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an independent fact of the contract"
)]
pub struct Signature {
    /// The namespace in the catalog, such as `hr`.
    pub namespace: Arc<str>,
    /// The tool's name within it.
    pub name: Arc<str>,
    pub description: Option<Arc<str>>,
    pub parameters: Vec<Parameter>,
    /// Whether arguments beyond the parameters are taken.
    pub extra_arguments: bool,
    /// The result; [`Type::Any`] where the contract says nothing.
    pub returns: Type,
    /// What its results looked like, where the contract says nothing of them.
    pub observed: Option<Arc<Observed>>,
    /// The argument that the tool gives back as it is, so that the result has its type.
    pub gives_back: Option<Arc<str>>,
    pub effect: Effect,
    /// Whether the contract names the effect class; otherwise it is assumed.
    pub effect_declared: bool,
    /// The names N of the errors `tool.N` that it may raise.
    pub raises: Vec<Arc<str>>,
    /// The part of `raises` after which an effect may have happened all the same.
    pub may_have_happened: Vec<Arc<str>>,
    /// What must not be shown: paths into arguments, such as `password`, and into the result, such as `result.token`.
    pub sensitive: Vec<Arc<str>>,
    /// Arguments that say whom or what a call reaches: recipient, amount, path.
    pub target: Vec<Arc<str>>,
    /// Arguments that a shell or a database reads as code.
    pub command: Vec<Arc<str>>,
    /// Whether the tool gives texts that strangers wrote.
    pub open_world: bool,
    /// The dotted name of the tool that takes a call of this one back.
    pub inverse: Option<Arc<str>>,
    /// What its contract says to whoever still calls it, where it should not be called any more.
    pub deprecated: Option<Arc<str>>,
    /// The argument that takes the idempotency key.
    pub key_argument: Option<Arc<str>>,
    /// How long the other side recognizes a repetition by its key, where it goes by that.
    pub key_ttl: Option<Duration>,
    /// A template over the arguments that names the state the call touches, such as `{repo}`.
    pub resource: Option<Arc<str>>,
    /// Whether it gives the time at which it is called, and so keeps its place among effects.
    pub reads_clock: bool,
    /// Who answers a call.
    pub kind: CallKind,
    /// Where its answers say what a call has cost.
    pub usage: Option<Arc<UsagePaths>>,
    /// The JSON Schema of all arguments, for what types cannot carry.
    pub input_schema: Option<Arc<Contract>>,
    /// The JSON Schema of the result.
    pub output_schema: Option<Arc<Contract>>,
}

/// The namespaces that no project can give to tools of its own: those that every plan has, and that of `infer`.
pub const BUILT_IN: [&str; 5] = ["fs", "http", "model", "proc", "sys"];

/// The tool of an agent that takes a message which selects no skill. It is what an agent as a whole is asked by.
pub const ANY_SKILL: &str = "send";

/// Who answers a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallKind {
    #[default]
    Tool,
    /// A skill of an agent, which decides by itself what it does.
    Skill,
    /// An agent as a whole, by `ask`: it chooses among its own tools.
    Agent,
    /// An agent that is asked whether something has happened: it chooses among those of its tools that change nothing.
    ReadOnlyAgent,
    /// A model, by `infer`.
    Model,
}

impl CallKind {
    /// Whether an agent answers, which `allow.agents` decides on.
    #[must_use]
    pub const fn is_agent(self) -> bool {
        match self {
            Self::Skill | Self::Agent | Self::ReadOnlyAgent => true,
            Self::Tool | Self::Model => false,
        }
    }

    /// The word that plans call it by, where that is not the name of a tool.
    #[must_use]
    pub const fn word(self) -> Option<&'static str> {
        match self {
            Self::Tool | Self::Skill => None,
            Self::Agent | Self::ReadOnlyAgent => Some("ask"),
            Self::Model => Some("infer"),
        }
    }
}

/// One parameter of a tool or a plan.
#[derive(Clone, Debug)]
pub struct Parameter {
    pub name: Arc<str>,
    pub ty: Type,
    /// Whether a call must name it. A parameter with a default need not be named.
    pub required: bool,
    pub description: Option<Arc<str>>,
    /// The JSON Schema of this argument, for what types cannot carry.
    pub schema: Option<Arc<Contract>>,
    /// What is sent where a call does not name it; nothing where it is left out then.
    pub default: Option<Value>,
}

/// Paths into a result, such as `usage.total_tokens`, at which a number tells what the call has cost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UsagePaths {
    pub tokens: Option<Arc<str>>,
    pub cost: Option<Arc<str>>,
}

impl Signature {
    /// A tool of which nothing is known but its name: any result, and an effect, since nothing else is safe to assume.
    #[must_use]
    pub fn unknown(namespace: Arc<str>, name: Arc<str>) -> Self {
        Self {
            namespace,
            name,
            description: None,
            parameters: Vec::new(),
            extra_arguments: false,
            returns: Type::Any,
            observed: None,
            gives_back: None,
            effect: Effect::default(),
            effect_declared: false,
            raises: Vec::new(),
            may_have_happened: Vec::new(),
            sensitive: Vec::new(),
            target: Vec::new(),
            command: Vec::new(),
            open_world: false,
            inverse: None,
            deprecated: None,
            key_argument: None,
            key_ttl: None,
            resource: None,
            reads_clock: false,
            kind: CallKind::Tool,
            usage: None,
            input_schema: None,
            output_schema: None,
        }
    }

    /// The dotted name that plans call it by.
    #[must_use]
    pub fn path(&self) -> String {
        format!("{}.{}", self.namespace, self.name)
    }

    /// The beginning of a call of it, as plans write it: `hr.find`, `ask hr`, `infer`.
    #[must_use]
    pub fn written(&self) -> String {
        match self.kind {
            CallKind::Tool | CallKind::Skill => self.path(),
            CallKind::Agent | CallKind::ReadOnlyAgent => format!("ask {}", self.namespace),
            CallKind::Model => "infer".to_owned(),
        }
    }

    /// A hash of what callers rely on: names, types, class, schemas. What only describes the tool is left out.
    #[must_use]
    pub fn digest(&self) -> String {
        let mut hash = blake3::Hasher::new();
        let mut part = |text: &str| {
            hash.update(&(text.len() as u64).to_le_bytes());
            hash.update(text.as_bytes());
        };
        part(&self.path());
        part(self.effect.name());
        part(&self.returns.to_string());
        part(if self.extra_arguments {
            "open"
        } else {
            "closed"
        });
        for parameter in &self.parameters {
            part(&parameter.name);
            part(&parameter.ty.to_string());
            part(if parameter.required {
                "required"
            } else {
                "optional"
            });
        }
        for schema in [&self.input_schema, &self.output_schema] {
            part(
                &schema
                    .as_ref()
                    .map(|contract| contract.schema().to_string())
                    .unwrap_or_default(),
            );
        }
        hash.finalize().to_hex().to_string()
    }

    /// The first sentence of the documentation, within its first line; empty where there is none.
    #[must_use]
    pub fn first_sentence(&self) -> &str {
        let text = self.description.as_deref().unwrap_or_default().trim();
        let line = text.lines().next().unwrap_or_default();
        line.split_inclusive(". ")
            .next()
            .unwrap_or_default()
            .trim_end()
    }

    /// The JSON Schema of all arguments: the contract's own, or one that says what the types of the parameters say.
    #[must_use]
    pub fn arguments_schema(&self) -> Json {
        if let Some(contract) = &self.input_schema {
            return contract.schema().clone();
        }
        let properties = self.parameters.iter();
        let properties: Map<String, Json> = properties
            .map(|parameter| (parameter.name.to_string(), to_schema(&parameter.ty)))
            .collect();
        let required = self
            .parameters
            .iter()
            .filter(|parameter| parameter.required);
        let required: Vec<&str> = required.map(|parameter| &*parameter.name).collect();
        json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": self.extra_arguments,
        })
    }

    /// Whether nobody may know, in the end, if a call has happened: it cannot be sent again, or not for ever.
    #[must_use]
    pub fn can_stay_unknown(&self) -> bool {
        !self.effect.repeatable() || (self.key_ttl.is_some() && !self.effect.is_read_only())
    }

    /// The parameter with this name.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&Parameter> {
        self.parameters
            .iter()
            .find(|parameter| &*parameter.name == name)
    }
}
