//! Narrowing by conditions about absence.

use planrun_lang::types::Type;
use planrun_lang::value::Value;

use super::world::{World, object};

fn world() -> World {
    let pc = object(&[
        ("model", Type::String),
        ("owner?", object(&[("name", Type::String)])),
    ]);
    World::default()
        .name("laptop", Type::Bool, Value::Bool(false))
        .name("remote", Type::Bool, Value::Bool(false))
        .guarded("pc", pc.clone(), "laptop", Value::Null)
        .guarded("thin", pc.clone(), "!laptop", Value::Null)
        .guarded("both", pc, "laptop && remote", Value::Null)
        .name(
            "o",
            object(&[("f?", object(&[("g", Type::Int)])), ("n?", Type::Int)]),
            Value::object::<&str>([]),
        )
        .name("r", Type::Result(Type::Int.into()), Value::Null)
}

#[test]
fn r2_3_narrowing_is_syntactic() {
    assert_eq!(world().codes("pc.model"), ["maybe-absent"]);
    assert_eq!(world().when("laptop").ty("pc.model"), "string");
    assert_eq!(world().when("laptop && remote").ty("both.model"), "string");
    assert_eq!(world().when("remote && laptop").ty("both.model"), "string");
    assert_eq!(world().when("laptop").codes("both.model"), ["maybe-absent"]);
    assert_eq!(world().when("!laptop").codes("pc.model"), ["maybe-absent"]);
    // Nothing else is inferred.
    assert_eq!(
        world().when("laptop == true").codes("pc.model"),
        ["maybe-absent"]
    );
    assert_eq!(
        world().when("laptop || remote").codes("pc.model"),
        ["maybe-absent"]
    );
}

#[test]
fn r2_3_has_and_not_null_narrow() {
    for guard in [
        "has(pc)",
        "pc != null",
        "!(pc == null)",
        "null != pc",
        "has(pc.model)",
        "pc?.model != null",
    ] {
        assert_eq!(world().when(guard).ty("pc.model"), "string", "{guard}");
    }
    assert_eq!(world().when("has(o.f)").ty("o.f.g"), "int");
    assert_eq!(world().when("o.f != null && true").ty("o.f.g"), "int");
    assert_eq!(world().when("has(o.n)").codes("o.f.g"), ["maybe-absent"]);
}

#[test]
fn r2_3_complementary_guards_make_coalesce_non_null() {
    assert_eq!(world().ty("(pc ?? thin).model"), "string");
    assert_eq!(world().ty("(thin ?? pc).model"), "string");
    assert_eq!(world().ty("pc.model ?? thin.model"), "string");
    assert_eq!(world().codes("(pc ?? both).model"), ["maybe-absent"]);
    assert_eq!(world().codes("pc.model ?? both.model"), ["maybe-absent"]);
}

#[test]
fn r10_1_conditionals_and_logical_operators_narrow() {
    assert_eq!(world().ty("laptop ? pc.model : ''"), "string");
    assert_eq!(world().ty("!laptop ? '' : pc.model"), "string");
    assert_eq!(world().ty("laptop && pc.model == 'x'"), "bool");
    assert_eq!(world().ty("!laptop || pc.model == 'x'"), "bool");
    assert_eq!(world().ty("pc == null || pc.model == 'x'"), "bool");
    assert_eq!(world().ty("has(o.f) ? o.f.g : 0"), "int");
    assert_eq!(world().codes("laptop || pc.model == 'x'"), ["maybe-absent"]);
    assert_eq!(world().codes("has(o.f) ? 0 : o.f.g"), ["maybe-absent"]);
}

#[test]
fn r10_1_ok_narrows_a_result() {
    assert_eq!(world().ty("r.ok ? r.value : 0"), "int");
    assert_eq!(world().ty("r.ok ? '' : r.error.message"), "string");
    assert_eq!(world().when("r.ok").ty("r.value + 1"), "int");
    assert_eq!(world().codes("r.value + 1"), ["maybe-absent"]);
    assert_eq!(world().ty("r.value"), "int?");
    assert_eq!(world().ty("r.error?.cause?.class ?? ''"), "string");
}

#[test]
fn absence_travels_through_safe_links() {
    assert_eq!(world().ty("pc?.model"), "string?");
    assert_eq!(world().ty("pc?.model ?? 'none'"), "string");
    assert_eq!(world().ty("pc.model ?? 'none'"), "string");
    assert_eq!(world().ty("o.f?.g"), "int?");
    assert_eq!(world().codes("pc?.owner.name"), ["maybe-absent"]);
    assert_eq!(world().ty("pc?.owner?.name"), "string?");
    assert_eq!(world().ty("pc.owner.name ?? ''"), "string");
    assert_eq!(world().ty("has(pc.owner)"), "bool");
}

#[test]
fn a_variable_of_a_macro_hides_what_is_known_of_another() {
    let list = object(&[("x?", Type::Int)]).list();
    let world = world()
        .name("pcs", list, Value::list([]))
        .when("has(o.n) && pc != null");
    assert_eq!(
        world.codes("pcs.map(o, o.x + 1)"),
        ["shadowed-name", "maybe-absent"]
    );
    assert_eq!(world.ty("pcs.map(p, has(p.x), p.x + 1)"), "int[]");
    assert_eq!(
        world.ty("pcs.filter(p, has(p.x) && p.x > 1)"),
        "{ x: int }[]"
    );
}

#[test]
fn r2_6_has_tells_what_is_missing_and_not_what_is_null() {
    let person = object(&[
        ("nick", Type::String.optional()),
        ("name?", Type::String),
        ("both?", Type::String.optional()),
    ]);
    let world = World::default().name("p", person, Value::object([("nick", Value::Null)]));
    assert_eq!(
        world.codes("has(p.nick) ? p.nick + '' : ''"),
        ["maybe-absent"]
    );
    assert_eq!(world.ty("p.nick != null ? p.nick + '' : ''"), "string");
    assert_eq!(world.ty("has(p.name) ? p.name + '' : ''"), "string");
    assert_eq!(world.ty("has(p.both) ? p.both + '' : ''"), "string");
    assert_eq!(world.value("has(p.nick)").unwrap(), Value::Bool(true));
    assert_eq!(world.value("has(p.both)").unwrap(), Value::Bool(false));
}

#[test]
fn a_filter_that_drops_null_gives_elements_that_are_there() {
    let world = World::default().name("xs", Type::Int.optional().list(), Value::list([]));
    assert_eq!(world.ty("xs.filter(x, x != null)"), "int[]");
    assert_eq!(world.ty("sum(xs.filter(x, x != null && x > 1))"), "int");
    assert_eq!(world.codes("xs.map(x, x + 1)"), ["maybe-absent"]);
}
