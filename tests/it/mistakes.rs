//! The most frequent mistakes of models and newcomers, as they write them: each gives one diagnostic with the remedy,
//! or none if the language accepts the intended meaning.

use std::collections::BTreeMap;

use planrun_lang::diag::Diagnostic;

use crate::fixes::Case;

const HEAD: &str = "use vm, desk, sys\n\n\
    tool vm.create(name: string) -> { id: string } effect\n\
    tool vm.delete(id: string) -> { ok: bool } idempotent\n\
    tool vm.boot(id: string) -> { ok: bool } effect fails busy\n\
    tool desk.find(who: string) -> { tickets: { id: int }[], owner?: string } read\n\n\
    plan greeting(who: string) -> string {\n    reply \"Hello ${who}\"\n}\n\n\
    plan p(s: string, n: int, xs: string[], flag: bool, t: timestamp) -> any {\n    ";

/// Statements with a mistake, the code of its diagnostic, and words of its remedy.
pub type Mistakes = &'static [(&'static str, &'static str, &'static str)];

/// All mistakes.
pub const MISTAKES: &[Mistakes] = &[C1, C2, C6, C7, C8, C9, C10, C11];

/// Returns a plan with these statements and the declarations that they need.
pub fn plan_of(statements: &str) -> String {
    format!("{HEAD}{statements}\n}}\n")
}

/// Returns the code and the remedy of each error in a plan with these statements.
fn errors_of(statements: &str) -> Vec<(&'static str, String)> {
    errors_in(&plan_of(statements))
}

fn errors_in(text: &str) -> Vec<(&'static str, String)> {
    let found = Case {
        text: text.to_owned(),
        files: BTreeMap::new(),
    }
    .check(text);
    found
        .into_iter()
        .filter(Diagnostic::is_error)
        .map(|one| (one.code.name, one.help.unwrap_or_default()))
        .collect()
}

/// Asserts that each mistake has one error with this code, and that the remedy contains this text.
fn each_is_one_finding(mistakes: &[(&str, &str, &str)]) {
    for (statements, code, remedy) in mistakes {
        let reported = errors_of(statements);
        let [(name, help)] = reported.as_slice() else {
            panic!("{statements}\n{reported:#?}")
        };
        assert!(
            name == code && help.contains(remedy),
            "{statements}\n{name}: {help}"
        );
    }
}

fn each_is_right(plans: &[&str]) {
    for statements in plans {
        assert_eq!(errors_of(statements), [], "{statements}");
    }
}

const C1: Mistakes = &[
    (
        "step f = input \"Go?\" -> { ok: bool } expires 2d\n    reply f.ok",
        "clause-not-applicable",
        "write `within`",
    ),
    (
        "step f = input \"Go?\" -> { ok: bool } timeout 2d\n    reply f.ok",
        "clause-not-applicable",
        "write `within`",
    ),
    (
        "step f = input \"Go?\" -> { ok: bool } deadline 2d\n    reply f.ok",
        "unexpected-token",
        "write `within 5m`",
    ),
];

#[test]
fn c1_a_form_is_bounded_by_within() {
    each_is_right(&[
        "step f = input \"Go?\" -> { ok: bool } within 2d\n    reply f.ok",
        "step f = input \"Go?\" within 2d by \"ops\" -> { ok: bool }\n    reply f.ok",
    ]);
    each_is_one_finding(C1);
}

const C2: Mistakes = &[
    (
        "step f = input \"Go?\" -> { note: string default s }\n    reply f.note",
        "unexpected-token",
        "write `=`",
    ),
    (
        "step f = input \"Go?\" -> { note?: string = s }\n    reply f.note",
        "unexpected-token",
        "`note: string?`",
    ),
    (
        "step f = input \"Go?\" -> { note: string = n }\n    reply f.note",
        "default-type",
        "string",
    ),
];

#[test]
fn c2_what_stands_in_a_field_is_told_from_what_is_known() {
    each_is_right(&[
        "step f = input \"Go?\" -> { note: string = s, who: string known s }\n    reply f.note",
    ]);
    each_is_one_finding(C2);
}

#[test]
fn c3_an_undo_reads_its_own_result() {
    each_is_right(&[
        "step a = vm.create(name: s) undo vm.delete(id: a.id)\n    reply a.id",
        "step a = vm.create(name: s) undo do { step gone = vm.delete(id: a.id) yield gone }\n    reply a.id",
    ]);
    let plan = |undo: &str| format!("step a = vm.create(name: s) undo {undo}\n    reply a.id");
    each_is_one_finding(&[
        (
            &plan("vm.delete(id: a.output.id)"),
            "unknown-field",
            "remove `.output`",
        ),
        (
            &plan("{ vm.delete(id: a.id) }"),
            "unexpected-token",
            "undo do { … }",
        ),
        (
            &plan("do { vm.delete(id: a.id) }"),
            "unexpected-token",
            "step delete = vm.delete(…)",
        ),
    ]);
}

#[test]
fn c4_what_a_settled_each_gives_is_told_apart() {
    let plan = |reply: &str| {
        format!(
            "step r = each x in xs max 9 settle {{ step c = vm.create(name: x) yield c.id }}\n    reply {reply}"
        )
    };
    each_is_right(&[&plan("r.filter(x, x.ok).map(x, x.value.trim())")]);
    each_is_right(&[
        "step d = desk.find(who: s)\n    ensure d.owner != null else \"nobody\"\n    reply d.owner.trim()",
    ]);
    each_is_one_finding(&[
        (
            &plan("r.map(x, x.value.trim())"),
            "maybe-absent",
            "`.filter(x, x.ok)`",
        ),
        (
            &plan("r.filter(x, x.success).map(x, x.value)"),
            "unknown-field",
            "`x.ok`",
        ),
        (
            &plan("r.filter(x, x is completed).map(x, x.value)"),
            "unknown-status",
            "`x.ok`",
        ),
        (
            "step d = desk.find(who: s)\n    reply d.owner.trim()",
            "maybe-absent",
            "`d.owner != null`",
        ),
    ]);
}

#[test]
fn c5_classes_stand_behind_recover_with_commas() {
    let plan = |classes: &str| {
        format!("step d = desk.find(who: s) recover {classes} => {{ tickets: [] }}\n    reply d")
    };
    each_is_right(&[
        &plan("transient, auth"),
        &plan("[transient, auth]"),
        &plan("transient, auth as e"),
    ]);
    each_is_one_finding(&[
        (&plan("transient | auth"), "unexpected-token", "write `,`"),
        (
            &plan("(transient, auth)"),
            "unexpected-token",
            "recover transient, auth as e",
        ),
        (
            &plan("timeout"),
            "unknown-error-class",
            "`transient.timeout`",
        ),
        (&plan("transiant"), "unknown-error-class", "`transient`"),
    ]);
}

const C6: Mistakes = &[
    (
        "step o = self.greeting(who: s)\n    reply o",
        "unknown-namespace",
        "`greeting(…)`",
    ),
    (
        "step o = plan.greeting(who: s)\n    reply o",
        "unknown-namespace",
        "`greeting(…)`",
    ),
    (
        "step o = greeting(s)\n    reply o",
        "positional-argument",
        "who",
    ),
    (
        "let o = greeting(who: s)\n    reply o",
        "call-in-expression",
        "`step`",
    ),
    (
        "step o = call greeting(who: s)\n    reply o",
        "unexpected-token",
        "remove the word",
    ),
    (
        "step o = greetin(who: s)\n    reply o",
        "unknown-plan",
        "`greeting`",
    ),
];

#[test]
fn c6_a_plan_of_the_file_is_called_by_its_name() {
    each_is_right(&["step o = greeting(who: s)\n    reply o"]);
    each_is_one_finding(C6);
}

#[test]
fn c6_a_misspelt_call_is_checked_as_the_one_that_is_meant() {
    let codes = |statements: &str| {
        errors_of(statements)
            .into_iter()
            .map(|(code, _)| code)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        codes("step o = greetin(who: n)\n    reply o"),
        ["unknown-plan", "wrong-type"]
    );
    assert_eq!(
        codes("step o = vm.creat(name: s)\n    reply o.name"),
        ["unknown-tool", "unknown-field"]
    );
    assert_eq!(
        codes("step o = dsk.find(who: n)\n    reply o"),
        ["unknown-namespace", "wrong-type"]
    );
    // The similar tool may not be the intended one, so its arguments are not checked.
    assert_eq!(
        codes("step o = vm.cerate_all(names: xs)\n    reply o.names"),
        ["unknown-tool"]
    );
    // The calls form a cycle only if the suggested name was intended.
    let text = format!(
        "{HEAD}reply s\n}}\n\nplan load_a(x: int) -> int {{\n    step o = load_b(x: x)\n    reply 1\n}}\n"
    );
    assert_eq!(
        errors_in(&text)
            .into_iter()
            .map(|(code, _)| code)
            .collect::<Vec<_>>(),
        ["unknown-plan"]
    );
}

const C7: Mistakes = &[
    (
        "if flag { step a = vm.create(name: s) } else { step b = vm.create(name: s) }\n    reply a.id",
        "maybe-absent",
        "`flag`",
    ),
    (
        "let a = s\n    if flag { let a = \"y\" }\n    reply a",
        "duplicate-name",
        "rename one of them",
    ),
    (
        "let a = s\n    if flag { a = \"y\" }\n    reply a",
        "unexpected-token",
        "values cannot be reassigned",
    ),
    (
        "step a = do { let s = \"y\" yield s }\n    reply a",
        "duplicate-name",
        "rename one of the two",
    ),
];

#[test]
fn c7_two_branches_give_one_name() {
    each_is_right(&[
        "if flag { step a = vm.create(name: s) } else { let a = { id: s } }\n    reply a.id",
    ]);
    each_is_one_finding(C7);
}

const C8: Mistakes = &[
    ("reply now()", "unknown-function", "step now = sys.now()"),
    ("reply t - 5 minutes", "unexpected-token", "`5m`"),
    (
        "reply xs.sort_by(x, size(x))",
        "unknown-function",
        "xs.sortBy(x, size(x))",
    ),
    (
        "reply xs.sorted(x, size(x))",
        "unknown-function",
        "xs.sortBy(x, size(x))",
    ),
    (
        "reply xs.sortBy(x => x)",
        "unexpected-token",
        "separated by a comma",
    ),
    ("reply max(n, 2)", "unknown-function", "math.greatest(n, 2)"),
    ("reply [n, 2].max() + 1", "maybe-absent", "?? 0"),
    ("reply xs.first().trim()", "maybe-absent", "`??`"),
];

#[test]
fn c8_time_and_lists_are_said_in_the_words_of_the_language() {
    each_is_right(&[
        "reply [n * 1m, t + n * 1s]",
        "reply [xs.sortBy(x, size(x)).take(2), [xs.max() ?? s]]",
    ]);
    each_is_one_finding(C8);
}

const C9: Mistakes = &[
    (
        "step a = vm.create(name: s) parallel\n    reply a.id",
        "unexpected-token",
        "`parallel { … }`",
    ),
    (
        "step a = parallel { x: vm.create(name: s), y: vm.boot(id: s) }\n    reply a",
        "unexpected-token",
        "parallel { step a",
    ),
    (
        "step f = vm.boot(id: s)\n    step a = vm.create(name: s) needs f\n    reply a.id",
        "unexpected-token",
        "after f",
    ),
    (
        "step a = vm.create(name: s) after none\n    reply a.id",
        "unknown-name",
        "`parallel { … }`",
    ),
];

#[test]
fn c9_effects_run_together_only_where_that_is_said() {
    each_is_right(&[
        "parallel { step a = vm.create(name: s) step b = vm.boot(id: s) }\n    reply [a.id, b.ok]",
    ]);
    each_is_one_finding(C9);
}

const C10: Mistakes = &[(
    "reply xs.reduce((a, b) => a + b)",
    "unexpected-token",
    "xs.join(\", \")",
)];

#[test]
fn c10_what_follows_from_one_mistake_is_not_told() {
    let plan = "use crm\n\ntool crm.find(who: string) -> { id: string } read\n\n\
        plan p(crm: string) -> string {\n    step a = crm.find(who: crm)\n    step b = crm.find(who: a.id)\n    \
        reply a.id + b.id + crm\n}\n";
    let reported = errors_in(plan);
    let [(code, remedy)] = reported.as_slice() else {
        panic!("{reported:#?}")
    };
    assert!(
        *code == "duplicate-name" && remedy.contains("use crm as …"),
        "{code}: {remedy}"
    );
    each_is_one_finding(C10);
}

const C11: Mistakes = &[
    ("reply xs.length", "not-an-object", "size(xs)"),
    ("reply len(xs)", "unknown-function", "size(xs)"),
    (
        "reply s.toUpperCase()",
        "unknown-function",
        "s.upperAscii()",
    ),
    ("reply xs.includes(s)", "unknown-function", "s in xs"),
    ("reply round(1.5)", "unknown-function", "math.round(1.5)"),
    (
        "reply isinstance(s, string)",
        "unknown-function",
        "types are known before the run",
    ),
    ("reply s == None", "unknown-name", "null"),
    ("reply s === \"a\"", "unexpected-token", "=="),
    ("reply flag and n > 1", "unexpected-token", "&&"),
    ("reply f\"for {s}\"", "unexpected-token", "${name}"),
    (
        "for x in xs { }\n    reply s",
        "unexpected-token",
        "each x in xs max 100",
    ),
    (
        "const a = n\n    reply a",
        "unexpected-token",
        "write `let`",
    ),
    (
        "step a = await vm.create(name: s)\n    reply a.id",
        "unexpected-token",
        "remove the word",
    ),
];

#[test]
fn c11_words_of_other_languages_have_their_spelling_here() {
    each_is_one_finding(C11);
}

#[test]
fn c12_a_fix_that_drops_a_bound_is_not_safe() {
    for (statements, safe) in [
        (
            "step f = input \"Go?\" -> { ok: bool } expires 2d\n    reply f.ok",
            true,
        ),
        (
            "step f = input \"Go?\" -> { ok: bool } timeout 2d\n    reply f.ok",
            true,
        ),
        ("step w = wait 5m within 2d\n    reply s", false),
    ] {
        let text = format!("{HEAD}{statements}\n}}\n");
        let found = Case {
            text: text.clone(),
            files: BTreeMap::new(),
        }
        .check(&text);
        let own = found
            .iter()
            .find(|found| found.code.name == "clause-not-applicable")
            .unwrap();
        assert_eq!(own.fix.as_ref().unwrap().safe, safe, "{statements}");
    }
}
