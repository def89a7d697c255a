//! The conformance cases of the Common Expression Language, read in place.

use std::collections::BTreeMap;
use std::sync::Arc;

use indexmap::IndexMap;
use planrun_lang::builtins;
use planrun_lang::eval::eval_text;
use planrun_lang::sema::expr::Checker;
use planrun_lang::sema::{Atom, Binding, Lookup, NameKind, Place, Scope};
use planrun_lang::source::{SourceFile, Span};
use planrun_lang::syntax::parse_expression;
use planrun_lang::types::{Literal, MapType, Type};
use planrun_lang::value::{Number, Value};
use serde_json::Value as Json;

use super::support;

/// Cases with another meaning in plans, with the difference that `docs/language.md` names. None of them has only the
/// tags `core` and `time`.
const DIFFERENCES: &[(&str, &str)] = &[
    ("comparisons/lte_literal/lte_dyn_big_double_int", EXACT),
    (
        "comparisons/gte_literal/gte_dyn_int_big_lossy_double",
        EXACT,
    ),
    (
        "type_deduction/type_parameters/multiple_parameters_generality",
        ABSTRACT,
    ),
];

const EXACT: &str =
    "numbers of different kinds compare by what they are, not by the double nearest to both";
const ABSTRACT: &str = "no abstract types declared from outside";

/// Tags of features that the language does not have. Of the cases without these tags, a fixed share must hold.
const OTHER_WORLDS: [&str; 3] = ["ext:network", "ext:block", "optionals"];
/// Minimum share of those cases that must hold, in percent.
const MIN_SHARE: usize = 97;

/// Tags of features that the language has not adopted, with the reason.
const LEFT_OUT: &[(&str, &str)] = &[
    (
        "optionals",
        "absence is null with `?.` and `??`, not a type of its own",
    ),
    ("ext:network", "no addresses as values"),
    ("ext:block", "a macro for optimizers, not for people"),
    (
        "namespace",
        "no containers, no dotted bindings, no leading dot",
    ),
];

#[test]
fn core_and_time_hold() {
    let Some(path) = support::cases("cel/cel.jsonl") else {
        return;
    };
    let text = std::fs::read_to_string(path).unwrap();
    let mut totals: BTreeMap<String, Tally> = BTreeMap::new();
    let mut broken = Vec::new();
    for line in text.lines() {
        let case = Case::new(line);
        let tally = totals.entry(case.tags.join("+")).or_default();
        let verdict = case.run();
        let skipped = case.left_out();
        match (&verdict, skipped) {
            (Ok(()), _) => tally.passed += 1,
            (Err(_), Some(reason)) => *tally.skipped.entry(reason).or_default() += 1,
            (Err(reason), None) => {
                tally.failed += 1;
                let summary = format!(
                    "{} [{}]: {}: {reason}",
                    case.name,
                    case.tags.join("+"),
                    case.text
                );
                if case.must_hold() {
                    broken.push(summary);
                } else {
                    println!("cel: not held: {summary}");
                }
            }
        }
    }
    for (tags, tally) in &totals {
        println!(
            "cel: {tags} {}/{} passed, {} failed{}",
            tally.passed,
            tally.total(),
            tally.failed,
            tally.reasons()
        );
    }
    assert!(
        broken.is_empty(),
        "{} of core and time fail:\n{}",
        broken.len(),
        broken.join("\n")
    );
}

#[test]
fn what_does_not_hold_is_listed_with_its_reason() {
    let Some(path) = support::cases("cel/cel.jsonl") else {
        return;
    };
    let text = std::fs::read_to_string(path).unwrap();
    let manual = std::fs::read_to_string(support::root().join("docs/language.md")).unwrap();
    let (mut all, mut held, mut untold) = (0, 0, Vec::new());
    for case in text.lines().map(Case::new) {
        if case
            .tags
            .iter()
            .any(|tag| OTHER_WORLDS.contains(&tag.as_str()))
        {
            continue;
        }
        all += 1;
        match case.run() {
            Ok(()) => held += 1,
            Err(reason) => {
                let row = format!("| `{}` | {} |", case.name, case.left_out().unwrap_or("?"));
                if !manual.contains(&row) {
                    untold.push(format!("{row} {reason}"));
                }
            }
        }
    }
    println!("cel: {held} of {all} cases outside of {OTHER_WORLDS:?} hold");
    assert!(
        untold.is_empty(),
        "docs/language.md does not list\n{}",
        untold.join("\n")
    );
    assert!(held * 100 >= all * MIN_SHARE, "{held} of {all}");
}

#[test]
fn every_example_of_the_library_holds() {
    let of_functions = builtins::all().map(|function| function.examples);
    let of_macros = builtins::MACROS.iter().map(|one| one.examples);
    for examples in of_functions.chain(of_macros) {
        for example in examples {
            let value = eval_text(example.expression, &IndexMap::new());
            let value = value.unwrap_or_else(|error| panic!("{}: {error}", example.expression));
            assert_eq!(
                value.to_json_text(),
                example.result,
                "{}",
                example.expression
            );
        }
    }
}

/// The results for one set of tags.
#[derive(Default)]
struct Tally {
    passed: usize,
    failed: usize,
    skipped: BTreeMap<&'static str, usize>,
}

impl Tally {
    fn total(&self) -> usize {
        self.passed + self.failed + self.skipped.values().sum::<usize>()
    }

    fn reasons(&self) -> String {
        let reasons = self
            .skipped
            .iter()
            .map(|(reason, count)| format!(", {count} skipped ({reason})"));
        reasons.collect::<Vec<_>>().concat()
    }
}

/// One line of the file.
struct Case {
    name: String,
    text: String,
    tags: Vec<String>,
    bindings: IndexMap<String, Value>,
    declared: Vec<(Arc<str>, Type)>,
    expect: Json,
}

impl Case {
    fn new(line: &str) -> Self {
        let json: Json = serde_json::from_str(line).unwrap();
        let text = |name: &str| json[name].as_str().unwrap_or_default().to_owned();
        let tags = json["tags"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tag| tag.as_str().unwrap().to_owned())
            .collect();
        let bindings = json["bindings"].as_object().unwrap().iter();
        let declared = json["type_env"].as_array().unwrap().iter();
        Self {
            name: format!("{}/{}/{}", text("file"), text("section"), text("name")),
            text: text("expr"),
            tags,
            bindings: bindings
                .map(|(name, value)| (name.clone(), Value::from_typed_json(value).unwrap()))
                .collect(),
            declared: declared
                .map(|entry| {
                    (
                        entry["name"].as_str().unwrap().into(),
                        declared_type(&entry["type"]),
                    )
                })
                .collect(),
            expect: json["expect"].clone(),
        }
    }

    fn must_hold(&self) -> bool {
        self.tags.iter().all(|tag| tag == "core" || tag == "time")
    }

    /// Returns the reason if this case need not hold.
    fn left_out(&self) -> Option<&'static str> {
        let named = DIFFERENCES
            .iter()
            .find(|(name, _)| *name == self.name)
            .map(|(_, reason)| *reason);
        let by_tag = || {
            LEFT_OUT
                .iter()
                .find(|(tag, _)| self.tags.iter().any(|own| own == tag))
        };
        named.or_else(|| by_tag().map(|(_, reason)| *reason))
    }

    fn run(&self) -> Result<(), String> {
        if let Some(expected) = self.expect.get("deduced_type") {
            let found = self.deduced();
            if found != *expected {
                return Err(format!("deduced {found}, expected {expected}"));
            }
        }
        let result = eval_text(&self.text, &self.bindings);
        if let Some(expected) = self.expect.get("value") {
            let expected = Value::from_typed_json(expected).unwrap();
            let found = result.map_err(|error| format!("failed: {error}"))?;
            if !same(&found, &expected) {
                return Err(format!(
                    "gave {}, expected {}",
                    found.to_typed_json(),
                    expected.to_typed_json()
                ));
            }
            return Ok(());
        }
        match result {
            Ok(found) if self.expect.get("error").is_some() => Err(format!(
                "gave {}, expected the error {}",
                found.to_typed_json(),
                self.expect["error"]
            )),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    fn deduced(&self) -> Json {
        let source = SourceFile::new("case", self.text.as_str());
        let (tree, _) = parse_expression(&source);
        let mut diagnostics = Vec::new();
        let scope = Declared(&self.declared);
        type_json(&Checker::new(&scope, &mut diagnostics).check(&tree).ty)
    }
}

/// Bindings with the types that a case declares.
struct Declared<'a>(&'a [(Arc<str>, Type)]);

impl Scope for Declared<'_> {
    fn lookup(&self, name: &str) -> Lookup {
        let Some(slot) = self.0.iter().position(|(known, _)| &**known == name) else {
            return Lookup::Missing;
        };
        let place = Place {
            up: 0,
            slot: u32::try_from(slot).unwrap(),
        };
        Lookup::Found(Binding::always(
            NameKind::Parameter,
            place,
            self.0[slot].1.clone(),
            Span::default(),
        ))
    }

    fn visible(&self) -> Vec<Arc<str>> {
        self.0.iter().map(|(name, _)| name.clone()).collect()
    }

    fn facts(&self) -> &[Atom] {
        &[]
    }
}

/// Returns true if two values are equal and all their parts have the same types. NaN equals itself here, and the two
/// zeros differ.
fn same(found: &Value, expected: &Value) -> bool {
    match (found, expected) {
        (Value::List(found), Value::List(expected)) => {
            found.len() == expected.len()
                && found.iter().zip(expected.iter()).all(|(a, b)| same(a, b))
        }
        (Value::Map(found), Value::Map(expected)) => {
            found.len() == expected.len()
                && expected
                    .iter()
                    .all(|(key, value)| found.get(key).is_some_and(|other| same(other, value)))
        }
        _ if found.kind_name() != expected.kind_name() => false,
        _ => match (found.as_number(), expected.as_number()) {
            (Some(Number::Double(a)), Some(Number::Double(b))) => {
                a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
            }
            _ => found == expected,
        },
    }
}

fn declared_type(json: &Json) -> Type {
    match json.as_str() {
        Some("int") => Type::Int,
        Some("uint") => Type::Uint,
        Some("double") => Type::Double,
        Some("string") => Type::String,
        Some("bool") => Type::Bool,
        Some("bytes") => Type::Bytes,
        Some("null") => Type::Null,
        Some("timestamp") => Type::Timestamp,
        Some("duration") => Type::Duration,
        Some(_) => Type::Any,
        None => match (json.get("list"), json.get("map")) {
            (Some(element), _) => declared_type(element).list(),
            (None, Some(pair)) => Type::Map(Arc::new(MapType {
                key: declared_type(&pair[0]),
                value: declared_type(&pair[1]),
            })),
            (None, None) => Type::Any,
        },
    }
}

/// Returns a type in the notation of the cases. Literal types become their base type, and unions are dynamic.
fn type_json(ty: &Type) -> Json {
    let word = |word: &str| Json::String(word.to_owned());
    match ty {
        Type::Literal(Literal::Bool(_)) | Type::Bool => word("bool"),
        Type::Literal(Literal::Int(_)) | Type::Int => word("int"),
        Type::Literal(Literal::String(_)) | Type::String => word("string"),
        Type::Null => word("null"),
        Type::Uint => word("uint"),
        Type::Double => word("double"),
        Type::Bytes => word("bytes"),
        Type::Timestamp => word("timestamp"),
        Type::Duration => word("duration"),
        Type::Type => word("type"),
        Type::List(element) => serde_json::json!({"list": type_json(element)}),
        Type::Map(map) => serde_json::json!({"map": [type_json(&map.key), type_json(&map.value)]}),
        Type::Object(object) => {
            let value = Type::union(object.fields.iter().map(|field| field.ty.clone()));
            serde_json::json!({"map": ["string", type_json(&value)]})
        }
        Type::Union(members) => {
            let mut kinds: Vec<Json> = members.iter().map(type_json).collect();
            kinds.dedup();
            if kinds.len() == 1 {
                kinds.remove(0)
            } else {
                word("dyn")
            }
        }
        Type::Never | Type::Any | Type::Invalid | Type::Result(_) | Type::Error => word("dyn"),
    }
}

/// The differences that `docs/language.md` lists.
mod differences {
    use super::*;

    fn holds(text: &str) {
        let value = eval_text(text, &IndexMap::new());
        let value = value.unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(value, Value::Bool(true), "{text}");
    }

    fn fails(text: &str) {
        assert!(
            eval_text(text, &IndexMap::new()).is_err(),
            "{text} has a value"
        );
    }

    #[test]
    fn numbers_mix() {
        holds("1 + 0.5 == 1.5");
        holds("2.0 * 3 == 6");
        holds("type(1 + 1) == int && type(1 + 1.0) == double");
        fails("1u + 1");
    }

    #[test]
    fn numbers_of_different_kinds_compare_exactly() {
        holds("dyn(9223372036854775807) < 9223372036854775808.0");
        holds("dyn(9007199254740993) != 9007199254740992.0");
    }

    #[test]
    fn bare_keys_are_field_names() {
        holds("{ a: 1 } == { 'a': 1 }");
        holds("{ true: 1 }[true] == 1");
        holds("{ ('a' + 'b'): 1 }.ab == 1");
        holds("{ step: 1 }.step == 1");
    }

    #[test]
    fn templates_interpolate() {
        holds(r#""${1 + 1} of ${'two'}" == '2 of two'"#);
        holds(r#""\${x}" == '$' + '{x}'"#);
        holds("'${x}' == r'${x}'");
        holds(r#""${1.0} ${0.5} ${true}" == '1 0.5 true'"#);
    }

    #[test]
    fn text_blocks_lose_their_indentation() {
        holds("\"\"\"\n    a\n      b\n    \"\"\" == 'a\\n  b'");
    }

    #[test]
    fn durations_are_literals() {
        holds("1h + 30m == duration('90m')");
        holds("1d == duration('24h') && duration('1d') == 24h");
        holds("200ms < 1s");
    }

    #[test]
    fn absence_is_null() {
        holds("{ a: null }.a?.b == null");
        holds("({ a: 1 }.b ?? 2) == 2");
        holds("({ a: null }.a.b.c ?? 'none') == 'none'");
        holds("([1][3] ?? 0) == 0");
        fails("{ 'a': 1 }['b']");
        fails("{ a: 1 }.?a");
        fails("optional.of(1)");
    }

    #[test]
    fn has_takes_a_name() {
        holds("[1].all(x, has(x))");
        holds("![null].exists(x, has(x))");
        holds("has({ a: 1 }.a) && !has({ a: 1 }.b)");
        holds("has({ 'a': { 'x': 1 } }['a'].x) && !has({ 'a': { 'x': 1 } }['b'].x)");
        holds("!has({ 'a': { 'x': 1 } }.b.x) && ![[{ 'x': 1 }]].exists(l, has(l[1].x))");
    }

    #[test]
    fn reserved_words_are_those_of_statements() {
        holds("[1].all(for, for == 1)");
        holds("[1].all(var, var == 1)");
        fails("[1].all(step, step == 1)");
        fails("[1].all(in, true)");
    }

    #[test]
    fn what_is_left_out_is_refused() {
        fails("google.protobuf.Duration{seconds: 1}");
        fails(".name");
    }
}
