//! Signatures of tools, against which plans are checked.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value as Json, json};

use super::{Contract, Effect, Observed, Type, encode, to_schema};
use crate::value::Value;

/// How long idempotency keys are recognized if a contract does not state it.
pub const KEY_TTL: Duration = Duration::from_hours(24);

/// The description of a tool that is known before any call.
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
    /// Whether arguments beyond the parameters are accepted.
    pub extra_arguments: bool,
    /// The type of the result; [`Type::Any`] if the contract does not describe it.
    pub returns: Type,
    /// The observed type of its results, if the contract does not describe them.
    pub observed: Option<Arc<Observed>>,
    /// The argument that the tool returns unchanged, so that the result has its type.
    pub returned_argument: Option<Arc<str>>,
    pub effect: Effect,
    /// Whether the contract states the effect class; otherwise it is assumed.
    pub effect_declared: bool,
    /// Names N of the errors `tool.N` that the tool may raise.
    pub raises: Vec<Arc<str>>,
    /// The subset of `raises` after which an effect may have happened nevertheless.
    pub may_have_happened: Vec<Arc<str>>,
    /// Paths to redact, in arguments, such as `password`, and in the result, such as `result.token`.
    pub sensitive: Vec<Arc<str>>,
    /// Arguments that name the target of a call: recipient, amount, path.
    pub target: Vec<Arc<str>>,
    /// Arguments that are interpreted as code by a shell or a database.
    pub command: Vec<Arc<str>>,
    /// Whether the tool returns text that was written by strangers.
    pub open_world: bool,
    /// The dotted name of the tool that undoes a call of this one.
    pub inverse: Option<Arc<str>>,
    /// The deprecation message from the contract; `None` if the tool is not deprecated.
    pub deprecated: Option<Arc<str>>,
    /// The argument that receives the idempotency key.
    pub key_argument: Option<Arc<str>>,
    /// How long the server recognizes a repeated call by its key; `None` if it does not use keys.
    pub key_ttl: Option<Duration>,
    /// A template over the arguments that names the state that the call touches, such as `{repo}`.
    pub resource: Option<Arc<str>>,
    /// Whether the tool returns the current time, so that its calls keep their order among effects.
    pub reads_clock: bool,
    /// The kind of callee that answers a call.
    pub kind: CallKind,
    /// Paths in the result at which the cost of a call is reported.
    pub usage: Option<Arc<UsagePaths>>,
    /// The JSON Schema of all arguments, for constraints that types cannot express.
    pub input_schema: Option<Arc<Contract>>,
    /// The JSON Schema of the result.
    pub output_schema: Option<Arc<Contract>>,
    /// The same with the secrets that the contract says are never sent, which are redacted if they are.
    pub received_schema: Option<Arc<Json>>,
}

/// Namespaces that a project cannot use for its own tools: those available in every plan, and that of `infer`.
pub const BUILT_IN: [&str; 5] = ["fs", "http", "model", "proc", "sys"];

/// The tool of an agent that takes a message without selecting a skill. Asking the agent as a whole calls this tool.
pub const ANY_SKILL: &str = "send";

/// The kind of callee that answers a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallKind {
    #[default]
    Tool,
    /// A skill of an agent, which decides by itself how to perform it.
    Skill,
    /// An agent as a whole, called with `ask`; it chooses among its own tools.
    Agent,
    /// An agent that is asked whether an effect has happened; it chooses only among its read-only tools.
    ReadOnlyAgent,
    /// A model, called with `infer`.
    Model,
}

impl CallKind {
    /// Returns true if an agent answers; `allow.agents` governs such calls.
    #[must_use]
    pub const fn is_agent(self) -> bool {
        match self {
            Self::Skill | Self::Agent | Self::ReadOnlyAgent => true,
            Self::Tool | Self::Model => false,
        }
    }

    /// Returns the keyword that calls it in plans; `None` if it is called by the name of a tool.
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
    /// Whether a call must pass it. A parameter with a default is not required.
    pub required: bool,
    pub description: Option<Arc<str>>,
    /// The JSON Schema of this argument, for constraints that types cannot express.
    pub schema: Option<Arc<Contract>>,
    /// The value sent if a call does not pass the argument; `None` if nothing is sent.
    pub default: Option<Value>,
}

impl Parameter {
    /// Returns the JSON Schema of its type, with its default.
    fn own_schema(&self) -> Json {
        let mut schema = to_schema(&self.ty);
        if let (Some(default), Some(schema)) = (&self.default, schema.as_object_mut()) {
            schema.insert("default".to_owned(), encode(default, &self.ty));
        }
        schema
    }
}

/// Paths in a result, such as `usage.total_tokens`, at which the cost of the call is reported as a number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UsagePaths {
    pub tokens: Option<Arc<str>>,
    pub cost: Option<Arc<str>>,
}

impl Signature {
    /// Creates the signature of a tool of which only the name is known: it may return anything, and its class is
    /// `effect`, the only safe assumption.
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
            returned_argument: None,
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
            received_schema: None,
        }
    }

    /// Returns the dotted name by which plans call the tool.
    #[must_use]
    pub fn path(&self) -> String {
        format!("{}.{}", self.namespace, self.name)
    }

    /// Returns the start of a call in plan syntax: `hr.find`, `ask hr`, `infer`.
    #[must_use]
    pub fn written(&self) -> String {
        match self.kind {
            CallKind::Tool | CallKind::Skill => self.path(),
            CallKind::Agent | CallKind::ReadOnlyAgent => format!("ask {}", self.namespace),
            CallKind::Model => "infer".to_owned(),
        }
    }

    /// Returns a hash of what callers depend on: names, types, effect class, schemas. The tool's description is not
    /// included.
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

    /// Returns the first sentence of the description, limited to its first line; empty if there is no description.
    #[must_use]
    pub fn first_sentence(&self) -> &str {
        let text = self.description.as_deref().unwrap_or_default().trim();
        let line = text.lines().next().unwrap_or_default();
        line.split_inclusive(". ")
            .next()
            .unwrap_or_default()
            .trim_end()
    }

    /// Returns the JSON Schema of all arguments: that of the contract, or one derived from the types of the parameters.
    #[must_use]
    pub fn arguments_schema(&self) -> Json {
        if let Some(contract) = &self.input_schema {
            return contract.schema().clone();
        }
        let properties = self.parameters.iter();
        let properties: Map<String, Json> = properties
            .map(|parameter| (parameter.name.to_string(), parameter.own_schema()))
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

    /// Returns true if the outcome of a call can stay unknown, because it cannot be sent again at all or only for a
    /// limited time.
    #[must_use]
    pub fn can_stay_unknown(&self) -> bool {
        !self.effect.repeatable() || (self.key_ttl.is_some() && !self.effect.is_read_only())
    }

    /// Returns the parameter with this name.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&Parameter> {
        self.parameters
            .iter()
            .find(|parameter| &*parameter.name == name)
    }
}
