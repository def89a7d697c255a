//! Compares a pinned contract with the contract that the server offers now, and decides whether checks against the pin
//! still hold.

use planrun_lang::types::{fit, from_schema};
use serde_json::{Map, Value as Json};

use super::documentation::without_documentation;
use super::{Arguments, LockedTool, OfferedTool};

/// The difference between a pinned contract and the current one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// No difference.
    None,
    /// Only the documentation differs. It influences models but not calls.
    Documentation,
    /// Every call that was valid is still valid and returns the same types.
    Compatible,
    /// Calls that were valid may be invalid or return something else. Contains the reason as one sentence about the
    /// tool.
    Broken(String),
}

impl LockedTool {
    /// Compares this contract with what the server now offers under its name; `None` means that it offers nothing.
    ///
    /// Only changes that are certainly compatible count as such: a new optional argument, an argument that accepts more
    /// values, a result of a narrower type.
    pub fn change(&self, now: Option<&OfferedTool>) -> Change {
        let Some(now) = now else {
            return Change::Broken("the server no longer offers it".to_owned());
        };
        if *now == self.offered {
            return Change::None;
        }
        let mut now = LockedTool::new(now.clone());
        now.accepted = self.accepted;
        if now.has_contract_of(self) {
            return if now.has_documentation_of(self) {
                Change::None
            } else {
                Change::Documentation
            };
        }
        let broken = self.class_changed(&now);
        let broken = broken.or_else(|| arguments_changed(&self.offered.input, &now.offered.input));
        let broken = broken
            .or_else(|| result_changed(self.offered.output.as_ref(), now.offered.output.as_ref()));
        broken.map_or(Change::Compatible, Change::Broken)
    }

    fn class_changed(&self, now: &Self) -> Option<String> {
        let (before, after) = (self.class(), now.class());
        if before != after {
            return Some(format!(
                "its declared effect makes it `{}`, but it was pinned as `{}`",
                after.name(),
                before.name()
            ));
        }
        let closed = |tool: &Self| tool.offered.annotations.open_world == Some(false);
        (closed(self) && !closed(now))
            .then(|| "its results may now contain untrusted text".to_owned())
    }
}

fn arguments_changed(before: &Json, after: &Json) -> Option<String> {
    let (old, new) = (Arguments::of(before.clone()), Arguments::of(after.clone()));
    let of = |schema: &Json, name: &str| {
        let property = schema.get("properties").and_then(|all| all.get(name));
        property.map(without_documentation)
    };
    for parameter in &old.parameters {
        let name = &*parameter.name;
        let Some(now) = new.parameters.iter().find(|now| *now.name == *name) else {
            if new.extra {
                continue;
            }
            return Some(format!("it no longer takes `{name}`"));
        };
        if now.required && !parameter.required {
            return Some(format!("it now requires `{name}`"));
        }
        let (was, is) = (of(before, name), of(after, name));
        let takes_all =
            || fit(&parameter.ty, &now.ty).fits() && is.as_ref().is_none_or(is_expressed_by_types);
        if (was != is || now.default.is_some() != parameter.default.is_some()) && !takes_all() {
            return Some(format!("`{name}` takes different values"));
        }
    }
    let known = |name: &str| {
        old.parameters
            .iter()
            .any(|parameter| *parameter.name == *name)
    };
    if let Some(added) = new
        .parameters
        .iter()
        .find(|now| now.required && !known(&now.name))
    {
        return Some(format!("it now requires `{}`", added.name));
    }
    let changed = (old.extra && !new.extra) || around(before) != around(after);
    changed.then(|| "the schema of its arguments as a whole has changed".to_owned())
}

/// The keywords of an object schema other than its properties and what is read with them.
fn around(schema: &Json) -> Map<String, Json> {
    let Json::Object(mut keywords) = without_documentation(schema) else {
        return Map::new();
    };
    for read_elsewhere in ["properties", "required", "additionalProperties", "$schema"] {
        keywords.shift_remove(read_elsewhere);
    }
    keywords
}

fn result_changed(before: Option<&Json>, after: Option<&Json>) -> Option<String> {
    let (before, after) = match (before, after) {
        (None, None) => return None,
        (Some(before), Some(after)) => {
            (without_documentation(before), without_documentation(after))
        }
        (None, Some(_)) => return Some("it now declares the schema of its result".to_owned()),
        (Some(_), None) => {
            return Some("it no longer declares the schema of its result".to_owned());
        }
    };
    let fits = before == after
        || (is_expressed_by_types(&before)
            && fit(&from_schema(&after), &from_schema(&before)).fits()
            && declares_all_of(&before, &after));
    (!fits).then(|| "the schema of its result has changed".to_owned())
}

/// Returns true if every property that `before` declares is also declared by `after`. An undeclared property may have
/// any type.
fn declares_all_of(before: &Json, after: &Json) -> bool {
    let properties = before.get("properties").and_then(Json::as_object);
    let declared = properties.into_iter().flatten().all(|(name, was)| {
        let is = after
            .get("properties")
            .and_then(|properties| properties.get(name));
        is.is_some_and(|is| declares_all_of(was, is))
    });
    let items = before.get("items").zip(after.get("items"));
    declared && items.is_none_or(|(was, is)| declares_all_of(was, is))
}

/// Returns true if the schema's types express everything that it requires.
fn is_expressed_by_types(schema: &Json) -> bool {
    let Json::Object(keywords) = schema else {
        return schema.is_boolean();
    };
    keywords
        .iter()
        .all(|(keyword, value)| match keyword.as_str() {
            "type" | "required" | "enum" | "const" => true,
            "items" | "additionalProperties" => is_expressed_by_types(value),
            "properties" => value
                .as_object()
                .is_some_and(|properties| properties.values().all(is_expressed_by_types)),
            "anyOf" => value
                .as_array()
                .is_some_and(|members| members.iter().all(is_expressed_by_types)),
            _ => false,
        })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(properties: &Json, required: &Json, output: Option<Json>) -> OfferedTool {
        OfferedTool {
            input: json!({ "type": "object", "properties": properties, "required": required }),
            output,
            ..OfferedTool::default()
        }
    }

    fn broken(before: &OfferedTool, after: &OfferedTool) -> String {
        match LockedTool::new(before.clone()).change(Some(after)) {
            Change::Broken(why) => why,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_takes_more_and_gives_the_same_is_compatible() {
        let before = tool(
            &json!({ "to": { "type": "integer" } }),
            &json!(["to"]),
            None,
        );
        let compatible = [
            tool(&json!({ "to": { "type": "number" } }), &json!(["to"]), None),
            tool(&json!({ "to": { "type": "integer" } }), &json!([]), None),
            tool(
                &json!({ "to": { "type": "integer" }, "cc": { "type": "string" } }),
                &json!(["to"]),
                None,
            ),
        ];
        for after in compatible {
            let change = LockedTool::new(before.clone()).change(Some(&after));
            assert_eq!(change, Change::Compatible, "{}", after.input);
        }
        let mut redescribed = before.clone();
        redescribed.description = Some("Sends.".to_owned());
        let pinned = LockedTool::new(before.clone());
        assert_eq!(pinned.change(Some(&redescribed)), Change::Documentation);
        assert_eq!(pinned.change(Some(&before)), Change::None);
    }

    #[test]
    fn what_takes_less_is_broken_and_says_where() {
        let before = tool(&json!({ "to": { "type": "string" } }), &json!([]), None);
        let cases = [
            (
                json!({ "whom": { "type": "string" } }),
                json!([]),
                "no longer takes `to`",
            ),
            (
                json!({ "to": { "type": "integer" } }),
                json!([]),
                "`to` takes different values",
            ),
            (
                json!({ "to": { "type": "string", "maxLength": 5 } }),
                json!([]),
                "`to` takes different",
            ),
            (
                json!({ "to": { "type": "string" } }),
                json!(["to"]),
                "it now requires `to`",
            ),
            (
                json!({ "to": { "type": "string" }, "key": { "type": "string" } }),
                json!(["key"]),
                "it now requires `key`",
            ),
        ];
        for (properties, required, why) in cases {
            let message = broken(&before, &tool(&properties, &required, None));
            assert!(message.contains(why), "{message}");
        }
        let pinned = LockedTool::new(before.clone());
        assert!(matches!(pinned.change(None), Change::Broken(_)));
        let mut narrower = before.clone();
        narrower.input["minProperties"] = json!(1);
        assert!(
            broken(&before, &narrower)
                .contains("the schema of its arguments as a whole has changed")
        );
    }

    #[test]
    fn a_result_may_become_narrower_only() {
        let object = |properties: Json, required: Json| {
            let schema =
                json!({ "type": "object", "properties": properties, "required": required });
            tool(&json!({}), &json!([]), Some(schema))
        };
        let before = object(json!({ "id": { "type": ["string", "null"] } }), json!([]));
        let narrower = object(
            json!({ "id": { "type": "string" }, "at": { "type": "string" } }),
            json!(["id"]),
        );
        let pinned = LockedTool::new(before.clone());
        assert_eq!(pinned.change(Some(&narrower)), Change::Compatible);
        assert!(broken(&narrower, &before).contains("the schema of its result has changed"));
        assert!(
            broken(&before, &tool(&json!({}), &json!([]), None))
                .contains("no longer declares the schema of its result")
        );
    }

    #[test]
    fn a_tool_that_does_more_than_it_said_is_broken() {
        let mut before = tool(&json!({}), &json!([]), None);
        before.annotations.read_only = Some(true);
        let mut after = before.clone();
        after.annotations.read_only = Some(false);
        let mut pinned = LockedTool::new(before);
        pinned.accepted = true;
        assert!(
            matches!(pinned.change(Some(&after)), Change::Broken(why) if why.contains("`read`"))
        );
        pinned.accepted = false;
        assert_eq!(pinned.change(Some(&after)), Change::Compatible);
    }
}
