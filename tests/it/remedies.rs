//! Remedies that depend on the context: fixes that are safe in one place and unsafe in another, and texts that agree in
//! number.

use serde_json::Value;

use crate::support::{folder, planrun};

const HEAD: &str = "use db
tool db.read(key?: string) -> string read
";

/// Returns the findings with this code in a plan with these statements.
fn found(code: &str, statements: &str) -> Vec<Value> {
    let plan = format!(
        "{HEAD}\nplan p(name: string, flag: bool, names: string[]) -> any {{\n{statements}\n}}\n"
    );
    let folder = folder([("a.plan", plan)]);
    let output = planrun(["check", "--format", "json"])
        .within(folder.path())
        .run()
        .json();
    let all = output["diagnostics"].as_array().unwrap().iter();
    all.filter(|finding| finding["code"] == code)
        .cloned()
        .collect()
}

#[test]
fn a_call_that_may_not_happen_is_not_moved_without_asking() {
    let safe = |expression: &str| {
        let found = found(
            "call-in-expression",
            &format!("reply [name, flag, names, {expression}]"),
        );
        assert_eq!(found.len(), 1, "{expression}");
        found[0]["fix"]["safe"].as_bool().unwrap()
    };
    assert!(safe("db.read() + name"));
    assert!(safe("db.read() == name && flag"));
    assert!(safe("db.read() == name ? 1 : 2"));
    assert!(!safe("flag ? db.read() : name"));
    assert!(!safe("flag ? name : db.read()"));
    assert!(!safe("flag && db.read() == name"));
    assert!(!safe("flag || db.read() == name"));
    assert!(!safe("names.map(one, db.read(key: one))"));
    assert!(!safe("match flag { true => db.read(), false => name }"));
}

#[test]
fn a_variable_of_a_macro_should_hide_nothing() {
    let shadows = |expression: &str| {
        found(
            "shadowed-name",
            &format!("reply [name, flag, {expression}]"),
        )
        .len()
    };
    assert_eq!(shadows("names.map(one, one + name)"), 0);
    assert_eq!(shadows("names.map(name, name)"), 1);
    assert_eq!(shadows("names.exists(flag, flag == \"\")"), 1);
    assert_eq!(
        shadows("names.map(one, names.map(one, one))"),
        0,
        "no value of the plan is hidden"
    );
}

#[test]
fn one_finding_for_one_fault() {
    assert_eq!(
        found(
            "no-overload",
            "let xs = [missing]\nreply [name, flag, names, xs.sort()]"
        )
        .len(),
        0
    );
    assert_eq!(
        found(
            "unknown-name",
            "let xs = [missing]\nreply [name, flag, names, xs.sort()]"
        )
        .len(),
        1
    );
}

#[test]
fn what_stands_there_is_said() {
    let found = found(
        "wrong-type",
        "policy { timeout: \"soon\" }\nreply [name, flag, names]",
    );
    assert_eq!(found[0]["actual"], "`\"soon\"`");
}

#[test]
fn a_misspelt_setting_of_the_project_hides_nothing() {
    let plan = format!(
        "{HEAD}\nplan p() -> string {{\n    step a = db.read(kye: \"x\")\n    reply a\n}}\n"
    );
    let folder = folder([
        ("a.plan", plan.as_str()),
        ("planrun.yaml", "policy:\n  retri: { attempts: 2 }\n"),
    ]);
    let output = planrun(["check", "--format", "json"])
        .within(folder.path())
        .run();
    assert_eq!(output.status, 1, "{output:?}");
    let found = output.json();
    let codes = found["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| finding["code"].as_str().unwrap());
    let mut codes = codes.collect::<Vec<_>>();
    codes.sort_unstable();
    assert_eq!(
        codes,
        ["config-key", "unimplemented-tool", "unknown-argument"]
    );
}

/// Fixes a plan with these items and returns the codes of the errors that remain.
fn errors_after(fix: &str, items: &str) -> Vec<String> {
    let text = format!(
        "use crm\ntool crm.find(id: string) -> {{ name: string, start: string, wait: string }} read fails none\n\
         tool crm.write(id: string) -> {{ letter: string }} effect fails bounced\n\n{items}\n"
    );
    let folder = folder([("a.plan", text)]);
    planrun(["check", fix, "a.plan"])
        .within(folder.path())
        .run();
    let left = planrun(["check", "--format", "json", "a.plan"])
        .within(folder.path())
        .run()
        .json();
    let all = left["diagnostics"].as_array().unwrap().iter();
    all.filter(|found| found["severity"] == "error")
        .map(|found| format!("{}: {}", found["code"], found["message"]))
        .collect()
}

#[test]
fn safe_fixes_of_arms_messages_and_forms_lead_to_a_clean_check() {
    for items in [
        "plan p(id: string) -> string {\n step a = crm.find(id: id)\n recover tool.none as e => fail tool.bad e.message\n reply a.name\n}",
        "plan p(id: string) -> string {\n step a = crm.find(id: id)\n recover tool.none as e => do {\n fail tool.bad \
         e.message\n }\n reply a.name\n}",
        "plan p(id: string) -> string {\n fail tool.bad id + \"!\" when id == \"\"\n reply id\n}",
        "plan p(id: string) -> string {\n fail tool.bad (id)\n}",
        "plan p(k: \"a\" | \"b\") -> string {\n step c = match k {\n   \"a\" => crm.find(id: k)\n     recover tool.none => \
         null,\n   \"b\" => null,\n }\n reply c?.name ?? \"\"\n}",
        "plan p(k: \"a\" | \"b\") -> any {\n step c = match k {\n \"a\" => race { x: crm.find(id: k), y: crm.find(id: \
         \"b\") },\n \"b\" => wait 5s,\n }\n reply c\n}",
        "plan p(k: bool, xs: string[]) -> any {\n step c = match k {\n true => each x in xs max 9 { step f = \
         crm.find(id: x) yield f.name },\n false => input \"Go?\" -> { ok: bool } by \"desk\" within 1d,\n }\n reply c\n}",
        "plan p() -> string {\n step c = race { a: crm.find(id: \"1\") timeout 5s, b: crm.find(id: \"2\") when true }\n \
         reply c?.name ?? \"\"\n}",
        "plan p() -> string {\n step d = input \"?\" -> { name: string, note?: string, size?: \"s\" | \"m\", n ? : int? }\n \
         reply d.name + (d.note ?? \"\") + (d.size ?? \"\") + string(d.n ?? 0)\n}\n\n\
         test \"t\" for p {\n answer d => { name: \"a\" }\n expect reply == \"a0\"\n}",
    ] {
        assert_eq!(
            errors_after("--fix", items),
            Vec::<String>::new(),
            "{items}"
        );
    }
}

#[test]
fn fixes_of_texts_that_are_times_and_of_positions_lead_to_a_clean_check() {
    let plan = |statements: &str| {
        format!(
            "plan p(at: timestamp, xs: string[]) -> any {{\n step e = crm.find(id: \"1\")\n {statements}\n}}"
        )
    };
    for statements in [
        "step w = wait until e.start reply 1",
        "let x: timestamp = e.start reply x",
        "let x: duration = e.wait reply x",
        "reply e.start > at",
        "reply at == e.start",
        "reply e.start + 14d",
        "reply at + e.wait",
        "reply at - e.start",
        "reply e.start - 14d",
        "reply e.start.getMonth()",
        "reply e.start.format(\"%Y\")",
        "reply e.wait.getHours()",
        "reply xs.map(x, i, \"${i}${x}\")",
    ] {
        let left = errors_after("--unsafe-fix", &plan(statements));
        assert_eq!(left, Vec::<String>::new(), "{statements}");
    }
    for statements in [
        "let x: timestamp = \"2026-03-02T09:00:00Z\" reply x",
        "let x: duration = \"5m\" reply x",
        "let x: duration = \"1.5h\" reply x",
    ] {
        let left = errors_after("--fix", &plan(statements));
        assert_eq!(left, Vec::<String>::new(), "{statements}");
    }
    // The text `1209600s` is hardly meant.
    let found = found("no-overload", "reply [\"in \" + 14d, name, flag, names]");
    assert!(found[0]["fix"].is_null(), "{found:?}");
}
