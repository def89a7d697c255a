//! Questions of a run to people: their forms, their deadlines, and the validation of answers.

use std::sync::Arc;

use planrun_lang::secrets::{MARK, redact_paths};
use planrun_lang::types::{Contract, Effect, Type, decode, encode, from_schema, to_schema};
use planrun_lang::value::{Key, Map, Value};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value as Json, json};

use super::grant::{APPROVE, GrantScope, SCOPE};
use super::wire;
use super::words::Waiting;

/// A question as recorded and displayed: a gate, the approval of a run, a form, whether a call took effect, or a
/// question of a peer.
#[derive(Clone, Debug, Deserialize)]
pub struct Question {
    /// [`Waiting::Confirm`], [`Waiting::Approval`], [`Waiting::Input`], [`Waiting::Answer`] or [`Waiting::Peer`].
    #[serde(rename = "for")]
    pub kind: Waiting,
    #[serde(default)]
    pub text: Arc<str>,
    /// Why the question is asked, if it is not part of the normal flow.
    pub why: Option<Arc<str>>,
    /// The role that has to answer.
    pub by: Option<Arc<str>>,
    /// Wall-clock time at which the question was asked, in nanoseconds since the Unix epoch.
    #[serde(skip)]
    pub asked_at: i128,
    /// Wall-clock time at which the question expires, in nanoseconds since the Unix epoch.
    #[serde(default, with = "wire::moment")]
    pub expires: Option<i128>,
    /// Execution of the call that the gate guards, whose answer was lost, or whose peer asks.
    #[serde(default, deserialize_with = "wire::whole")]
    pub execution: u32,
    /// Tool or plan whose call the gate guards, or tool that was called; empty for other steps.
    #[serde(default)]
    pub tool: Arc<str>,
    /// Effect of the step; `None` for forms and for the approval of a run.
    pub effect: Option<Effect>,
    /// Arguments that the gate approves, or that were sent; for a form, the values that are known and the prefilled
    /// ones.
    #[serde(skip, default = "wire::null")]
    pub arguments: Value,
    /// Paths of sensitive values in `arguments`.
    #[serde(skip)]
    pub sensitive: Vec<Arc<str>>,
    /// Hash of everything that an approval applies to; empty for forms.
    #[serde(default)]
    pub binding: Arc<str>,
    /// Fields of the form; a single field for the value of a call whose answer was lost.
    #[serde(default)]
    pub form: Vec<FormField>,
}

/// Written by hand, because the serialized fields depend on the kind.
impl Serialize for Question {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let form = (self.kind != Waiting::Confirm).then_some(&self.form);
        let call = (self.kind != Waiting::Input).then_some(self);
        let filled = |text: fn(&Self) -> &str| call.map(text).filter(|text| !text.is_empty());
        Asked {
            kind: self.kind,
            text: &self.text,
            why: self.why.as_deref(),
            by: self.by.as_deref(),
            expires: self.expires,
            execution: call.map(|call| call.execution),
            binding: filled(|call| &call.binding),
            tool: filled(|call| &call.tool),
            effect: call.and_then(|call| call.effect),
            form,
            arguments: &self.arguments,
        }
        .serialize(serializer)
    }
}

/// The serialized fields of a question.
#[derive(Serialize)]
struct Asked<'q> {
    #[serde(rename = "for")]
    kind: Waiting,
    text: &'q str,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'q str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'q str>,
    #[serde(with = "wire::moment", skip_serializing_if = "Option::is_none")]
    expires: Option<i128>,
    #[serde(skip_serializing_if = "Option::is_none")]
    execution: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    binding: Option<&'q str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<&'q str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    effect: Option<Effect>,
    #[serde(skip_serializing_if = "Option::is_none")]
    form: Option<&'q Vec<FormField>>,
    #[serde(flatten, serialize_with = "wire::arguments")]
    arguments: &'q Value,
}

/// One field of a form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FormField {
    pub name: Arc<str>,
    /// The purpose of the field, if the plan's tools describe it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<Arc<str>>,
    /// Type in the syntax of plans.
    #[serde(rename = "type")]
    pub ty: String,
    /// JSON Schema of the type.
    pub schema: Json,
    /// The only accepted values, if the field has a list of options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<Vec<Json>>,
    /// Constraints on the value in addition to its type: the JSON Schemas of the arguments that it is passed to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contracts: Vec<Json>,
    /// Whether the value is sensitive.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub secret: bool,
}

/// An answer as given: `{"answer": PATH, "value": …, "by": …, "note": …}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubmittedAnswer {
    /// `STEP.confirm` for a gate, `STEP.asked` for a question of a peer, `approval` for the approval of a run, `STEP`
    /// for any other question.
    #[serde(rename = "answer")]
    pub path: Arc<str>,
    pub value: Json,
    /// Role of the person who answers: `desk`, or `desk:ann`.
    #[serde(default)]
    pub by: Option<Arc<str>>,
    #[serde(default)]
    pub note: Option<Arc<str>>,
}

impl SubmittedAnswer {
    /// Creates an answer without a role and without a note: a bool for a gate, an object of the fields for a form.
    pub fn new(path: impl Into<Arc<str>>, value: Json) -> Self {
        Self {
            path: path.into(),
            value,
            by: None,
            note: None,
        }
    }
}

/// A valid answer to a question.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub path: Arc<str>,
    /// A bool for a gate, a map of all fields for any other question; null if a question of a peer was declined.
    pub value: Value,
    pub by: Option<Arc<str>>,
    pub note: Option<Arc<str>>,
}

impl Answer {
    /// Describes who refused, and why.
    #[must_use]
    pub fn refusal(&self) -> String {
        let who = self
            .by
            .as_deref()
            .map_or("a person".to_owned(), |by| format!("`{by}`"));
        match &self.note {
            Some(note) => format!("{who} declined: {note}"),
            None => format!("{who} declined"),
        }
    }
}

/// Why an answer is refused. A refused answer changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    #[error("there is no question at `{path}`; {hint}")]
    Unknown { path: Arc<str>, hint: String },
    #[error("`{path}` has already been answered {first}; an answer cannot be changed")]
    Twice {
        path: Arc<str>,
        /// Describes the first answer: what, by whom and when.
        first: String,
    },
    #[error("`{path}` was open until {until}; the answer is too late")]
    Late { path: Arc<str>, until: String },
    #[error("`{0}` is no longer open: its step has ended")]
    Withdrawn(Arc<str>),
    #[error(
        "`{path}` requires an answer from the role `{role}`, but {who}; answer as `{role}` or `{role}:NAME`"
    )]
    Role {
        path: Arc<str>,
        role: Arc<str>,
        who: String,
    },
    #[error("{0}")]
    Unreadable(String),
    #[error("the answer to `{path}` does not fit: {fault}")]
    Misfit { path: Arc<str>, fault: String },
}

impl AnswerError {
    /// Returns the same error with each text passed through `map`, for example to redact it.
    #[must_use]
    pub fn map_text(self, map: impl Fn(&str) -> String) -> Self {
        let shared = |text: Arc<str>| Arc::from(map(&text));
        match self {
            Self::Unknown { path, hint } => Self::Unknown {
                path: shared(path),
                hint: map(&hint),
            },
            Self::Twice { path, first } => Self::Twice {
                path: shared(path),
                first: map(&first),
            },
            Self::Late { path, until } => Self::Late {
                path: shared(path),
                until: map(&until),
            },
            Self::Withdrawn(path) => Self::Withdrawn(shared(path)),
            Self::Role { path, role, who } => Self::Role {
                path: shared(path),
                role: shared(role),
                who: map(&who),
            },
            Self::Unreadable(why) => Self::Unreadable(map(&why)),
            Self::Misfit { path, fault } => Self::Misfit {
                path: shared(path),
                fault: map(&fault),
            },
        }
    }
}

/// Suffix of the path of a step under which its gate is answered.
pub(super) const GATE: &str = "confirm";
/// Path under which the approval of a whole run is answered.
pub const APPROVAL: &str = "approval";
/// Suffix of the path of a step under which a question of its peer is answered.
pub(super) const PEER: &str = "asked";

impl Question {
    /// Creates a question of which only the kind and the text are known.
    #[must_use]
    pub fn plain(kind: Waiting, text: impl Into<Arc<str>>) -> Self {
        Self {
            kind,
            text: text.into(),
            why: None,
            by: None,
            asked_at: 0,
            expires: None,
            execution: 0,
            tool: "".into(),
            effect: None,
            arguments: Value::Map(Arc::default()),
            sensitive: Vec::new(),
            binding: "".into(),
            form: Vec::new(),
        }
    }

    /// Returns true if this is the question of this kind about this execution.
    #[must_use]
    pub fn concerns(&self, kind: Waiting, execution: u32) -> bool {
        self.kind == kind && self.execution == execution
    }

    /// Returns the path under which the question is answered.
    #[must_use]
    pub fn path(&self, step: &Arc<str>) -> Arc<str> {
        match self.kind {
            Waiting::Confirm => format!("{step}.{GATE}").into(),
            Waiting::Peer => format!("{step}.{PEER}").into(),
            Waiting::Approval => APPROVAL.into(),
            Waiting::Input
            | Waiting::Answer
            | Waiting::Retry
            | Waiting::Poll
            | Waiting::Outcome
            | Waiting::Effects
            | Waiting::Time => step.clone(),
        }
    }

    /// Returns true if another peer question asks the same within the same execution.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.concerns(other.kind, other.execution)
            && self.text == other.text
            && self.form == other.form
    }

    /// Formats a value of this form for display, without secrets.
    pub(super) fn preview(&self, value: &Value) -> String {
        let secrets = self
            .form
            .iter()
            .filter(|field| field.secret)
            .map(|field| field.name.clone());
        redact_paths(value, &secrets.collect::<Vec<_>>()).preview(200)
    }

    pub(super) fn accept(&self, given: &SubmittedAnswer) -> Result<Answer, AnswerError> {
        let misfit = |fault: String| AnswerError::Misfit {
            path: given.path.clone(),
            fault,
        };
        let mut answer = Answer {
            path: given.path.clone(),
            value: Value::Null,
            by: given.by.clone(),
            note: given.note.clone(),
        };
        match self.kind {
            Waiting::Confirm => {
                let decision = Decision::read(&given.value).map_err(misfit)?;
                answer.value = Value::Bool(decision.approve);
                answer.by = decision.by.or(answer.by);
                answer.note = decision.note.or(answer.note);
            }
            Waiting::Approval => answer.value = self.read_approval(&given.value).map_err(misfit)?,
            Waiting::Answer => answer.value = self.read_outcome(&given.value).map_err(misfit)?,
            // Null declines.
            Waiting::Peer if given.value.is_null() => {}
            Waiting::Peer => answer.value = self.fill_in(&given.value).map_err(misfit)?,
            Waiting::Input
            | Waiting::Retry
            | Waiting::Poll
            | Waiting::Outcome
            | Waiting::Effects
            | Waiting::Time => {
                answer.value = self.fill_in(&given.value).map_err(misfit)?;
            }
        }
        self.check_role(&answer)?;
        Ok(answer)
    }

    /// Creates the question whether a run may do all that it would do.
    pub fn approval(text: impl Into<Arc<str>>) -> Self {
        let scopes = GrantScope::ALL.map(|scope| Json::from(scope.name()));
        let scope = FormField {
            options: Some(scopes.into()),
            ..FormField::plain(SCOPE, &Type::String)
        };
        Self {
            form: vec![FormField::plain(APPROVE, &Type::Bool), scope],
            arguments: Value::object([(SCOPE, Value::from(GrantScope::Once.name()))]),
            ..Self::plain(Waiting::Approval, text)
        }
    }

    /// Accepts true, false, or the form with both fields.
    fn read_approval(&self, json: &Json) -> Result<Value, String> {
        match json {
            Json::Bool(_) => self.fill_in(&json!({ APPROVE: json })),
            json => self.fill_in(json),
        }
    }

    fn check_role(&self, answer: &Answer) -> Result<(), AnswerError> {
        let Some(role) = &self.by else { return Ok(()) };
        let named = answer
            .by
            .as_deref()
            .map(|by| by.split_once(':').map_or(by, |(role, _)| role));
        if named == Some(&**role) {
            return Ok(());
        }
        let who = answer
            .by
            .as_ref()
            .map_or("the answer names no role".to_owned(), |by| {
                format!("the answer is from `{by}`")
            });
        Err(AnswerError::Role {
            path: answer.path.clone(),
            role: role.clone(),
            who,
        })
    }

    /// Parses whether the call whose answer was lost took effect, and what it returned.
    fn read_outcome(&self, json: &Json) -> Result<Value, String> {
        let known = OutcomeAnswer::deserialize(json).map_err(|_| {
            let value = self.form.first().map_or(String::new(), |field| format!(", \"value\": {}", field.ty));
            format!("answer {{\"happened\": true{value}}} if it happened, or {{\"happened\": false}} to send it again")
        })?;
        let value = match self.form.first().filter(|_| known.happened) {
            Some(field) => field.read(known.value.as_ref())?,
            None => Value::Null,
        };
        Ok(Value::object([
            ("happened", Value::Bool(known.happened)),
            ("value", value),
        ]))
    }

    /// Returns the prefilled value of a field.
    #[must_use]
    pub fn prefill(&self, field: &FormField) -> Option<&Value> {
        self.arguments.get(&field.name)
    }

    /// Returns the value of a form: the given fields, the prefilled values of those that are left out, and the values
    /// that were not asked for.
    fn fill_in(&self, json: &Json) -> Result<Value, String> {
        let names = || {
            self.form
                .iter()
                .map(|field| format!("{}: {}", field.name, field.ty))
                .collect::<Vec<_>>()
                .join(", ")
        };
        let Json::Object(fields) = json else {
            return Err(format!("expected an object with the fields {}", names()));
        };
        let mut faults = Vec::new();
        if let Some(extra) = fields
            .keys()
            .find(|name| !self.form.iter().any(|field| *field.name == **name))
        {
            faults.push(format!(
                "there is no field `{extra}`; the fields are {}",
                names()
            ));
        }
        let mut map = self.arguments.as_map().cloned().unwrap_or_else(Map::new);
        for field in &self.form {
            let prefilled = self.prefill(field).map(|value| field.written(value));
            // A form that shows a prefilled value redacted sends the mark if the value is kept.
            let is_kept = |given: &&Json| prefilled.is_some() && **given == *MARK;
            let given = fields.get(&*field.name).filter(|given| !is_kept(given));
            match field.read(given.or(prefilled.as_ref())) {
                Ok(value) => drop(map.insert(Key::String(field.name.clone()), value)),
                Err(fault) => faults.push(fault),
            }
        }
        if faults.is_empty() {
            Ok(Value::Map(Arc::new(map)))
        } else {
            Err(faults.join("; "))
        }
    }
}

impl FormField {
    /// Creates a field of which only the name and the type are known.
    #[must_use]
    pub fn plain(name: &str, ty: &Type) -> Self {
        Self {
            name: name.into(),
            label: None,
            ty: ty.to_string(),
            schema: to_schema(ty),
            options: None,
            contracts: Vec::new(),
            secret: false,
        }
    }

    /// Encodes a value of the field's type as JSON.
    #[must_use]
    pub fn written(&self, value: &Value) -> Json {
        encode(value, &from_schema(&self.schema))
    }

    /// Parses a value of the field's type and checks it against the field's options and contracts.
    ///
    /// # Errors
    /// Returns a sentence that says what the field must be.
    pub fn read(&self, json: Option<&Json>) -> Result<Value, String> {
        let ty = from_schema(&self.schema);
        let Some(json) = json else {
            return if ty.admits_null() {
                Ok(Value::Null)
            } else {
                Err(format!(
                    "the field `{}` is missing; it is of type {}",
                    self.name, self.ty
                ))
            };
        };
        let value = decode(json, &ty)
            .map_err(|mismatch| format!("the field `{}`: {mismatch}", self.name))?;
        if let Some(options) = &self.options {
            let fits = options
                .iter()
                .any(|option| decode(option, &ty).is_ok_and(|option| option == value));
            if !fits {
                let options: Vec<String> = options.iter().map(Json::to_string).collect();
                return Err(format!(
                    "the field `{}` must be one of {}, but this is {json}",
                    self.name,
                    options.join(", ")
                ));
            }
        }
        // A null argument is left out of the call, so no contract applies to it.
        let contracts = self
            .contracts
            .iter()
            .filter(|_| !value.is_null())
            .cloned()
            .map(Contract::of_arguments);
        match contracts
            .flat_map(|contract| contract.violations(json))
            .next()
        {
            Some(violation) => Err(format!("the field `{}` {violation}", self.name)),
            None => Ok(value),
        }
    }
}

/// `{"approve": true, "by": "…", "note": "…"}`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Decision {
    approve: bool,
    #[serde(default)]
    by: Option<Arc<str>>,
    #[serde(default)]
    note: Option<Arc<str>>,
}

/// `{"happened": true, "value": …}`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OutcomeAnswer {
    happened: bool,
    #[serde(default)]
    value: Option<Json>,
}

impl Decision {
    fn read(json: &Json) -> Result<Self, String> {
        match json {
            Json::Bool(approve) => Ok(Self { approve: *approve, by: None, note: None }),
            _ => Self::deserialize(json).map_err(|_| {
                format!("expected true, false or {{\"approve\": true, \"by\": \"…\", \"note\": \"…\"}}, but this is {json}")
            }),
        }
    }
}
