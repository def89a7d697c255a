//! The schema that is restricted to the available tools: it has no features that providers refuse, and exported plans
//! fit it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::support::{planrun, root};

/// The keywords that the published subsets of the common providers share; see `docs/json-form.md`.
const KEYWORDS: &[&str] = &[
    "$defs",
    "$ref",
    "additionalProperties",
    "anyOf",
    "description",
    "enum",
    "items",
    "properties",
    "required",
    "type",
];
/// The lowest limits: nested objects, properties, enum values, total length of names and enum values.
const MAX_LEVELS: usize = 10;
const MAX_PROPERTIES: usize = 5000;
const MAX_ENUM_VALUES: usize = 1000;
const MAX_CHARACTERS: usize = 120_000;
/// The limit of providers that count parameters with several types and optional parameters.
const MAX_UNIONS: usize = 16;

fn narrowed(arguments: &[&str]) -> Value {
    let all = ["schema", "--catalog", "--project", "plans"]
        .iter()
        .chain(arguments);
    let output = planrun(all).run();
    assert_eq!(output.status, 0, "{output:?}");
    output.json()
}

#[test]
fn nothing_that_providers_refuse_is_in_it() {
    for (arguments, unions) in [(&[][..], usize::MAX), (&["--lean"], MAX_UNIONS)] {
        let schema = narrowed(arguments);
        assert_eq!(schema["type"], "object", "the root is an object");
        assert!(schema.get("anyOf").is_none() && schema.get("$ref").is_none());
        let mut survey = Survey::default();
        survey.schema(&schema, "#");
        assert_eq!(survey.faults, Vec::<String>::new());
        let levels = levels(&schema, schema["$defs"].as_object().unwrap());
        assert!(levels <= MAX_LEVELS, "{levels} levels");
        assert!(
            survey.properties <= MAX_PROPERTIES,
            "{} properties",
            survey.properties
        );
        assert!(
            survey.enum_values <= MAX_ENUM_VALUES,
            "{} values",
            survey.enum_values
        );
        assert!(
            survey.characters <= MAX_CHARACTERS,
            "{} characters",
            survey.characters
        );
        assert!(survey.unions <= unions, "{} unions", survey.unions);
    }
}

/// The counts and the faults of a schema.
#[derive(Debug, Default)]
struct Survey {
    faults: Vec<String>,
    properties: usize,
    enum_values: usize,
    characters: usize,
    unions: usize,
}

impl Survey {
    fn schema(&mut self, schema: &Value, place: &str) {
        let Value::Object(map) = schema else {
            self.faults.push(format!("{place}: no object"));
            return;
        };
        let strangers = map.keys().filter(|key| !KEYWORDS.contains(&key.as_str()));
        self.faults
            .extend(strangers.map(|key| format!("{place}: the keyword {key}")));
        if map.contains_key("$ref") && map.len() > 1 {
            self.faults
                .push(format!("{place}: something stands beside a $ref"));
        }
        if map.get("type").is_some_and(|ty| !ty.is_string()) {
            self.faults.push(format!("{place}: a list of types"));
        }
        self.unions += usize::from(map.contains_key("anyOf"));
        for value in map
            .get("enum")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            self.enum_values += 1;
            self.characters += value.as_str().unwrap().len();
        }
        self.object(map, place);
        for (index, inner) in map
            .get("anyOf")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .enumerate()
        {
            self.schema(inner, &format!("{place}/anyOf/{index}"));
        }
        if let Some(items) = map.get("items") {
            self.schema(items, &format!("{place}/items"));
        }
        for (name, inner) in map
            .get("$defs")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            self.characters += name.len();
            self.schema(inner, &format!("{place}/$defs/{name}"));
        }
    }

    fn object(&mut self, map: &Map<String, Value>, place: &str) {
        if map.get("type").and_then(Value::as_str) != Some("object") {
            return;
        }
        if map.get("additionalProperties") != Some(&Value::Bool(false)) {
            self.faults.push(format!("{place}: an open object"));
        }
        let properties = map["properties"].as_object().unwrap();
        let required: BTreeSet<_> = map["required"]
            .as_array()
            .unwrap()
            .iter()
            .map(|name| name.as_str().unwrap())
            .collect();
        if required != properties.keys().map(String::as_str).collect() {
            self.faults
                .push(format!("{place}: a property that is not required"));
        }
        self.properties += properties.len();
        for (name, inner) in properties {
            self.characters += name.len();
            self.schema(inner, &format!("{place}/{name}"));
        }
    }
}

/// Returns the nesting depth of objects, with references resolved. Fails if a definition refers to itself.
fn levels(schema: &Value, defs: &Map<String, Value>) -> usize {
    fn of<'s>(
        schema: &'s Value,
        defs: &'s Map<String, Value>,
        known: &mut BTreeMap<&'s str, usize>,
        open: &mut Vec<&'s str>,
    ) -> usize {
        if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
            let name = name.strip_prefix("#/$defs/").unwrap();
            assert!(!open.contains(&name), "{name} leads back to itself");
            if let Some(levels) = known.get(name) {
                return *levels;
            }
            open.push(name);
            let levels = of(&defs[name], defs, known, open);
            open.pop();
            known.insert(name, levels);
            return levels;
        }
        let inner = schema
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(Map::values);
        let inner = inner.chain(schema.get("items")).chain(
            schema
                .get("anyOf")
                .and_then(Value::as_array)
                .into_iter()
                .flatten(),
        );
        let deepest = inner
            .map(|inner| of(inner, defs, known, open))
            .max()
            .unwrap_or(0);
        deepest + usize::from(schema.get("type").and_then(Value::as_str) == Some("object"))
    }
    of(schema, defs, &mut BTreeMap::new(), &mut Vec::new())
}

#[test]
fn exported_plans_fit_and_their_mutations_do_not() {
    let schema = jsonschema::validator_for(&narrowed(&[])).unwrap();
    let mut fitted = Vec::new();
    for entry in std::fs::read_dir(root().join("plans")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "plan") {
            continue;
        }
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let output = planrun(["export", "--strict", path.to_str().unwrap()]).run();
        assert_eq!(output.status, 0, "{output:?}");
        let value = output.json();
        // What does not fit is told.
        assert_eq!(
            schema.is_valid(&value),
            !output.stderr.contains("has no place for"),
            "{name}: {}",
            output.stderr
        );
        if !schema.is_valid(&value) {
            println!("{name}: {}", output.stderr);
            continue;
        }
        // A plan that fits is valid input: the check has no errors that the text does not have.
        let check = planrun(["check", "--project", "plans", "-"])
            .stdin(output.stdout)
            .run();
        let errors = check
            .stdout
            .matches("error[")
            .filter(|_| !check.stdout.contains("unresolved-use"))
            .count();
        assert_eq!(errors, 0, "{name}: {}", check.stdout);
        mutations_do_not_fit(&value, &schema, &name);
        fitted.push(name);
    }
    assert!(fitted.len() >= 12, "only these fit: {fitted:?}");
}

fn mutations_do_not_fit(value: &Value, schema: &jsonschema::Validator, name: &str) {
    let mut pointers = Vec::new();
    calls(value, "", &mut pointers);
    assert!(!pointers.is_empty(), "{name} calls nothing");
    for pointer in pointers {
        let changes: [fn(&mut Value); 4] = [
            |call| call["tool"] = "nobody.nothing".into(),
            |call| drop(call.as_object_mut().unwrap().remove("arguments")),
            |call| call["arguments"]["unheard_of"] = "1".into(),
            |call| call["arguments"] = Value::from("x"),
        ];
        for change in changes {
            let mut mutant = value.clone();
            change(mutant.pointer_mut(&pointer).unwrap());
            assert!(!schema.is_valid(&mutant), "{name}: {pointer}");
        }
    }
}

fn calls(value: &Value, pointer: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            if map.contains_key("tool") && map.contains_key("arguments") {
                found.push(pointer.to_owned());
            }
            map.iter()
                .for_each(|(key, value)| calls(value, &format!("{pointer}/{key}"), found));
        }
        Value::Array(list) => {
            list.iter()
                .enumerate()
                .for_each(|(at, value)| calls(value, &format!("{pointer}/{at}"), found));
        }
        _ => {}
    }
}
