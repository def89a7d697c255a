//! The definitions of the tools for a model: six fixed tools and those of saved plans.

use planrun_lang::types::{Effect, Signature, to_schema};
use serde_json::{Map, Value as Json, json};

use crate::discovery::CARD;
use crate::tokens::cut;

/// The description of the server for a model, in at most 2,000 characters.
pub const INSTRUCTIONS: &str = "planrun runs plans: short programs over all tools of this project. A plan is checked before \
    anything runs, asks the person once for all that it may change, continues after a crash, and, when it fails, undoes \
    each step that has an `undo`.\nOne or two calls: call the server's own tool if you have it. Plans are for more than two \
    calls, for loops, for big \
    results of which you need a part, and for effects that somebody has to approve.\nOrder: `search` for tools, `describe` \
    those that you need, then `read` (plans that only read) or `run`. Findings come back with the line and the fix: correct \
    the plan and send it again; nothing was called. A run that failed is repaired with `run(plan, base: RUN)`. Nobody but the \
    person answers questions: there is no tool for that.";

/// The definition of a tool for a model.
#[derive(Clone, PartialEq, Debug)]
pub struct Definition {
    pub name: String,
    pub title: String,
    pub description: String,
    pub input: Map<String, Json>,
    /// The schema of its result, if it is known.
    pub output: Option<Map<String, Json>>,
    pub hints: Hints,
    /// Whether the tool may start or wait for a run that asks the person something.
    pub may_ask: bool,
}

/// The hints by which clients decide whether to ask the person before a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "the protocol has four hints")]
pub struct Hints {
    pub read_only: bool,
    pub destructive: bool,
    pub idempotent: bool,
    pub open_world: bool,
}

/// The tools that run plans, or wait for a run.
const RUNS: [&str; 3] = ["read", "run", "runs"];
/// Maximum size of a saved plan's description, in bytes.
const PLAN_BYTES: usize = 400;

impl Hints {
    /// Reads only planrun's own data.
    const KNOWN: Self = Self {
        read_only: true,
        destructive: false,
        idempotent: true,
        open_world: false,
    };
    const READS: Self = Self {
        open_world: true,
        ..Self::KNOWN
    };
    const SAVES: Self = Self {
        read_only: false,
        ..Self::KNOWN
    };
    const CHANGES: Self = Self {
        read_only: false,
        destructive: true,
        idempotent: false,
        open_world: true,
    };

    fn of(effect: Effect) -> Self {
        match effect {
            Effect::Pure => Self::KNOWN,
            Effect::Read => Self::READS,
            Effect::Idempotent => Self {
                idempotent: true,
                ..Self::CHANGES
            },
            Effect::Effect | Effect::Irreversible => Self::CHANGES,
        }
    }
}

/// Returns the six tools, in their order.
pub fn definitions() -> [Definition; 6] {
    let number = || json!({ "type": "integer" });
    let string = || json!({ "type": "string" });
    let object = || json!({ "type": "object" });
    [
        define(
            "search",
            "Finds tools and saved plans by plain words.",
            json!({ "query": string(), "ns": string(), "limit": number() }),
            &["query"],
            Hints::KNOWN,
        ),
        define(
            "describe",
            "Contracts of tools, a namespace, or a page: `language`, `language/TOPIC`.",
            json!({ "names": { "type": "array", "items": string() }, "full": { "type": "boolean" } }),
            &["names"],
            Hints::KNOWN,
        ),
        define(
            "read",
            "As `run`, for plans that change nothing; refuses others.",
            json!({ "plan": string(), "inputs": object(), "max_tokens": number() }),
            &["plan"],
            Hints::READS,
        ),
        define(
            "run",
            CARD,
            json!({
                "plan": text("a plan, its statements alone, or plan:NAME"),
                "inputs": object(),
                "base": text("a failed run to repair"),
                "max_tokens": number(),
            }),
            &["plan"],
            Hints::CHANGES,
        ),
        define(
            "runs",
            "The latest runs, or one: waits, and gives the part of its reply at a JSON pointer.",
            json!({
                "id": string(),
                "wait_s": { "type": "integer", "maximum": 45 },
                "path": string(),
                "from": number(),
            }),
            &[],
            Hints::KNOWN,
        ),
        define(
            "save",
            "Keeps a plan, which becomes a tool.",
            json!({ "name": string(), "plan": string() }),
            &["name", "plan"],
            Hints::SAVES,
        ),
    ]
}

fn text(description: &str) -> Json {
    json!({ "type": "string", "description": description })
}

fn define(
    name: &str,
    description: &str,
    properties: Json,
    required: &[&str],
    hints: Hints,
) -> Definition {
    let mut input = Map::new();
    input.insert("type".to_owned(), "object".into());
    input.insert("properties".to_owned(), properties);
    if !required.is_empty() {
        input.insert("required".to_owned(), json!(required));
    }
    Definition {
        name: name.to_owned(),
        title: format!("planrun: {name}"),
        description: description.trim_end().to_owned(),
        input,
        output: None,
        hints,
        may_ask: RUNS.contains(&name),
    }
}

/// Returns the definition of a saved plan's tool.
pub fn of_plan(plan: &Signature) -> Definition {
    let text = plan.description.as_deref().unwrap_or_default();
    let text = cut(text.trim(), PLAN_BYTES);
    let space = if text.is_empty() { "" } else { " " };
    let description = format!(
        "{text}{space}A saved plan ({}); read it with `describe`.",
        plan.effect.name()
    );
    let object = |schema: Json| match schema {
        Json::Object(fields) => Some(fields),
        _ => None,
    };
    let output = to_schema(&plan.returns);
    // The bytes of parts are sent as content blocks and removed from the value, which then does not match the schema.
    let has_bytes = output.to_string().contains("\"contentEncoding\":");
    // Clients with protocol versions before 2026-07-28 accept only objects.
    let is_object = |fields: &Map<_, _>| fields.get("type") == Some(&"object".into());
    let output = object(output).filter(|fields| !has_bytes && is_object(fields));
    Definition {
        name: plan.name.to_string(),
        title: plan.name.to_string(),
        description,
        input: object(plan.arguments_schema()).unwrap_or_default(),
        output,
        hints: Hints::of(plan.effect),
        may_ask: true,
    }
}

#[cfg(test)]
mod tests {
    use planrun_lang::types::{Parameter, Type};

    use super::*;
    use crate::tokens::tokens;

    /// Returns the definition as a model reads it.
    fn text_of(one: &Definition) -> String {
        json!({ "name": one.name, "description": one.description, "inputSchema": one.input })
            .to_string()
    }

    #[test]
    fn all_definitions_together_are_small_and_say_what_they_say() {
        let texts = definitions().map(|one| text_of(&one));
        let all: usize = texts.iter().map(|text| tokens(text)).sum();
        assert!(all <= 1_000, "{all} tokens");
        for one in definitions() {
            assert!(one.description.chars().count() <= 2_000, "{}", one.name);
        }
        assert!(INSTRUCTIONS.chars().count() <= 2_000);
        insta::assert_snapshot!(
            "definitions",
            format!("{INSTRUCTIONS}\n\n{}", texts.join("\n"))
        );
    }

    #[test]
    fn a_saved_plan_is_annotated_by_what_it_does() {
        let hints = |effect| {
            let plan = Signature {
                effect,
                ..Signature::unknown("plans".into(), "tidy".into())
            };
            let hints = of_plan(&plan).hints;
            (
                hints.read_only,
                hints.destructive,
                hints.idempotent,
                hints.open_world,
            )
        };
        assert_eq!(hints(Effect::Pure), (true, false, true, false));
        assert_eq!(hints(Effect::Read), (true, false, true, true));
        assert_eq!(hints(Effect::Idempotent), (false, true, true, true));
        assert_eq!(hints(Effect::Irreversible), (false, true, false, true));
    }

    #[test]
    fn a_saved_plan_has_the_schemas_of_its_inputs_and_of_a_reply_that_is_an_object() {
        let input = Parameter {
            name: "id".into(),
            ty: Type::Int,
            required: true,
            description: None,
            schema: None,
            default: None,
        };
        let mut plan = Signature {
            parameters: vec![input],
            returns: Type::Int,
            ..Signature::unknown("plans".into(), "tidy".into())
        };
        let definition = of_plan(&plan);
        assert_eq!(definition.input["required"], json!(["id"]));
        assert_eq!(definition.output, None);
        plan.returns = planrun_lang::types::error_object();
        assert!(of_plan(&plan).output.is_some());
    }
}
