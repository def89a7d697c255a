//! Names: branches of one `if` that define the same name, separate blocks, and facts after an early end (1.7, 2.3).

use std::collections::BTreeMap;

use serde_json::json;

use crate::world::{Script, World, after, give};
use planrun_lang::diag::Diagnostic;
use planrun_lang::protocol::{RunState, Sent};
use planrun_lang::sema::{NoFiles, Tools, check_without_rules};
use planrun_lang::source::SourceFile;
use planrun_runs::journal::MemoryLog;

const TOOLS: &str = "
use a
type Item = { id: string, note?: string, size: int? }
tool a.find(x?: any) -> { id: string, note: string?, next?: { id: string } }? read
tool a.get(x?: any) -> { id: string } read
tool a.list(x?: any) -> Item[] read
tool a.text(x: string) -> string read
tool a.number(x: int) -> int read
tool a.flag(x?: any) -> bool read
tool a.write(x?: any) -> { id: string } effect
tool a.count(x?: any) -> int effect
";

pub fn findings(text: &str) -> Vec<Diagnostic> {
    check_without_rules(
        &SourceFile::new("test.plan", text),
        &Tools::default(),
        &NoFiles,
    )
    .diagnostics
}

/// Returns the codes of the errors in a plan with these statements.
fn errors(body: &str) -> Vec<&'static str> {
    errors_of(&format!(
        "{TOOLS}\nplan p(s?: string, n?: int, c: bool, d: bool) {{ {body} }}"
    ))
}

pub fn errors_of(text: &str) -> Vec<&'static str> {
    let mut codes: Vec<_> = findings(text)
        .iter()
        .filter(|found| found.is_error())
        .map(|found| found.code.name)
        .collect();
    codes.dedup();
    codes
}

fn hold(cases: &[(&str, &[&str])]) {
    for (body, expected) in cases {
        assert_eq!(errors(body), *expected, "{body}");
    }
}

const ABSENT: &[&str] = &["maybe-absent"];
const FINE: &[&str] = &[];

#[test]
fn c4_r2_3_what_an_end_above_has_left_is_known_below() {
    hold(&[
        ("step x = a.find() reply x.id", ABSENT),
        (
            "step x = a.find() ensure x != null else \"none\" reply x.id",
            FINE,
        ),
        (
            "step x = a.find() ensure has(x) else \"none\" reply x.id",
            FINE,
        ),
        (
            "step x = a.find() ensure null != x else \"none\" reply x.id",
            FINE,
        ),
        (
            "step x = a.find() ensure !(x == null) else \"none\" reply x.id",
            FINE,
        ),
        (
            "step x = a.find() ensure x?.note != null else \"none\" step y = a.text(x: x.note) reply y",
            FINE,
        ),
        (
            "step x = a.find() ensure x != null && x.note != null else \"none\" step y = a.text(x: x.note) reply y",
            FINE,
        ),
        (
            "step x = a.find() ensure x != null || c else \"none\" reply x.id",
            ABSENT,
        ),
        (
            "step x = a.find() fail tool.none \"none\" when x == null reply x.id",
            FINE,
        ),
        (
            "step x = a.find() fail tool.none when !has(x) reply x.id",
            FINE,
        ),
        (
            "step x = a.find() fail tool.none when x == null && c reply x.id",
            ABSENT,
        ),
        (
            "step x = a.find() reply \"none\" when x == null reply x.id",
            FINE,
        ),
        (
            "step x = a.find() if x == null { fail tool.none \"none\" } reply x.id",
            FINE,
        ),
        (
            "step x = a.find() if x == null { reply \"none\" } reply x.id",
            FINE,
        ),
        (
            "step x = a.find() if x == null { step w = a.write() } reply x.id",
            ABSENT,
        ),
        (
            "step x = a.find() if x != null { step w = a.write() } else { fail tool.none } reply x.id",
            FINE,
        ),
        (
            "step x = a.find() if c { ensure x != null else \"none\" } reply x.id",
            ABSENT,
        ),
        (
            "step x = a.find() reply x?.id when c ensure x != null else \"none\" reply x.id",
            FINE,
        ),
        (
            "step x = a.find() let y = x.id ensure x != null else \"none\" reply y",
            ABSENT,
        ),
        ("step x = a.number(x: n) reply x", ABSENT),
        (
            "ensure n != null else \"none\" step x = a.number(x: n) reply x",
            FINE,
        ),
        (
            "fail tool.none when s == null || n == null step x = a.number(x: n) step y = a.text(x: s) reply \"${x}${y}\"",
            FINE,
        ),
        (
            "reply 0 when s == null || n == null step x = a.number(x: n) step y = a.text(x: s) reply \"${x}${y}\"",
            FINE,
        ),
        (
            "ensure s != null && n != null else \"none\" step x = a.number(x: n) step y = a.text(x: s) reply \"${x}${y}\"",
            FINE,
        ),
    ]);
}

#[test]
fn r2_3_an_end_in_a_block_speaks_of_the_block() {
    hold(&[
        (
            "step x = a.find() step u = do { ensure x != null else \"none\" yield x.id } reply u",
            FINE,
        ),
        (
            "step x = a.find() step u = do { yield \"none\" when x == null yield x.id } reply u",
            FINE,
        ),
        (
            "step x = a.find() step u = do { ensure x != null else \"none\" yield x.id } reply x.id",
            ABSENT,
        ),
        (
            "step x = a.find() ensure x != null else \"none\" step u = do { yield x.id } reply u",
            FINE,
        ),
        (
            "step x = a.find() ensure x != null else \"none\" step u = each i in [1] max 1 { yield x.id } reply u",
            FINE,
        ),
        (
            "step x = a.find() step u = repeat v = 1 max 3 { yield 0 when x == null yield x.id next null } reply u",
            ABSENT,
        ),
        (
            "step x = a.find() step u = repeat v = 1 max 3 { next null when x == null yield x.id next null } reply u",
            FINE,
        ),
    ]);
}

#[test]
fn r2_3_a_listener_knows_nothing_of_the_flow() {
    let listener = "listener l on plan is completed { step w = a.write(x: x.id) }";
    hold(&[
        (
            &format!("step x = a.find() ensure x != null else \"none\" {listener} reply x.id"),
            ABSENT,
        ),
        (
            &format!("step x = a.get() when c fail tool.none when !c {listener} reply x.id"),
            ABSENT,
        ),
        (
            &format!("step x = a.find() if x != null {{ {listener} }}"),
            FINE,
        ),
        (
            &format!("if c {{ step x = a.get() }} else {{ reply 1 }} {listener} reply x.id"),
            ABSENT,
        ),
        (
            &format!(
                "if c {{ step x = a.get() }} else {{ step x = a.get() }} {listener} reply x.id"
            ),
            FINE,
        ),
    ]);
}

#[test]
fn r2_3_guards_that_an_end_has_decided_make_nothing_absent() {
    hold(&[
        ("step x = a.get() when c reply x.id", ABSENT),
        (
            "step x = a.get() when c fail tool.none when !c reply x.id",
            FINE,
        ),
        (
            "fail tool.none when !c step x = a.get() when c reply x.id",
            FINE,
        ),
        (
            "ensure c && d else \"no\" step x = a.get() when c reply x.id",
            FINE,
        ),
        (
            "step x = a.get() when c && d ensure c else \"no\" reply x.id",
            ABSENT,
        ),
        (
            "step x = a.get() when c && d ensure c else \"no\" ensure d else \"no\" reply x.id",
            FINE,
        ),
        (
            "step x = a.get() ensure c else \"no\" step y = a.get() reply y.id",
            FINE,
        ),
    ]);
}

#[test]
fn r2_3_a_coalesce_is_symmetric_in_its_guards() {
    let both = |one: &str, other: &str, value: &str| {
        format!(
            "step x = a.get() when {one} step y = a.get() when {other} let z = {value} reply z.id"
        )
    };
    for (one, other) in [
        ("c", "!c"),
        ("!c", "c"),
        ("c && d", "!(c && d)"),
        ("c || d", "!(c || d)"),
        ("c || d", "!c && !d"),
        ("n == null", "n != null"),
    ] {
        assert_eq!(errors(&both(one, other, "x ?? y")), FINE, "{one}, {other}");
        assert_eq!(errors(&both(one, other, "y ?? x")), FINE, "{one}, {other}");
    }
    for (one, other) in [
        ("c", "d"),
        ("c && d", "!c"),
        ("c", "!(c && d)"),
        ("c || d", "!c"),
    ] {
        let expected = if one == "c" && other == "!(c && d)" || one == "c || d" {
            FINE
        } else {
            ABSENT
        };
        assert_eq!(
            errors(&both(one, other, "x ?? y")),
            expected,
            "{one}, {other}"
        );
    }
}

#[test]
fn c4_r2_3_the_elements_that_a_filter_keeps() {
    let settled = |value: &str| {
        format!(
            "step rs = each i in [1, 2] max 2 settle {{ step w = a.write(x: i) yield w.id }} let v = {value} reply v"
        )
    };
    for (value, expected) in [
        ("rs.filter(r, r.ok).map(r, r.value.size())", FINE),
        ("rs.filter(r, !r.ok).map(r, r.error.message.size())", FINE),
        (
            "rs.filter(r, r.ok && r.value != \"\").map(r, r.value.size())",
            FINE,
        ),
        ("rs.filter(r, has(r.value)).map(r, r.value.size())", FINE),
        ("rs.map(r, r.ok, r.value.size())", FINE),
        ("rs.map(r, r.value.size())", ABSENT),
        ("rs.filter(r, r.ok || c).map(r, r.value.size())", ABSENT),
        ("rs.filter(r, r.ok).map(r, r.error)", &["unknown-field"]),
    ] {
        assert_eq!(errors(&settled(value)), expected, "{value}");
    }
    hold(&[
        (
            "step xs = a.list() let v = xs.filter(x, x.size != null).map(x, x.size + 1) reply v",
            FINE,
        ),
        (
            "step xs = a.list() let v = xs.filter(x, has(x.note)).map(x, x.note.size()) reply v",
            FINE,
        ),
        (
            "step xs = a.list() let v = xs.filter(x, x.size != null && c).map(x, x.size + 1) reply v",
            FINE,
        ),
        (
            "step xs = a.list() let v = xs.filter(x, x.size == null).map(x, x.size + 1) reply v",
            ABSENT,
        ),
        (
            "step xs = a.list() step v = each x in xs.filter(x, x.size != null) max 9 { yield x.size + 1 } reply v",
            FINE,
        ),
        (
            "step xs = a.list() step v = each y in xs.filter(x, x.size != null) max 9 { yield y.size + 1 } reply v",
            FINE,
        ),
        (
            "step x = a.find() let v = [x].filter(y, y != null).map(y, y.id) reply v",
            FINE,
        ),
    ]);
}

#[test]
fn r10_1_every_atom_narrows_where_a_condition_is_decided() {
    for atom in ["has(x)", "x != null", "x?.note != null", "null != x"] {
        hold(&[
            (
                &format!("step x = a.find() reply {atom} ? x.id : \"\""),
                FINE,
            ),
            (
                &format!("step x = a.find() reply {atom} && x.id != \"\""),
                FINE,
            ),
            (
                &format!("step x = a.find() reply !({atom}) || x.id != \"\""),
                FINE,
            ),
            (
                &format!("step x = a.find() step y = a.text(x: x.id) when {atom} reply y"),
                FINE,
            ),
            (
                &format!("step x = a.find() reply {atom} || x.id != \"\""),
                ABSENT,
            ),
        ]);
    }
    hold(&[
        (
            "step x = a.find() reply has(x.next) ? x.next.id : \"\"",
            FINE,
        ),
        (
            "step x = a.find() reply x != null ? x.next.id : \"\"",
            ABSENT,
        ),
        (
            "step x = a.find() ensure x != null else \"\" reply has(x.next) ? x.next.id : \"\"",
            FINE,
        ),
        (
            "step x = a.find() ensure x != null && has(x.next) else \"\" reply x.next.id",
            FINE,
        ),
        (
            "step x = a.find() reply match x { null => \"\", _ => x.id }",
            FINE,
        ),
    ]);
    // `fail` ends a path, so the reply is not missing there.
    let declared =
        |body: &str| errors_of(&format!("{TOOLS}\nplan p(c: bool) -> string {{ {body} }}"));
    assert_eq!(
        declared("if c { reply \"a\" } else { fail tool.none }"),
        FINE
    );
    assert_eq!(declared("if c { reply \"a\" }"), ["missing-reply"]);
}

#[test]
fn r2_3_a_context_that_may_be_emptied_stays_open() {
    let of = |set: &str| {
        format!(
            "task t \"T\" {{ note: string }} ensure t.note != null else \"none\" {set} step y = a.text(x: t.note) reply y"
        )
    };
    assert_eq!(errors(&of("")), FINE);
    assert_eq!(errors(&of("set t running { note: s }")), ABSENT);
}

#[expect(clippy::too_many_lines, reason = "a table of cases")]
#[test]
fn c7_r1_7_the_branches_of_an_if_give_one_name() {
    hold(&[
        (
            "if c { step x = a.get() } else { step x = a.write() } reply x.id",
            FINE,
        ),
        (
            "if c { step x = a.get() } else if d { step x = a.write() } else { step x = a.get() } reply x.id",
            FINE,
        ),
        (
            "if c { step x = a.get() } else if d { step x = a.write() } reply x.id",
            ABSENT,
        ),
        (
            "if c { step x = a.get() } else if d { reply 1 } else { step x = a.get() } reply x.id",
            FINE,
        ),
        (
            "if c { step x = a.get() } else if d { fail tool.no } reply x.id",
            ABSENT,
        ),
        (
            "if c { step x = a.get() } else { if d { step x = a.write() } else { fail tool.no } } reply x.id",
            FINE,
        ),
        (
            "if c { step x = a.get() } else { fail tool.no } reply x.id",
            FINE,
        ),
        (
            "if c { fail tool.no } else { step x = a.get() } reply x.id",
            FINE,
        ),
        (
            "if c && d { step x = a.get() } else { step x = a.get() } reply x.id",
            FINE,
        ),
        (
            "if c || d { step x = a.get() } else { step x = a.get() } reply x.id",
            FINE,
        ),
        (
            "if c { let x = 1 } else { let x = 2 } step y = a.number(x: x) reply y",
            FINE,
        ),
        (
            "if c { let x = \"a\" } else { let x = \"b\" } step y = a.number(x: x) reply y",
            &["wrong-type"],
        ),
        (
            "if c { let x = 1 } else { let x = \"b\" } let y = c ? x + 1 : x.size() reply y",
            FINE,
        ),
        (
            "if c { step x = a.get() } else { let x = { id: \"none\" } } reply x.id",
            FINE,
        ),
        (
            "if c { step x = a.get() } else { let x = null } reply x.id",
            ABSENT,
        ),
        (
            "if c { let y = x.id step x = a.get() } else { step x = a.get() }",
            &["use-before-definition"],
        ),
        (
            "if c { step x = a.get() } else { let y = x.id step x = a.get() }",
            &["use-before-definition"],
        ),
        (
            "if c { step x = a.get() reply x.id } else { step x = a.find() reply x.id }",
            ABSENT,
        ),
        (
            "if c { step x = a.get() } if !c { step x = a.get() }",
            &["duplicate-name"],
        ),
        (
            "step x = a.get() when c step x = a.get() when !c",
            &["duplicate-name"],
        ),
        (
            "if c { step x = a.get() step x = a.get() }",
            &["duplicate-name"],
        ),
        (
            "if c { step x = a.get() } else { step x = a.get() } step x = a.get()",
            &["duplicate-name"],
        ),
        (
            "if c { task x \"X\" } else { task x \"X\" }",
            &["duplicate-name"],
        ),
        (
            "if c { step x = a.get() } else { step x = a.write() } step y = a.get() after x when x is completed reply y",
            FINE,
        ),
        (
            "if c { step x = a.get() } else { let x = 1 } reply x is completed",
            &["unknown-status"],
        ),
        (
            "if c { step x = race { one: a.get(), two: a.get() } } else { step x = a.get() } ensure winner(x) != null \
             else \"none\" reply match winner(x) { \"one\" => 1, \"two\" => 2, null => 3 }",
            FINE,
        ),
    ]);
}

#[test]
fn every_step_has_a_path_of_its_own() {
    const AMBIGUOUS: &[&str] = &["ambiguous-path"];
    hold(&[
        ("step `x.y` = a.get() reply `x.y`.id", AMBIGUOUS),
        ("step `x[0]` = a.get() reply `x[0]`.id", AMBIGUOUS),
        ("let `x.y` = 1 reply `x.y`", AMBIGUOUS),
        ("task `x.y` \"X\"", AMBIGUOUS),
        (
            "step r = race { `x.y`: a.get(), z: a.get() } reply r.id",
            AMBIGUOUS,
        ),
        ("step `x y/z` = a.get() reply `x y/z`.id", FINE),
        (
            "step u = do { step undo = a.write() yield undo.id } undo a.write(x: u)",
            AMBIGUOUS,
        ),
        (
            "step u = do { step undo = a.write() yield undo.id } undo do { step x = a.write(x: u) yield x }",
            AMBIGUOUS,
        ),
        (
            "step u = do { step verify = a.write() yield verify.id } verify a.find() as v => v != null",
            AMBIGUOUS,
        ),
        (
            "step u = do { step recover = a.get() yield recover.id } recover _ => null",
            AMBIGUOUS,
        ),
        (
            "step u = race { recover: a.get(), other: a.get() } recover _ => null",
            AMBIGUOUS,
        ),
        // Without the clause, its word is a name like any other.
        (
            "step undo = do { step verify = a.write() yield verify.id }",
            FINE,
        ),
        (
            "step u = do { step v = do { step undo = a.write() yield undo.id } yield v } undo a.write(x: u)",
            FINE,
        ),
        (
            "step u = each e in [1] max 1 { step undo = a.write() yield undo.id } undo a.write(x: u)",
            FINE,
        ),
    ]);
    let called = "plan q() -> string { step undo = a.write() reply undo.id }";
    let calling = |clause: &str| {
        format!("{TOOLS}\n{called}\nplan p() -> string {{ step u = q() {clause} reply u }}")
    };
    assert_eq!(errors_of(&calling("undo a.write(x: u)")), AMBIGUOUS);
    assert_eq!(errors_of(&calling("")), FINE);
}

#[test]
fn r1_7_names_of_blocks_are_their_own() {
    hold(&[
        (
            "step u = do { step x = a.get() yield x.id } step e = do { step x = a.find() yield x } reply e",
            FINE,
        ),
        (
            "step u = do { step x = a.get() yield x.id } reply x",
            &["unknown-name"],
        ),
        (
            "step x = a.get() step u = do { step x = a.get() yield x.id } reply x.id",
            &["duplicate-name"],
        ),
        (
            "step u = do { step x = a.get() yield x.id } step x = a.get() reply x.id",
            &["duplicate-name"],
        ),
        (
            "step u = do { step u = a.get() yield u.id } reply u",
            &["duplicate-name"],
        ),
        (
            "step u = do { step c = a.get() yield c.id } reply u",
            &["duplicate-name"],
        ),
        (
            "step u = each i in [1] max 1 { step i = a.get() yield i.id } reply u",
            &["duplicate-name"],
        ),
        (
            "step u = each c in [1] max 1 { yield c } reply u",
            &["duplicate-name"],
        ),
        (
            "step u = a.get() recover _ as c => { id: c.message } reply u.id",
            &["duplicate-name"],
        ),
        (
            "step u = each i, i in [1] max 1 { yield i } reply u",
            &["duplicate-name"],
        ),
        (
            "step u = each i in [1] max 1 { yield i } step v = each i in [2] max 1 { yield i } reply [u, v]",
            FINE,
        ),
        (
            "step u = do { task t \"T\" set t done } step e = do { task t \"T\" statuses [open, shut] set t shut }",
            FINE,
        ),
        (
            "step u = each c in [1] max 1 { yield c } reply u",
            &["duplicate-name"],
        ),
        (
            "step u = a.get() recover _ as c => { id: c.message } reply u.id",
            &["duplicate-name"],
        ),
        (
            "step u = each i, i in [1] max 1 { yield i } reply u",
            &["duplicate-name"],
        ),
        (
            "step u = each i in [1] max 1 { yield i } step v = each i in [2] max 1 { yield i } reply [u, v]",
            FINE,
        ),
        (
            "step u = do { task t \"T\" set t done } set t done",
            &["unknown-name"],
        ),
        (
            "step u = do { let x = 1 yield x } step e = do { let x = \"a\" yield x } reply \"${u}${e}\"",
            FINE,
        ),
        (
            "step x = match c { true => do { step y = a.get() yield y.id }, false => do { step y = a.get() yield y.id } } reply x",
            FINE,
        ),
        (
            "listener l on plan is failed { step y = a.write() } listener m on plan is completed { step y = a.write() }",
            FINE,
        ),
    ]);
    // Names of separate blocks are reported as unused independently.
    let unread =
        "step u = do { let x = 1 yield x } step e = do { let x = 2 yield 1 } reply \"${u}${e}\"";
    let found = findings(&format!("{TOOLS}\nplan p() {{ {unread} }}"));
    assert_eq!(
        found
            .iter()
            .filter(|found| found.code.name == "unused-let")
            .count(),
        1
    );
}

fn world() -> World {
    World::new()
        .tool("a.get", [after(10, give(json!({"id": "got"})))])
        .tool("a.write", [after(20, give(json!({"id": "written"})))])
        .tool("a.count", [give(json!(1))])
        .tool("a.flag", [after(5, give(json!(true)))])
}

fn plan(body: &str) -> String {
    format!("{TOOLS}\nplan p() {{ step c = a.flag() {body} }}")
}

#[tokio::test(start_paused = true)]
async fn c7_r1_7_a_run_lists_a_name_once_as_it_was_taken() {
    for (condition, id, order) in [
        ("c", "got", ["a.flag", "a.get"]),
        ("!c", "written", ["a.flag", "a.write"]),
    ] {
        let body = format!(
            "if {condition} {{ step x = a.get() }} else {{ step x = a.write() }} reply x.id"
        );
        let ran = world().run(&plan(&body)).await;
        assert_eq!((ran.reply(), ran.order()), (json!(id), order.to_vec()));
        let steps = ran.outcome.steps();
        assert_eq!(
            steps.iter().map(|step| &*step.path).collect::<Vec<_>>(),
            ["c", "x"]
        );
        assert_eq!(ran.status("x"), "completed");
        let settled = ran
            .events
            .iter()
            .filter(|(name, path, _)| *name == "step.settled" && path == "x")
            .count();
        assert_eq!(settled, 1, "{condition}");
    }
    let ran = world()
        .run(&plan(
            "if !c { step x = a.get() } else if !c { step x = a.write() } reply x?.id",
        ))
        .await;
    assert_eq!(
        (ran.reply(), ran.status("x").as_str()),
        (json!(null), "skipped(guard)")
    );
    let settled = ran
        .events
        .iter()
        .filter(|(name, path, _)| *name == "step.settled" && path == "x")
        .count();
    assert_eq!((settled, ran.outcome.steps().len()), (1, 2));
}

#[tokio::test(start_paused = true)]
async fn r1_7_whoever_waits_for_a_name_waits_for_its_branch() {
    for condition in ["c", "!c"] {
        let body = format!(
            "if {condition} {{ step x = a.get() }} else {{ step x = a.write() }} step y = a.count() after x \
             listener l on x is completed {{ step heard = a.count(x: 2) }} \
             step w = wait for x is settled step z = a.count(x: 3) when x is completed reply \"${{x.id}} ${{z ?? 0}}\""
        );
        let ran = world().run(&plan(&body)).await;
        let id = if condition == "c" { "got" } else { "written" };
        assert_eq!(ran.reply(), json!(format!("{id} 1")), "{condition}");
        assert_eq!(ran.status("l[0].heard"), "completed", "{condition}");
        let asked = ran
            .calls("a.count")
            .iter()
            .map(|seen| seen.arguments["x"].clone())
            .collect::<Vec<_>>();
        assert!(
            asked.contains(&json!(2)) && asked.contains(&json!(3)),
            "{condition}"
        );
        let done = if condition == "c" { 15 } else { 25 };
        assert!(
            ran.calls("a.count").iter().all(|seen| seen.at >= done),
            "{condition}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn r1_7_a_branch_that_fails_fails_its_name() {
    let failing = || world().tool("a.get", [Script::Fail("tool.failed", Sent::Answered)]);
    let text = format!(
        "{TOOLS}\nplan p() {{ policy {{ on_failure: settle }} step c = a.flag() \
         if c {{ step x = a.get() }} else {{ step x = a.write() }} step y = a.count(x: x.id) reply x is failed }}"
    );
    let ran = failing().run(&text).await;
    assert_eq!(
        (ran.reply(), ran.status("x"), ran.status("y")),
        (json!(true), "failed".into(), "skipped(upstream)".into())
    );
    assert_eq!(
        ran.outcome
            .steps()
            .iter()
            .filter(|step| &*step.path == "x")
            .count(),
        1
    );
}

#[tokio::test(start_paused = true)]
async fn r1_7_a_condition_without_a_value_fails_a_name_once() {
    let text = plan(
        "let k = c ? 5 : 0 if [1][k] == 1 { step x = a.count() recover _ => a.count(x: 1) } \
         else { step x = a.count() recover _ => a.count(x: 2) } reply x",
    );
    let ran = world().run(&text).await;
    assert_eq!(
        ran.outcome
            .steps()
            .iter()
            .filter(|step| &*step.path == "x")
            .count(),
        1
    );
    assert_eq!(ran.calls("a.count").len(), 1);
    assert_eq!(ran.reply(), json!(1));
}

#[tokio::test(start_paused = true)]
async fn r1_7_a_run_goes_on_from_its_journal_with_one_name_in_two_branches() {
    let text = plan(
        "if !c { step x = a.get() } else { step x = a.write() } step y = a.count(x: x.id) reply x.id",
    );
    let log = MemoryLog::default();
    let mut world = world();
    world.journal = Some(log.clone());
    assert_eq!(world.run(&text).await.reply(), json!("written"));
    for events in 1..log.lines().len() {
        let mut world = self::world().tool("a.write", [give(json!({"id": "written"}))]);
        world.journal = Some(MemoryLog::default().dying_after(events));
        if world
            .run_until_it_dies(&text, BTreeMap::new())
            .await
            .is_some()
        {
            continue;
        }
        world.journal = world.journal.map(MemoryLog::revived);
        let again = world.run_until_it_dies(&text, BTreeMap::new()).await;
        // If an effect was in flight when the process died, the run waits for an answer about its outcome.
        let Some(again) = again.filter(|again| again.outcome.state == RunState::Completed) else {
            continue;
        };
        assert_eq!(again.reply(), json!("written"), "after {events} events");
        assert_eq!(again.outcome.steps().len(), 3, "after {events} events");
    }
}
