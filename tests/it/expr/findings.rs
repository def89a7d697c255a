//! The diagnostics of expressions, verbatim.

use planrun_lang::types::Type;
use planrun_lang::value::Value;

use super::world::{World, describe, fixed, object, snapshot, texts};

fn world() -> World {
    let manager = object(&[("email", Type::String), ("name?", Type::String)]);
    let profile = object(&[
        ("emp_id", Type::String),
        ("level", texts(&["L1", "L2"])),
        ("managers", manager.list()),
    ]);
    World::default()
        .name("profile", profile, Value::Null)
        .name("laptop", Type::Bool, Value::Null)
        .guarded(
            "pc",
            object(&[("model", Type::String), ("price", Type::Double)]),
            "laptop",
            Value::Null,
        )
        .parameter("count", Type::Int)
        .name("title", Type::String, Value::Null)
        .name("note", Type::String.optional(), Value::Null)
        .name("data", Type::Any, Value::Null)
        .name("at", Type::Timestamp, Value::Null)
        .name("nothing", Type::Null, Value::Null)
        .name("名字", Type::String, Value::Null)
        .name("r", Type::Result(Type::String.list().into()), Value::Null)
        .race("quick", &["a", "b"])
        .later("badge")
        .namespace("hr")
}

fn all_reports(
    texts: &[&str],
    check: impl Fn(&World, &str) -> Vec<planrun_lang::diag::Diagnostic>,
) -> String {
    let world = world();
    texts.iter().fold(String::new(), |all, text| {
        all + text + "\n" + &describe(text, &check(&world, text)) + "\n"
    })
}

#[test]
fn names_and_fields() {
    snapshot(
        "names",
        &all_reports(
            &[
                "profil.emp_id",
                "badge",
                "hr",
                "1 + size(hr.query(id: profile.emp_id).name)",
                "profile.emplid",
                "profile.managers.email",
                "title.x",
                "nmae + 名",
                "note.x",
                "r.value.size()",
                "r.value + 1",
                "profile[\"levl\"]",
                "count is failed",
                "profile is faild",
                "banana is failed",
                "[1].map(xs, x)",
            ],
            |world, text| world.check(text).1,
        ),
    );
}

#[test]
fn absence() {
    snapshot(
        "absence",
        &all_reports(
            &[
                "pc.model",
                "profile.managers[0].name + '!'",
                "size(note)",
                "-pc.price",
                "nothing.x",
                "\"${note}\"",
                "pc[0]",
                "[pc].map(x, x.price)",
                "{ 'a': pc }.transformList(key, x, x.price)",
            ],
            |world, text| world.check(text).1,
        ),
    );
}

#[test]
fn operators_and_functions() {
    snapshot(
        "operators",
        &all_reports(
            &[
                "title + count",
                "title - 1",
                "-title",
                "!count",
                "count && true",
                "profile.level == \"L3\"",
                "profile.level == \"l1\"",
                "count == title",
                "profile < profile",
                "title in profile.managers",
                "count[0]",
                "profile.managers[title]",
                "sise(title)",
                "contains(title, 'a')",
                "title.contain('a')",
                "title.size",
                "contains(title + 'b', 'a')",
                "\"${10s}\"",
                "math.least()",
                "size(count)",
                "size(title, 1)",
                "title.startsWith(count)",
                "size(x: title)",
                "winner(count)",
                "has(count + 1)",
                "count.map(x, x)",
                "[1].filter(x, x)",
                "[1].map(x.y, x)",
                "title.matches('(')",
                "timestamp('yesterday')",
                "\"${profile.managers} ${at}\"",
                "9007199254740993 == 1.5",
                "{ 1.5: 2 }",
                "math.greatst(1, 2)",
                "signal \"go\"",
            ],
            |world, text| world.check(text).1,
        ),
    );
}

#[test]
fn values_that_go_somewhere() {
    let expected = object(&[
        ("to", Type::String),
        ("level", texts(&["L1", "L2"])),
        ("cc?", Type::String.list()),
        ("nested?", object(&[("deep", Type::Int)])),
    ]);
    snapshot(
        "somewhere",
        &all_reports(
            &[
                "{ to: title, level: 'L1' }",
                "{ to: count, level: 'L1' }",
                "{ level: 'L3', to: title, cc: ['a', count] }",
                "{ to: title }",
                "{ to: title, level: 'L2', bc: 1 }",
                "{ to: note, level: 'L2', nested: { deep: 'x' } }",
                "{ to: title, level: 'L1', cc: note }",
                "laptop ? { to: title, level: 'L1' } : { to: title, level: 'L9' }",
                "title",
                "profile",
                "data",
                "{ to: data, level: data.level }",
            ],
            |world, text| world.against(text, &expected).1,
        ),
    );
}

#[test]
fn conditions() {
    snapshot(
        "conditions",
        &all_reports(
            &[
                "laptop",
                "note",
                "count",
                "title",
                "profile.managers",
                "data",
                "data.ok == true",
                "pc.price",
                "count + 1",
                "at",
            ],
            |world, text| world.condition(text).1,
        ),
    );
}

#[test]
fn one_fault_is_told_once() {
    for text in [
        "profil.a.b + 1 == 2 && profil.c",
        "size(badge.x) > 1 ? badge.y : 3",
        "[hr.call(a: 1)].map(x, x.y.z)",
    ] {
        let names = world().codes(text);
        assert!(
            names.len() <= 3 && names.iter().all(|name| *name == names[0]),
            "{text}: {names:?}"
        );
    }
    assert_eq!(world().codes("profile.emplid.a.b.c + 1").len(), 1);
}

#[test]
fn fixes_lead_to_text_without_the_finding() {
    for text in [
        "profile.emplid",
        "pc.model",
        "\"${profile.managers}\"",
        "profile.level == \"l1\"",
        "size(note)",
        "size(x: title)",
        "profile is faild",
        "titel + 'a'",
        "contains(title + 'b', 'a')",
        "profile.managers[0].name + '!'",
        "!(count)",
        "!(count + 1)",
        "profile[\"levl\"]",
        "\"${at}\"",
    ] {
        let (_, found) = world().check(text);
        let mended = fixed(text, &found[0]);
        assert_eq!(world().codes(&mended), [""; 0], "{text} => {mended}");
    }
    for text in [
        "note",
        "count",
        "title",
        "profile.managers",
        "data",
        "count + 1",
        "pc?.price",
    ] {
        let (_, found) = world().condition(text);
        let mended = fixed(text, &found[0]);
        assert!(
            world().condition(&mended).1.is_empty(),
            "{text} => {mended}"
        );
    }
}

#[test]
fn a_call_in_an_expression_becomes_a_step() {
    let text = "1 + size(hr.query(id: profile.emp_id).name)";
    let (_, found) = world().check(text);
    assert_eq!(found.len(), 1);
    assert_eq!(
        fixed(text, &found[0]),
        "step query = hr.query(id: profile.emp_id)\n1 + size(query.name)"
    );
}

#[test]
fn reads_are_told_once_each() {
    let (code, _) = world()
        .check("profile.emp_id + profile.level + (profile is failed ? title : '') + winner(quick)");
    let reads: Vec<String> = code
        .reads
        .iter()
        .map(|read| format!("{} {:?} {:?}", read.name, read.kind, read.binding))
        .collect();
    assert_eq!(
        reads,
        [
            "profile Value Step",
            "profile State Step",
            "title Value Step",
            "quick Value Step"
        ]
    );
    assert_eq!(world().ty("winner(quick)"), r#""a" | "b""#);
}
