//! `unchecked-index`: elements and entries that are read without a test whether they are there.

use crate::support::{folder, planrun};

const HEAD: &str = "use db
type Row = { id: int, name: string, tags: string[] }
tool db.read(key?: string) -> Row[] read
plan p(rows: Row[], all: map<string, Row>, n: int, s: string, other?: Row[]) -> any {
";

/// Returns the text that is reported in a plan with these statements.
fn reported(statements: &str) -> Vec<String> {
    let text = format!("{HEAD}{statements}\n}}\n");
    let folder = folder([("p.plan", text.as_str())]);
    let output = planrun(["check", "--format", "json", "--enable", "unchecked-index"])
        .within(folder.path())
        .run()
        .json();
    let findings = output["diagnostics"].as_array().unwrap();
    assert!(
        findings.iter().all(|found| found["severity"] != "error"),
        "{statements}: {output}"
    );
    let found = findings
        .iter()
        .filter(|found| found["code"] == "unchecked-index");
    found
        .map(|found| {
            let offset =
                |at: &str| usize::try_from(found["span"][at]["offset"].as_u64().unwrap()).unwrap();
            text[offset("start")..offset("end")].to_owned()
        })
        .collect()
}

#[test]
fn what_no_condition_mentions_is_reported_once() {
    for (statements, expected) in [
        ("reply rows[0].name", vec!["rows[0]"]),
        ("reply { a: rows[n].name, b: rows[n].id }", vec!["rows[n]"]),
        ("reply rows.map(r, r.tags[0])", vec!["r.tags[0]"]),
        (
            "step found = db.read()\nreply found[0].tags[1]",
            vec!["found[0]"],
        ),
        (
            "reply \"${rows[0].name}, ${rows[1].name}\"",
            vec!["rows[0]", "rows[1]"],
        ),
        ("reply all[s].id", vec!["all[s]"]),
        ("let o = { a: 1, b: 2 }\nreply o[s]", vec!["o[s]"]),
        (
            "step rs = each r in rows max 5 settle { yield r.id }\nreply rs.map(r, r[s])",
            vec!["r[s]"],
        ),
        (
            "reply all.first.id + all[\"last\"].id",
            vec!["all.first", "all[\"last\"]"],
        ),
        (
            "step found = db.read(key: rows[0].name)\nreply found",
            vec!["rows[0]"],
        ),
        // The condition is about another list, or holds elsewhere.
        (
            "ensure size(rows[0].tags) > 0 else 'none'\nreply 1",
            vec!["rows[0]"],
        ),
        (
            "reply size(rows) > 0 ? 1 : rows.filter(r, r.id > 1)[0].id",
            vec!["rows.filter(r, r.id > 1)[0]"],
        ),
        (
            "step found = db.read()\n    when size(rows) > 0\nreply rows[0].id",
            vec!["rows[0]"],
        ),
        ("reply other != null ? other[0].id : 0", vec!["other[0]"]),
        (
            "step each_row = each r in rows max 5 { yield r.tags[0] }\nreply each_row",
            vec!["r.tags[0]"],
        ),
    ] {
        assert_eq!(reported(statements), expected, "{statements}");
    }
}

#[test]
fn what_is_tested_has_a_default_or_is_known_is_not_reported() {
    for statements in [
        "reply size(rows) > 0 ? rows[0].name : ''",
        "reply size(rows) == 0 || rows[0].id > 1",
        "ensure rows.size() > n else 'too few'\nreply rows[n].name",
        "reply '' when size(rows) == 0\nreply rows[0].name",
        "if rows == [] { fail tool.none }\nreply rows[0].name",
        "step found = db.read(key: rows[0].name)\n    when size(rows) > 0\nreply found",
        "reply rows.map(r, size(r.tags) > 0 ? r.tags[0] : '')",
        "reply rows[0].name ?? ''",
        "reply has(all.first) ? all.first.id : 0",
        "reply s in all ? all[s].id : 0",
        "reply rows.exists(r, r.id == 1) ? rows[0].id : 0",
        "let known = ['a', 'b']\nreply known[1]",
        "reply rows.first()?.name",
        "reply { a: 1 }.a",
        "let k = n > 1 ? 'a' : 'b'\nlet o = { a: n, b: 2 }\nreply o[k]",
        "let o = { a: n, b: 2 }\nreply o[s] ?? 0",
        "let o = { a: n, b: 2 }\nreply s in o ? o[s] : 0",
    ] {
        assert_eq!(reported(statements), Vec::<String>::new(), "{statements}");
    }
}

#[test]
fn it_is_reported_on_request_only() {
    let folder = folder([("p.plan", format!("{HEAD}reply rows[0].name\n}}\n"))]);
    let check = |arguments: &[&str]| {
        let all = ["check", "--format", "short"].iter().chain(arguments);
        planrun(all).within(folder.path()).run().stdout
    };
    assert!(!check(&[]).contains("unchecked-index"));
    assert!(check(&["--enable", "unchecked-index"]).contains("note[unchecked-index]"));
}
