//! Made-up data that fits a JSON Schema: the same for the same seed, call and place.

use serde_json::{Map, Value as Json, json};

/// Schemas nested deeper, or references that lead in circles, end in null.
const MOST_DEPTH: usize = 24;
/// What need not be there is left out from this depth on.
const DEEPEST_OPTIONAL: usize = 6;
/// Lists are never made longer, whatever the schema wants.
const MOST_ITEMS: u64 = 20;
const WORDS: [&str; 16] = [
    "amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "harbor", "indigo", "juniper", "kelp", "linen",
    "maple", "north", "opal", "pine",
];

/// Data for a schema. A property that bears the name of an argument and could have its value takes it, so that
/// results speak of what was asked.
#[must_use]
pub fn generate(schema: &Json, arguments: &Map<String, Json>, seed: u64) -> Json {
    Generator { document: schema, arguments, seed }.value(schema, &mut String::new(), 0)
}

struct Generator<'a> {
    document: &'a Json,
    arguments: &'a Map<String, Json>,
    seed: u64,
}

impl Generator<'_> {
    /// `place` is the path of the value, from which its chance follows.
    fn value(&self, schema: &Json, place: &mut String, depth: usize) -> Json {
        let Json::Object(object) = schema else { return Json::Null };
        if depth > MOST_DEPTH {
            return Json::Null;
        }
        if let Some(given) = self.written(object, place) {
            return given;
        }
        let nested = |key: &str| object.get(key).and_then(Json::as_array).filter(|parts| !parts.is_empty());
        if let Some(reference) = object.get("$ref").and_then(Json::as_str) {
            let target = reference.strip_prefix('#').and_then(|pointer| self.document.pointer(pointer));
            return target.map_or(Json::Null, |target| self.value(target, place, depth + 1));
        }
        if let Some(parts) = nested("allOf") {
            return self.merged(object, parts, place, depth);
        }
        if !object.contains_key("properties")
            && let Some(choices) = nested("oneOf").or_else(|| nested("anyOf"))
        {
            let something = choices.iter().find(|choice| choice.get("type") != Some(&json!("null")));
            return something.map_or(Json::Null, |choice| self.value(choice, place, depth + 1));
        }
        match type_name(object) {
            "object" => self.object(object, place, depth),
            "array" => self.array(object, place, depth),
            "string" => Json::String(self.string(object, place)),
            "integer" => self.integer(object, place),
            "number" => self.number(object, place),
            "boolean" => Json::Bool(self.chance(place).is_multiple_of(2)),
            _ => Json::Null,
        }
    }

    /// A value that the schema spells out.
    fn written(&self, schema: &Map<String, Json>, place: &str) -> Option<Json> {
        if let Some(constant) = schema.get("const") {
            return Some(constant.clone());
        }
        for key in ["examples", "enum"] {
            let choices = schema.get(key).and_then(Json::as_array).filter(|choices| !choices.is_empty());
            if let Some(choices) = choices {
                let count = u64::try_from(choices.len()).unwrap_or(1);
                return usize::try_from(self.chance(place) % count).ok().and_then(|index| choices.get(index)).cloned();
            }
        }
        schema.get("example").or_else(|| schema.get("default")).filter(|value| !value.is_null()).cloned()
    }

    fn merged(&self, schema: &Map<String, Json>, parts: &[Json], place: &mut String, depth: usize) -> Json {
        let mut own = schema.clone();
        own.remove("allOf");
        let mut merged = Map::new();
        let mut last = Json::Null;
        for part in std::iter::once(&Json::Object(own)).chain(parts) {
            match self.value(part, place, depth + 1) {
                Json::Object(entries) => merged.extend(entries),
                Json::Null => {}
                other => last = other,
            }
        }
        if merged.is_empty() { last } else { Json::Object(merged) }
    }

    fn object(&self, schema: &Map<String, Json>, place: &mut String, depth: usize) -> Json {
        let mut made = Map::new();
        let required: Vec<&str> =
            schema.get("required").and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str).collect();
        for (name, property) in schema.get("properties").and_then(Json::as_object).into_iter().flatten() {
            if depth > DEEPEST_OPTIONAL && !required.contains(&name.as_str()) {
                continue;
            }
            let echoed = self.arguments.get(name).filter(|value| could_be(value, property));
            let value =
                echoed.cloned().unwrap_or_else(|| within(place, name, |place| self.value(property, place, depth + 1)));
            made.insert(name.clone(), value);
        }
        for name in required {
            if !made.contains_key(name) {
                let rest = schema.get("additionalProperties").filter(|rest| rest.is_object());
                let any = json!({"type": "string"});
                let value = within(place, name, |place| self.value(rest.unwrap_or(&any), place, depth + 1));
                made.insert(name.to_owned(), value);
            }
        }
        Json::Object(made)
    }

    fn array(&self, schema: &Map<String, Json>, place: &mut String, depth: usize) -> Json {
        let bound = |key: &str| schema.get(key).and_then(Json::as_u64);
        let least = bound("minItems").unwrap_or(2).min(MOST_ITEMS);
        let count = bound("maxItems").map_or(least, |most| least.min(most));
        let any = json!({});
        let items = schema.get("items").unwrap_or(&any);
        let made =
            (0..count).map(|index| within(place, &index.to_string(), |place| self.value(items, place, depth + 1)));
        Json::Array(made.collect())
    }

    fn string(&self, schema: &Map<String, Json>, place: &str) -> String {
        let chance = self.chance(place);
        let word = usize::try_from(chance % 16).ok().and_then(|index| WORDS.get(index)).unwrap_or(&"word");
        let day = chance % 28 + 1;
        let text = match schema.get("format").and_then(Json::as_str).unwrap_or_default() {
            "date-time" => format!("2026-01-{day:02}T09:30:00Z"),
            "date" => format!("2026-01-{day:02}"),
            "time" => "09:30:00Z".to_owned(),
            "email" | "idn-email" => format!("{word}@example.com"),
            "uri" | "url" | "uri-reference" => format!("https://example.com/{word}"),
            "hostname" => format!("{word}.example.com"),
            "ipv4" => format!("192.0.2.{day}"),
            "ipv6" => format!("2001:db8::{day}"),
            "uuid" => {
                let bits = u128::from(chance) << 64 | u128::from(self.chance(word));
                uuid::Builder::from_random_bytes(bits.to_be_bytes()).into_uuid().to_string()
            }
            _ => format!("{word}-{}", chance % 1000),
        };
        fitted(text, schema)
    }

    fn integer(&self, schema: &Map<String, Json>, place: &str) -> Json {
        let bound = |key: &str| schema.get(key).and_then(Json::as_i64);
        let low = bound("minimum").or(bound("exclusiveMinimum").map(|bound| bound.saturating_add(1)));
        let high = bound("maximum").or(bound("exclusiveMaximum").map(|bound| bound.saturating_sub(1)));
        let (low, high) = match (low, high) {
            (Some(low), high) => (low, high.unwrap_or(low.saturating_add(99)).max(low)),
            (None, Some(high)) => (high.min(1), high),
            (None, None) => (1, 100),
        };
        let width = high.abs_diff(low).saturating_add(1);
        let mut number = low.saturating_add_unsigned(self.chance(place) % width);
        if let Some(step) = bound("multipleOf").filter(|step| *step > 0) {
            let up = (step - number.rem_euclid(step)) % step;
            number =
                number.checked_add(up).filter(|number| *number <= high).unwrap_or(number - number.rem_euclid(step));
        }
        json!(number)
    }

    fn number(&self, schema: &Map<String, Json>, place: &str) -> Json {
        let bound = |key: &str| schema.get(key).and_then(Json::as_f64);
        let low = bound("minimum").or(bound("exclusiveMinimum")).unwrap_or(0.0);
        let high = bound("maximum").or(bound("exclusiveMaximum")).unwrap_or(low + 100.0).max(low);
        // Quarters are exact, and never the end of the range.
        let share = f64::from(u8::try_from(self.chance(place) % 15).unwrap_or(0) + 1) / 16.0;
        json!(low + (high - low) * share)
    }

    fn chance(&self, place: &str) -> u64 {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.seed.to_le_bytes()).update(place.as_bytes());
        let mut bytes = [0; 8];
        hasher.finalize_xof().fill(&mut bytes);
        u64::from_le_bytes(bytes)
    }
}

fn within(place: &mut String, name: &str, make: impl FnOnce(&mut String) -> Json) -> Json {
    let length = place.len();
    place.push('/');
    place.push_str(name);
    let value = make(place);
    place.truncate(length);
    value
}

fn type_name(schema: &Map<String, Json>) -> &str {
    match schema.get("type") {
        Some(Json::String(name)) => name,
        Some(Json::Array(names)) => {
            names.iter().filter_map(Json::as_str).find(|name| *name != "null").unwrap_or("null")
        }
        _ if schema.contains_key("properties") || schema.contains_key("required") => "object",
        _ if schema.contains_key("items") => "array",
        _ => "",
    }
}

/// Whether an argument could stand for a property: its kind is right and nothing spells the property out.
fn could_be(value: &Json, schema: &Json) -> bool {
    let Json::Object(schema) = schema else { return false };
    if schema.contains_key("const") || schema.contains_key("enum") {
        return false;
    }
    matches!(
        (value, type_name(schema)),
        (Json::String(_), "string") | (Json::Number(_), "integer" | "number") | (Json::Bool(_), "boolean")
    )
}

/// Cut or filled up to the length that the schema wants.
fn fitted(text: String, schema: &Map<String, Json>) -> String {
    let bound = |key: &str| schema.get(key).and_then(Json::as_u64).and_then(|bound| usize::try_from(bound).ok());
    let (least, most) = (bound("minLength").unwrap_or(0).min(10_000), bound("maxLength").unwrap_or(usize::MAX));
    let length = text.chars().count();
    let filled = if length < least { text + &"x".repeat(least - length) } else { text };
    if filled.chars().count() > most { filled.chars().take(most).collect() } else { filled }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Validator;

    #[test]
    fn what_is_made_up_fits_and_repeats() {
        let schema = json!({"type": "object", "required": ["id", "extra"], "properties": {
            "id": {"type": "string", "minLength": 20}, "at": {"type": "string", "format": "date-time"},
            "level": {"enum": ["L1", "L2"]}, "count": {"type": "integer", "minimum": 5, "maximum": 7},
            "step": {"type": "integer", "minimum": 3, "multipleOf": 10}, "low": {"type": "integer", "maximum": -5},
            "price": {"type": "number", "exclusiveMinimum": 1, "exclusiveMaximum": 2}, "short": {"type": "string", "maxLength": 3},
            "people": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/person"}},
            "either": {"anyOf": [{"type": "null"}, {"type": "boolean"}]}, "maybe": {"type": ["null", "integer"]},
            "both": {"allOf": [{"$ref": "#/$defs/person"}, {"properties": {"age": {"type": "integer"}}, "required": ["age"]}]}},
            "$defs": {"person": {"type": "object", "required": ["name"], "properties": {
                "name": {"type": "string"}, "boss": {"$ref": "#/$defs/person"}}}}});
        let mut arguments = Map::new();
        arguments.insert("id".into(), json!("WZ001-and-twenty-more"));
        arguments.insert("level".into(), json!("L9"));
        let validator = Validator::new(&schema).unwrap();
        for seed in 0..200 {
            let made = generate(&schema, &arguments, seed);
            assert_eq!(made, generate(&schema, &arguments, seed));
            assert_eq!(made["id"], json!("WZ001-and-twenty-more"));
            assert!(validator.is_valid(&made), "{made}");
        }
        assert_ne!(generate(&schema, &arguments, 1), generate(&schema, &arguments, 2));
        assert_eq!(generate(&json!(true), &arguments, 1), Json::Null);
    }
}
