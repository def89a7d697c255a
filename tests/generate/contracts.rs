//! Constraints on arguments in JSON Schemas: for each keyword a schema, values that always fulfill it, and values that
//! always break it.

use std::rc::Rc;

use serde_json::{Value as Json, json};

use super::ty::{self, Field, Object, Ty};

/// One keyword, or one use of it.
///
/// In the values, `<string>`, `<int>`, `<double>` and `<bool>` are placeholders for any expression of that type.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub name: &'static str,
    /// The schema of one argument as JSON.
    pub schema: &'static str,
    /// The name and the schema of the definition in `$defs` that the schema refers to.
    pub definition: Option<(&'static str, &'static str)>,
    pub ty: fn() -> Ty,
    /// Whether `ty` is the complete type, so that any value of that type may be read there and a `tool` item may repeat
    /// the type.
    pub whole: bool,
    pub keeps: &'static [&'static str],
    pub breaks: &'static [&'static str],
}

impl Row {
    pub fn schema(&self) -> Json {
        serde_json::from_str(self.schema).unwrap()
    }

    /// Returns its type as a plan declares it.
    pub fn declared(&self) -> String {
        ty::closed(&(self.ty)()).text()
    }

    /// Returns the name and the schema of the definition that it refers to.
    pub fn definition(&self) -> Option<(&'static str, Json)> {
        let (name, schema) = self.definition?;
        Some((name, serde_json::from_str(schema).unwrap()))
    }
}

/// Returns the value with a literal in each placeholder.
pub fn literal(pattern: &str) -> String {
    filled(pattern, Ty::literal)
}

/// Fills the placeholders of a value.
pub fn filled(pattern: &str, mut fill: impl FnMut(&Ty) -> String) -> String {
    let mut text = String::new();
    let mut rest = pattern;
    while let Some((before, (name, after))) = rest
        .split_once('<')
        .and_then(|(before, rest)| Some((before, rest.split_once('>')?)))
    {
        text.push_str(before);
        text.push_str(&fill(&match name {
            "string" => Ty::Str,
            "int" => Ty::Int,
            "double" => Ty::Double,
            "bool" => Ty::Bool,
            other => unreachable!("no type {other}"),
        }));
        rest = after;
    }
    text + rest
}

const fn row(
    name: &'static str,
    schema: &'static str,
    ty: fn() -> Ty,
    keeps: &'static [&'static str],
    breaks: &'static [&'static str],
) -> Row {
    Row {
        name,
        schema,
        definition: None,
        ty,
        whole: true,
        keeps,
        breaks,
    }
}

/// Marks `ty` as only a part of the type.
const fn partly(row: Row) -> Row {
    Row {
        whole: false,
        ..row
    }
}

const fn with(definition: (&'static str, &'static str), row: Row) -> Row {
    Row {
        definition: Some(definition),
        ..row
    }
}

fn text() -> Ty {
    Ty::Str
}

fn int() -> Ty {
    Ty::Int
}

fn double() -> Ty {
    Ty::Double
}

fn mix() -> Ty {
    Ty::Mix
}

fn nullable() -> Ty {
    Ty::Int.optional()
}

fn texts() -> Ty {
    Ty::Str.list()
}

fn ints() -> Ty {
    Ty::Int.list()
}

fn map_of_texts() -> Ty {
    Ty::Map(Rc::new(Ty::Str))
}

fn map_of_ints() -> Ty {
    Ty::Map(Rc::new(Ty::Int))
}

fn object(fields: &[(&'static str, Ty, bool)], open: bool) -> Ty {
    let field = |(name, ty, required): &(&'static str, Ty, bool)| Field {
        name,
        ty: ty.clone(),
        required: *required,
    };
    Ty::Object(Rc::new(Object {
        fields: fields.iter().map(field).collect(),
        open,
    }))
}

fn card() -> Ty {
    object(&[("card", Ty::Str, false), ("cvc", Ty::Str, false)], true)
}

const CODE: (&str, &str) = ("code", r#"{"type": "string", "pattern": "^[A-Z]{2}"}"#);
const TREE: (&str, &str) = (
    "tree",
    r##"{"type": "object", "required": ["v"], "properties": {"v": {"type": "integer", "minimum": 0},
        "next": {"$ref": "#/$defs/tree"}}}"##,
);

/// Every keyword that constrains arguments.
pub const ROWS: &[Row] = &[
    // Numbers.
    row(
        "minimum",
        r#"{"type": "integer", "minimum": 1}"#,
        int,
        &["1", "2", "40 + 2"],
        &["0", "-1"],
    ),
    row(
        "maximum",
        r#"{"type": "integer", "minimum": -9, "maximum": 100}"#,
        int,
        &["100", "1", "-9"],
        &["101", "-10", "9223372036854775807"],
    ),
    row(
        "exclusiveMinimum",
        r#"{"type": "number", "exclusiveMinimum": 0}"#,
        double,
        &["0.5", "1", "1.5e+3"],
        &["0.0", "-1.5"],
    ),
    row(
        "exclusiveMaximum",
        r#"{"type": "number", "exclusiveMaximum": 1.5}"#,
        double,
        &["1.25", "-3", "0.0"],
        &["1.5", "2"],
    ),
    row(
        "multipleOf",
        r#"{"type": "integer", "multipleOf": 5}"#,
        int,
        &["15", "0", "-5"],
        &["7", "-1"],
    ),
    row(
        "multipleOf a fraction",
        r#"{"type": "number", "multipleOf": 0.01}"#,
        double,
        &["19.99", "0.07", "3"],
        &["0.005", "1.999"],
    ),
    // Strings.
    row(
        "minLength",
        r#"{"type": "string", "minLength": 2}"#,
        text,
        &[r#""ab""#, r#""名字""#],
        &[r#""""#, r#""a""#, r#""😀""#],
    ),
    row(
        "maxLength",
        r#"{"type": "string", "maxLength": 5}"#,
        text,
        &[r#""""#, r#""hello""#, r#""😀😀😀😀😀""#],
        &[r#""sixsix""#],
    ),
    row(
        "pattern",
        r#"{"type": "string", "pattern": "^[A-Z]{2}[0-9]{3}$"}"#,
        text,
        &[r#""WZ001""#, r#""AB999""#],
        &[r#""wz001""#, r#""""#],
    ),
    row(
        "format: email",
        r#"{"type": "string", "format": "email"}"#,
        text,
        &[r#""x@example.com""#, r#""a.b+c@example.org""#],
        &[r#""nobody""#, r#""""#],
    ),
    row(
        "format: date",
        r#"{"type": "string", "format": "date"}"#,
        text,
        &[r#""2026-01-31""#, r#""2024-02-29""#],
        &[r#""31.1.2026""#, r#""2026-02-29""#],
    ),
    row(
        "format: date-time",
        r#"{"type": "string", "format": "date-time"}"#,
        text,
        &[
            r#""2026-01-31T09:00:00Z""#,
            r#""2026-01-31T09:00:00.5+01:00""#,
        ],
        &[r#""2026-01-31""#, r#""soon""#],
    ),
    row(
        "format: uuid",
        r#"{"type": "string", "format": "uuid"}"#,
        text,
        &[r#""01234567-89ab-cdef-0123-456789abcdef""#],
        &[r#""01234567""#],
    ),
    row(
        "format: uri",
        r#"{"type": "string", "format": "uri"}"#,
        text,
        &[r#""https://example.com/a?b=c""#, r#""urn:isbn:0""#],
        &[r#""no address""#],
    ),
    row(
        "format: ipv4",
        r#"{"type": "string", "format": "ipv4"}"#,
        text,
        &[r#""127.0.0.1""#],
        &[r#""127.0.0.256""#, r#""localhost""#],
    ),
    // Enumerations and constants.
    partly(row(
        "const",
        r#"{"const": "WZ"}"#,
        || Ty::Words(["WZ"].into()),
        &[r#""WZ""#],
        &[r#""wz""#, "1"],
    )),
    partly(row(
        "const of a number",
        r#"{"type": "number", "const": 2.5}"#,
        double,
        &["2.5"],
        &["2.0", "3"],
    )),
    partly(row(
        "enum of numbers",
        r#"{"enum": [1, 2, 3]}"#,
        int,
        &["1", "3"],
        &["4", "0", r#""1""#],
    )),
    partly(row(
        "enum with null",
        r#"{"enum": ["low", "high", null]}"#,
        || Ty::Words(["low", "high"].into()).optional(),
        &[r#""low""#, r#""high""#, "null"],
        &[r#""middle""#, "false"],
    )),
    partly(row(
        "enum of objects",
        r#"{"enum": [{"kind": "a", "n": 1}, {"kind": "b", "n": 2}]}"#,
        || object(&[("kind", Ty::Str, true), ("n", Ty::Int, true)], false),
        &[r#"{ kind: "a", n: 1 }"#, r#"{ kind: "b", n: 2 }"#],
        &[r#"{ kind: "c", n: 1 }"#, r#"{ kind: "a", n: 2 }"#],
    )),
    // Lists.
    row(
        "minItems",
        r#"{"type": "array", "items": {"type": "string"}, "minItems": 2}"#,
        texts,
        &[r#"["a", "b"]"#, "[<string>, <string>]"],
        &["[]", "[<string>]"],
    ),
    row(
        "maxItems",
        r#"{"type": "array", "items": {"type": "string"}, "maxItems": 2}"#,
        texts,
        &["[]", "[<string>]", r#"[<string>, "b"]"#],
        &["[<string>, <string>, <string>]", r#"["a", "b", "c"]"#],
    ),
    row(
        "uniqueItems",
        r#"{"type": "array", "items": {"type": "integer"}, "uniqueItems": true}"#,
        ints,
        &["[1, 2, 3]", "[<int>]", "[]"],
        &["[1, 2, 1]", "[<int>, 4, 4]"],
    ),
    row(
        "items",
        r#"{"type": "array", "items": {"type": "integer", "minimum": 0}}"#,
        ints,
        &["[0, 5]", "[]", "[7]"],
        &["[-1]", "[<int>, -1]"],
    ),
    partly(row(
        "prefixItems",
        r#"{"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer", "minimum": 1}]}"#,
        || Ty::Mix.list(),
        &["[<string>, 1]", "[<string>, 2, <int>]", "[<string>]", "[]"],
        &["[<int>]", "[<string>, 0]", r#"["a", "b"]"#],
    )),
    partly(row(
        "prefixItems and no more",
        r#"{"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": false}"#,
        || Ty::Mix.list(),
        &["[<string>, <int>]", "[<string>]", "[]"],
        &["[<string>, <int>, 1]", "[<int>]"],
    )),
    row(
        "contains",
        r#"{"type": "array", "items": {"type": "integer"}, "contains": {"minimum": 10}}"#,
        ints,
        &["[10]", "[<int>, 12]"],
        &["[]", "[1, 2]"],
    ),
    row(
        "minContains and maxContains",
        r#"{"type": "array", "items": {"type": "integer"}, "contains": {"const": 0}, "minContains": 2, "maxContains": 3}"#,
        ints,
        &["[0, 0]", "[0, 0, <int>]", "[0, 1, 0, 0]"],
        &["[0]", "[<int>]", "[0, 0, 0, 0]", "[0, 0, 0, 0, <int>]"],
    ),
    row(
        "minContains of nothing",
        r#"{"type": "array", "items": {"type": "integer"}, "contains": {"const": 0}, "minContains": 0, "maxContains": 1}"#,
        ints,
        &["[]", "[<int>]", "[0, 1]"],
        &["[0, <int>, 0]"],
    ),
    partly(row(
        "unevaluatedItems",
        r#"{"type": "array", "prefixItems": [{"type": "string"}], "unevaluatedItems": false}"#,
        texts,
        &["[<string>]", "[]"],
        &["[<string>, <string>]", r#"["a", "b"]"#],
    )),
    partly(row(
        "unevaluatedItems beside allOf",
        r#"{"type": "array", "allOf": [{"prefixItems": [{"type": "string"}]}], "unevaluatedItems": {"type": "integer"}}"#,
        || Ty::Mix.list(),
        &["[<string>]", "[<string>, <int>]", "[]"],
        &["[<string>, <string>]", r#"["a", "b"]"#],
    )),
    // Objects.
    row(
        "minProperties",
        r#"{"type": "object", "additionalProperties": {"type": "string"}, "minProperties": 1}"#,
        map_of_texts,
        &["{ a: <string> }", r#"{ a: <string>, `b c`: "d" }"#],
        &["{}"],
    ),
    row(
        "maxProperties",
        r#"{"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 1}"#,
        map_of_texts,
        &["{ a: <string> }", "{}"],
        &["{ a: <string>, b: <string> }"],
    ),
    row(
        "required",
        r#"{"type": "object", "properties": {"a": {"type": "integer", "minimum": 1}, "b": {"type": "string"}}, "required": ["a"]}"#,
        || object(&[("a", Ty::Int, true), ("b", Ty::Str, false)], true),
        &["{ a: 1 }", "{ a: 7, b: <string> }"],
        &["{}", "{ b: <string> }", "{ a: 0 }", "{ a: 0, b: <string> }"],
    ),
    partly(row(
        "required of what is not declared",
        r#"{"type": "object", "required": ["b"]}"#,
        || object(&[("b", Ty::Str, true)], true),
        &["{ b: <string> }", "{ a: 1, b: <int> }"],
        &["{}", "{ a: <string> }"],
    )),
    row(
        "additionalProperties: false",
        r#"{"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": false}"#,
        || object(&[("a", Ty::Int, false)], false),
        &["{ a: <int> }", "{}"],
        &["{ a: <int>, c: 2 }", "{ c: <string> }"],
    ),
    row(
        "additionalProperties",
        r#"{"type": "object", "additionalProperties": {"type": "integer", "maximum": 9}}"#,
        map_of_ints,
        &["{ a: 9 }", "{ a: 1, b: -3 }", "{}"],
        &["{ a: <int>, b: 10 }", "{ a: 10 }"],
    ),
    partly(row(
        "patternProperties",
        r#"{"type": "object", "patternProperties": {"^n_": {"type": "integer"}}}"#,
        map_of_ints,
        &["{ n_a: <int> }", "{ n_a: <int>, other: <string> }", "{}"],
        &["{ n_a: <string> }", "{ b: <int>, n_b: <bool> }"],
    )),
    partly(row(
        "patternProperties and no more",
        r#"{"type": "object", "patternProperties": {"^n_": {"type": "integer"}}, "additionalProperties": false}"#,
        map_of_ints,
        &["{ n_a: <int> }", "{}"],
        &["{ m: <int> }", "{ n_a: 1, m: 2 }"],
    )),
    partly(row(
        "propertyNames",
        r#"{"type": "object", "additionalProperties": {"type": "integer"}, "propertyNames": {"pattern": "^[a-z]+$"}}"#,
        map_of_ints,
        &["{ ab: <int> }", "{ a: <int>, b: 2 }", "{}"],
        &["{ A: <int> }", "{ a: <int>, `b c`: 2 }"],
    )),
    row(
        "dependentRequired",
        r#"{"type": "object", "properties": {"card": {"type": "string"}, "cvc": {"type": "string"}}, "dependentRequired": {"card": ["cvc"]}}"#,
        card,
        &[
            "{ card: <string>, cvc: <string> }",
            "{ cvc: <string> }",
            "{}",
        ],
        &["{ card: <string> }"],
    ),
    row(
        "dependentSchemas",
        r#"{"type": "object", "properties": {"card": {"type": "string"}, "cvc": {"type": "string"}},
            "dependentSchemas": {"card": {"properties": {"cvc": {"minLength": 3}}, "required": ["cvc"]}}}"#,
        card,
        &[
            r#"{ card: <string>, cvc: "123" }"#,
            "{ cvc: <string> }",
            "{}",
        ],
        &["{ card: <string> }", r#"{ card: <string>, cvc: "12" }"#],
    ),
    row(
        "unevaluatedProperties",
        r#"{"type": "object", "properties": {"a": {"type": "integer"}}, "unevaluatedProperties": false}"#,
        || object(&[("a", Ty::Int, false)], false),
        &["{ a: <int> }", "{}"],
        &["{ a: <int>, c: 2 }"],
    ),
    partly(row(
        "unevaluatedProperties beside allOf",
        r#"{"type": "object", "allOf": [{"properties": {"a": {"type": "integer"}}}], "properties": {"b": {"type": "string"}},
            "unevaluatedProperties": false}"#,
        || object(&[("a", Ty::Int, false), ("b", Ty::Str, false)], true),
        &["{ a: <int>, b: <string> }", "{ b: <string> }", "{}"],
        &["{ a: <int>, c: 2 }", "{ c: <string> }", "{ a: 1, c: 2 }"],
    )),
    // Combinations of schemas.
    row(
        "allOf",
        r#"{"allOf": [{"type": "integer"}, {"minimum": 5}, {"maximum": 9}]}"#,
        int,
        &["5", "9"],
        &["4", "10"],
    ),
    row(
        "anyOf",
        r#"{"anyOf": [{"type": "integer", "minimum": 10}, {"type": "string", "minLength": 2}]}"#,
        mix,
        &["12", r#""ab""#],
        &["3", r#""a""#],
    ),
    row(
        "oneOf",
        r#"{"type": "integer", "oneOf": [{"multipleOf": 3}, {"multipleOf": 5}]}"#,
        int,
        &["9", "10", "-3"],
        &["15", "7", "0"],
    ),
    partly(row(
        "oneOf of objects",
        r#"{"oneOf": [
            {"type": "object", "properties": {"kind": {"const": "a"}, "n": {"type": "integer"}}, "required": ["kind", "n"], "additionalProperties": false},
            {"type": "object", "properties": {"kind": {"const": "b"}, "s": {"type": "string"}}, "required": ["kind"], "additionalProperties": false}]}"#,
        || object(&[("kind", Ty::Str, true)], true),
        &[
            r#"{ kind: "a", n: <int> }"#,
            r#"{ kind: "b", s: <string> }"#,
            r#"{ kind: "b" }"#,
        ],
        &[
            r#"{ kind: "a", s: <string> }"#,
            r#"{ kind: "a" }"#,
            r#"{ kind: "c", n: <int> }"#,
        ],
    )),
    row(
        "not",
        r#"{"type": "integer", "not": {"const": 0}}"#,
        int,
        &["1", "-1"],
        &["0"],
    ),
    row(
        "not of required",
        r#"{"type": "object", "properties": {"card": {"type": "string"}, "cvc": {"type": "string"}}, "not": {"required": ["card", "cvc"]}}"#,
        card,
        &["{ card: <string> }", "{ cvc: <string> }", "{}"],
        &["{ card: <string>, cvc: <string> }"],
    ),
    partly(row(
        "if, then and else",
        r#"{"type": "object", "properties": {"kind": {"enum": ["a", "b"]}, "n": {"type": "integer"}}, "required": ["kind"],
            "if": {"properties": {"kind": {"const": "a"}}}, "then": {"required": ["n"]}, "else": {"not": {"required": ["n"]}}}"#,
        || {
            object(
                &[
                    ("kind", Ty::Words(["a", "b"].into()), true),
                    ("n", Ty::Int, false),
                ],
                true,
            )
        },
        &[r#"{ kind: "a", n: <int> }"#, r#"{ kind: "b" }"#],
        &[r#"{ kind: "a" }"#, r#"{ kind: "b", n: <int> }"#],
    )),
    with(
        CODE,
        row(
            "$ref",
            r##"{"$ref": "#/$defs/code"}"##,
            text,
            &[r#""WZ""#, r#""ABC""#],
            &[r#""wz""#, r#""""#],
        ),
    ),
    with(
        CODE,
        row(
            "$ref beside a keyword",
            r##"{"$ref": "#/$defs/code", "maxLength": 3}"##,
            text,
            &[r#""WZ""#, r#""ABC""#],
            &[r#""WXYZ""#, r#""ab""#],
        ),
    ),
    with(
        TREE,
        partly(row(
            "$ref to itself",
            r##"{"$ref": "#/$defs/tree"}"##,
            || object(&[("v", Ty::Int, true)], true),
            &["{ v: 1, next: { v: 0 } }", "{ v: 3 }"],
            &[
                "{ v: -1 }",
                "{ v: <int>, next: { v: -1 } }",
                "{ v: 1, next: {} }",
            ],
        )),
    ),
    row(
        "type with null",
        r#"{"type": ["integer", "null"], "minimum": 1}"#,
        nullable,
        &["null", "3"],
        &["0", r#""a""#],
    ),
    row(
        "nullable",
        r#"{"type": "integer", "nullable": true, "minimum": 1}"#,
        nullable,
        &["null", "2"],
        &["0"],
    ),
    row(
        "default",
        r#"{"type": "integer", "maximum": 9, "default": 4}"#,
        int,
        &["3", "9"],
        &["10"],
    ),
    row(
        "no type beside properties",
        r#"{"properties": {"a": {"type": "integer", "minimum": 1}}, "required": ["a"]}"#,
        || object(&[("a", Ty::Int, true)], true),
        &["{ a: 1 }"],
        &["{}", "{ a: 0 }", "1"],
    ),
];

/// How a call passes an argument of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    Absent,
    /// Any value.
    There,
    True,
    False,
}

/// A constraint on two arguments of one tool, both of which are optional.
#[derive(Debug)]
pub struct PairRule {
    pub name: &'static str,
    /// The keywords to add next to `properties`, given the names of the two arguments.
    pub schema: fn(&str, &str) -> Json,
    pub keeps: &'static [(Given, Given)],
    pub breaks: &'static [(Given, Given)],
}

impl PairRule {
    /// Returns true if the rule tests the value of the first argument.
    pub fn asks_truth(&self) -> bool {
        self.keeps.iter().any(|(first, _)| *first == Given::True)
    }
}

use Given::{Absent, False, There, True};

pub const PAIR_RULES: &[PairRule] = &[
    PairRule {
        name: "dependentRequired of arguments",
        schema: |one, other| json!({"dependentRequired": {one: [other]}}),
        keeps: &[(Absent, Absent), (Absent, There), (There, There)],
        breaks: &[(There, Absent)],
    },
    PairRule {
        name: "dependentSchemas of arguments",
        schema: |one, other| json!({"dependentSchemas": {one: {"required": [other]}}}),
        keeps: &[(Absent, Absent), (Absent, There), (There, There)],
        breaks: &[(There, Absent)],
    },
    PairRule {
        name: "dependentSchemas that excludes an argument",
        schema: |one, other| json!({"dependentSchemas": {one: {"properties": {other: false}}}}),
        keeps: &[(Absent, Absent), (Absent, There), (There, Absent)],
        breaks: &[(There, There)],
    },
    PairRule {
        name: "if, then and else over arguments",
        schema: |one, other| json!({"if": {"required": [one]}, "then": {"required": [other]}, "else": {"not": {"required": [other]}}}),
        keeps: &[(Absent, Absent), (There, There)],
        breaks: &[(There, Absent), (Absent, There)],
    },
    PairRule {
        name: "if over the value of an argument",
        schema: |one, other| json!({"if": {"properties": {one: {"const": true}}, "required": [one]}, "then": {"required": [other]}}),
        keeps: &[
            (True, There),
            (False, Absent),
            (False, There),
            (Absent, Absent),
        ],
        breaks: &[(True, Absent)],
    },
    PairRule {
        name: "anyOf of required arguments",
        schema: |one, other| json!({"anyOf": [{"required": [one]}, {"required": [other]}]}),
        keeps: &[(There, Absent), (Absent, There), (There, There)],
        breaks: &[(Absent, Absent)],
    },
    PairRule {
        name: "oneOf of required arguments",
        schema: |one, other| json!({"oneOf": [{"required": [one]}, {"required": [other]}]}),
        keeps: &[(There, Absent), (Absent, There)],
        breaks: &[(There, There), (Absent, Absent)],
    },
    PairRule {
        name: "not of required arguments",
        schema: |one, other| json!({"not": {"required": [one, other]}}),
        keeps: &[(Absent, Absent), (There, Absent), (Absent, There)],
        breaks: &[(There, There)],
    },
];
