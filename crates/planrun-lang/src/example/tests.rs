//! Generated values conform, are reproducible, repeat the arguments, and cover edge cases.

use serde_json::{Map, Value as Json, json};

use super::{Choice, Examples, NoExample};
use crate::types::{Type, Validator, decode, from_schema, to_schema};

fn usual(schema: &Json) -> Json {
    Examples::new(schema)
        .unwrap()
        .make(&Map::new(), 0, Choice::Usual)
        .unwrap()
}

fn refused(schema: &Json) -> NoExample {
    Examples::new(schema)
        .unwrap()
        .make(&Map::new(), 0, Choice::Usual)
        .unwrap_err()
}

fn edges(schema: &Json) -> Vec<Json> {
    let examples = Examples::new(schema).unwrap();
    let edge = |number| examples.make(&Map::new(), 0, Choice::Edge(number)).unwrap();
    (0..examples.edge_count()).map(edge).collect()
}

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
    arguments.insert("short".into(), json!("too long"));
    let (validator, examples) = (
        Validator::new(&schema).unwrap(),
        Examples::new(&schema).unwrap(),
    );
    let made = |seed| examples.make(&arguments, seed, Choice::Usual).unwrap();
    for seed in 0..100 {
        let one = made(seed);
        assert_eq!(one, made(seed));
        assert_eq!(one["id"], json!("WZ001-and-twenty-more"));
        assert!(
            one["either"].is_boolean()
                && one["both"]["age"].is_number()
                && one["maybe"].is_number(),
            "{one}"
        );
        assert!(validator.is_valid(&one), "{one}");
    }
    assert_ne!(made(1), made(2));
}

#[test]
fn every_keyword_is_kept_to() {
    let schemas = [
        json!({"type": "string", "pattern": "^[A-Z]{3}-\\d{2,4}$", "maxLength": 7}),
        json!({"type": "string", "pattern": "^(?=.*\\d)[a-z0-9]{8,}$"}),
        json!({"type": "string", "format": "uuid"}),
        json!({"type": "array", "uniqueItems": true, "minItems": 5, "items": {"type": "integer", "minimum": 1, "maximum": 5}}),
        json!({"prefixItems": [{"type": "string"}, {"const": 3}], "items": false, "minItems": 2}),
        json!({"type": "array", "contains": {"const": "x"}, "minContains": 2, "maxContains": 2, "minItems": 4}),
        json!({"type": "object", "minProperties": 3, "propertyNames": {"pattern": "^k[0-9]$"}}),
        json!({"type": "object", "patternProperties": {"^x-": {"type": "integer"}}, "additionalProperties": false, "minProperties": 2}),
        json!({"type": "object", "properties": {"card": {"type": "string"}, "address": {"type": "string"}},
            "dependentRequired": {"card": ["address"]}}),
        json!({"oneOf": [{"type": "object", "required": ["a"]}, {"type": "object", "required": ["b"]}],
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}),
        json!({"type": "integer", "not": {"maximum": 10}}),
        json!({"type": "string", "not": {"enum": ["a"]}, "enum": ["a", "b"]}),
        json!({"properties": {"kind": {"enum": ["x", "y"]}}, "required": ["kind"], "if": {"properties": {"kind": {"const": "x"}}},
            "then": {"required": ["x"]}, "else": {"required": ["y"]}}),
        json!({"type": "integer", "allOf": [{"multipleOf": 3}, {"multipleOf": 5}, {"minimum": 100}, {"maximum": 110}]}),
        json!({"$defs": {"tree": {"type": "object", "required": ["next"], "properties": {
            "next": {"anyOf": [{"$ref": "#/$defs/tree"}, {"type": "null"}]}}}}, "$ref": "#/$defs/tree"}),
        json!({"$ref": "#/$defs/node", "$defs": {"node": {"type": "object", "required": ["children"], "properties": {
            "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}}}}}),
        json!({"type": "string", "example": 3, "default": "too long", "maxLength": 4}),
        json!({"type": "string", "format": "date", "pattern": "^\\d{2}/\\d{2}$"}),
    ];
    for schema in schemas {
        let made = usual(&schema);
        assert!(
            Validator::new(&schema).unwrap().is_valid(&made),
            "{schema}: {made}"
        );
    }
    assert_eq!(
        usual(&json!({"enum": [1, 1.5, "x"], "type": "string"})),
        json!("x")
    );
    assert_eq!(
        usual(&json!({"type": "integer", "examples": [41, 41]})),
        json!(41)
    );
}

#[test]
fn what_stands_in_the_way_is_named() {
    assert_eq!(
        refused(&json!({"type": "integer", "minimum": 3, "maximum": 2})).keyword,
        "maximum"
    );
    let failure = refused(
        &json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "string",
        "pattern": "^a$", "minLength": 2}}}),
    );
    assert_eq!(
        (failure.keyword.as_str(), failure.place.as_str()),
        ("minLength", "/a")
    );
    assert!(
        failure
            .to_string()
            .contains("/a must have at least 2 characters (`minLength`)"),
        "{failure}"
    );
    assert_eq!(refused(&json!(false)).place, "the value");
}

#[test]
fn the_edges_are_had() {
    let schema = json!({"type": "object", "required": ["name", "level", "tags", "count", "sure"], "properties": {
        "name": {"type": "string", "maxLength": 5}, "level": {"enum": ["a", "b", "c"]},
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 4},
        "count": {"type": "integer", "minimum": -3, "maximum": 9}, "sure": {"type": "boolean"},
        "note": {"type": ["string", "null"]}}});
    let edges = edges(&schema);
    let has = |predicate: &dyn Fn(&Json) -> bool| edges.iter().any(predicate);
    assert!(
        edges
            .iter()
            .all(|edge| Validator::new(&schema).unwrap().is_valid(edge))
    );
    for length in [0, 5] {
        assert!(
            has(&|edge| edge["name"].as_str().unwrap().chars().count() == length),
            "a name of {length}"
        );
    }
    assert!(has(&|edge| !edge["name"].as_str().unwrap().is_ascii()));
    for length in [0, 1, 4] {
        assert!(
            has(&|edge| edge["tags"].as_array().unwrap().len() == length),
            "{length} tags"
        );
    }
    for number in [-3, -1, 0, 1, 9] {
        assert!(has(&|edge| edge["count"] == number), "{number}");
    }
    assert!(
        ["a", "b", "c"]
            .iter()
            .all(|level| has(&|edge| edge["level"] == **level))
    );
    assert!(
        [true, false]
            .iter()
            .all(|truth| has(&|edge| edge["sure"] == *truth))
    );
    assert!(
        has(&|edge| edge.get("note").is_none())
            && has(&|edge| edge.get("note") == Some(&Json::Null))
    );
    let distinct: std::collections::BTreeSet<String> =
        edges.iter().map(ToString::to_string).collect();
    assert_eq!(distinct.len(), edges.len());
}

#[test]
fn behind_an_alternative_there_are_edges_too() {
    let edges = edges(&json!({"oneOf": [
        {"type": "object", "required": ["x"], "properties": {"x": {"const": 1}}, "additionalProperties": false},
        {"type": "array", "items": {"type": "boolean"}}]}));
    assert!(
        edges.contains(&json!({"x": 1})) && edges.contains(&json!([])),
        "{edges:?}"
    );
    assert!(
        edges.contains(&json!([true, true]))
            || edges
                .iter()
                .any(|edge| edge.as_array().is_some_and(|list| list.len() == 1))
    );
}

#[test]
fn values_of_types_are_read_as_these_types() {
    let fields = [
        ("at", Type::Timestamp),
        ("long", Type::Duration),
        ("raw", Type::Bytes),
        ("count", Type::Uint),
    ];
    let fields = fields.map(|(name, ty)| crate::types::Field {
        name: name.into(),
        ty,
        required: true,
    });
    let ty = Type::object(fields.into(), crate::types::Rest::Closed).list();
    let examples = Examples::of_type(&ty).unwrap();
    assert_eq!(from_schema(&to_schema(&ty)), ty);
    for number in 0..examples.edge_count() {
        let made = examples.make(&Map::new(), 7, Choice::Edge(number)).unwrap();
        assert!(decode(&made, &ty).is_ok(), "{made}");
    }
    let failure = Examples::of_type(&Type::Error)
        .unwrap()
        .make(&Map::new(), 1, Choice::Usual)
        .unwrap();
    assert!(decode(&failure, &Type::Error).is_ok(), "{failure}");
    assert!(
        Examples::of_type(&Type::Never)
            .unwrap()
            .make(&Map::new(), 1, Choice::Usual)
            .is_err()
    );
}
