//! Habits from other languages: each is reported with the equivalent here, the equivalent is valid, and one mistake
//! gives one diagnostic.

use std::collections::BTreeMap;

use planrun_lang::diag::foreign::{self, Certainty, Phrase};
use planrun_lang::diag::{Diagnostic, fix};

use crate::fixes::Case;

const HEAD: &str = "use kit\n\ntool kit.find(q: string) -> { name: string, n: int, tags: string[] } read\n\
                    tool kit.act(x: string, n?: int) -> { id: string }\n\n";

/// Returns a plan with these parameters and statements.
fn plan(parameters: &str, statements: &str) -> String {
    format!("{HEAD}plan p({parameters}) -> any {{\n    {statements}\n}}\n")
}

fn check(text: &str) -> Vec<Diagnostic> {
    Case {
        text: text.to_owned(),
        files: BTreeMap::new(),
    }
    .check(text)
}

fn errors(text: &str) -> Vec<Diagnostic> {
    check(text)
        .into_iter()
        .filter(Diagnostic::is_error)
        .collect()
}

/// Returns everything that is wrong with the diagnostics of a text that contains a phrase.
fn faults(wrong: &str, help: &str, certainty: Certainty) -> Vec<String> {
    let found = errors(wrong);
    let describe =
        |found: &Diagnostic| format!("{}: {} ({:?})", found.code.name, found.message, found.help);
    let [only] = found.as_slice() else {
        return vec![format!(
            "{} errors instead of one: {:#?}",
            found.len(),
            found.iter().map(describe).collect::<Vec<_>>()
        )];
    };
    let mut faults = Vec::new();
    if only.help.as_deref() != Some(help) {
        faults.push(format!("{} instead of `{help}`", describe(only)));
    }
    match (&only.fix, certainty) {
        (None, Certainty::Advice) => {}
        (None, _) => faults.push(format!("no fix: {}", describe(only))),
        (Some(fix), Certainty::Advice) => {
            faults.push(format!("a fix, `{}`, where nothing is known", fix.title));
        }
        (Some(fix), _) => {
            if fix.safe != (certainty == Certainty::Certain) {
                faults.push(format!("`{}` is safe: {}", fix.title, fix.safe));
            }
            let mended = fix::apply(wrong, &fix.edits).unwrap();
            let left = errors(&mended);
            faults.extend(
                left.first()
                    .map(|left| format!("the fix leads to {} in\n{mended}", describe(left))),
            );
        }
    }
    faults
}

fn none_is_faulty(faults: &[String]) {
    assert!(
        faults.is_empty(),
        "{} faults\n{}",
        faults.len(),
        faults.join("\n")
    );
}

/// Returns the parameters for which a phrase of an expression is well typed.
fn values_for(phrase: &Phrase) -> String {
    let right = phrase.right;
    let number = right.contains("math.") || right.contains("b - a");
    let of = |when: bool, one: &'static str, other: &'static str| if when { one } else { other };
    let xs = of(right.contains("sum("), "int[]", "string[]");
    let x = of(
        ["x == null", "x != null", "x ??"]
            .iter()
            .any(|test| right.contains(test)),
        "x?: string",
        of(
            phrase.right.contains("x.format("),
            "x: timestamp",
            "x: string",
        ),
    );
    let ab = of(number, "int", "string");
    let a = of(right.starts_with("a ?"), "bool", ab);
    let d = of(right.starts_with("m["), "int", "string");
    let n = of(right.contains("range"), "int", "double");
    format!(
        "s: string, xs: {xs}, ys: {xs}, m: map<string, int>, c: string[], n: {n}, {x}, a: {a}, b: {ab}, i: int, j: int, \
         k: string, d: {d}"
    )
}

/// Returns the expression to replace `e` in a phrase.
fn body_for(phrase: &Phrase) -> &'static str {
    if phrase.right.contains("flatten") {
        "[x]"
    } else if phrase.right.contains("sum(") {
        "x"
    } else {
        "x != \"\""
    }
}

#[test]
fn c11_a_phrase_of_another_language_is_told_as_it_is_here() {
    let mut faulty = Vec::new();
    for phrase in foreign::EXPRESSIONS {
        let values = [("e", body_for(phrase).to_owned())];
        let wrong = plan(
            &values_for(phrase),
            &format!("reply {}", foreign::fill(phrase.wrong, &values)),
        );
        let right = foreign::fill(phrase.right, &values);
        let found = faults(&wrong, &phrase.help(Some(&right)), phrase.certainty);
        faulty.extend(
            found
                .into_iter()
                .map(|fault| format!("{}: {fault}", phrase.wrong)),
        );
    }
    none_is_faulty(&faulty);
}

#[test]
fn c11_what_is_told_instead_is_sound() {
    let mut faulty = Vec::new();
    for phrase in foreign::EXPRESSIONS
        .iter()
        .filter(|phrase| !phrase.right.is_empty())
    {
        let values = [("e", body_for(phrase).to_owned())];
        let body = if phrase.right.contains("transformList") {
            "x"
        } else {
            "x != \"\""
        };
        let right = foreign::fill(phrase.right, &values).replace(", …)", &format!(", {body})"));
        let text = plan(&values_for(phrase), &format!("reply {right}"));
        faulty.extend(
            errors(&text)
                .iter()
                .map(|found| format!("{}: {} in {right}", phrase.wrong, found.message)),
        );
    }
    none_is_faulty(&faulty);
}

/// Replaces the placeholders in a statement or clause of a table.
fn sound(right: &str) -> String {
    right
        .replace("ns.tool(…)", "kit.find(q: s)")
        .replace("ask desk(", "ask kit(")
        .replace("ns.other(…)", "kit.find(q: value)")
        .replace("{ … ", "{ ")
        .replace("{ … }", "{}")
        .replace("{ }", "{}")
}

const VALUES: &str = "s: string, value: string, n: int, flag: bool, xs: string[]";

/// Returns a plan with a statement that may end the plan.
fn around(statement: &str) -> String {
    let ends = ["reply", "fail"]
        .iter()
        .any(|word| statement.starts_with(word));
    let before = if statement.starts_with("else") {
        "if !flag {} "
    } else {
        ""
    };
    plan(
        VALUES,
        &format!(
            "{before}{statement}{}",
            if ends { "" } else { "\n    reply s" }
        ),
    )
}

#[test]
fn c11_a_word_that_begins_no_statement_is_told() {
    let mut faulty = Vec::new();
    for phrase in foreign::STATEMENTS {
        let word = phrase.wrong.split([' ', '(', '.']).next().unwrap();
        let before = if word.starts_with("els") || word == "elif" {
            "if !flag {} "
        } else {
            ""
        };
        let end = if word == "return" {
            ""
        } else {
            "\n    reply s"
        };
        let wrong = plan(VALUES, &format!("{before}{}{end}", sound(phrase.wrong)));
        let help = if phrase.right.starts_with("let") {
            "write `let`".to_owned()
        } else {
            phrase.help(None)
        };
        let found = faults(&wrong, &help, phrase.certainty);
        faulty.extend(
            found
                .into_iter()
                .map(|fault| format!("{}: {fault}", phrase.wrong)),
        );
        if !phrase.right.is_empty() {
            let left = errors(&around(&sound(phrase.right)));
            faulty.extend(
                left.iter().map(|found| {
                    format!("{}: {} in `{}`", phrase.wrong, found.message, phrase.right)
                }),
            );
        }
    }
    none_is_faulty(&faulty);
}

#[test]
fn c11_a_word_that_is_no_clause_is_told() {
    let mut faulty = Vec::new();
    for phrase in foreign::CLAUSES
        .iter()
        .filter(|phrase| !phrase.wrong.starts_with("if "))
    {
        let wrong = around(&format!(
            "step f = kit.find(q: s)\n    step g = kit.find(q: s) {}",
            sound(phrase.wrong)
        ));
        let found = faults(&wrong, &phrase.help(None), phrase.certainty);
        faulty.extend(
            found
                .into_iter()
                .map(|fault| format!("{}: {fault}", phrase.wrong)),
        );
    }
    none_is_faulty(&faulty);
}

#[test]
fn c11_an_item_of_another_language_is_told() {
    let mut faulty = Vec::new();
    for phrase in foreign::ITEMS {
        let wrong = format!(
            "{HEAD}{}\n\nplan p() -> int {{\n    reply 1\n}}\n",
            phrase.wrong.replace("{ … }", "{}")
        );
        let found = faults(&wrong, &phrase.help(None), phrase.certainty);
        faulty.extend(
            found
                .into_iter()
                .map(|fault| format!("{}: {fault}", phrase.wrong)),
        );
    }
    none_is_faulty(&faulty);
}

#[test]
fn c11_a_setting_of_another_system_is_told() {
    let mut faulty = Vec::new();
    for phrase in foreign::SETTINGS {
        let (group, name) = phrase.wrong.split_once('.').unwrap();
        let value = if phrase.right == "on" {
            "[transient]"
        } else if group == "allow" {
            "[\"a\"]"
        } else if matches!(phrase.right, "attempts" | "factor" | "concurrency") {
            "3"
        } else {
            "2s"
        };
        let settings = format!("{group} {{ {name}: {value} }}");
        let wrong = if group == "retry" {
            let text = format!("step f = kit.find(q: s)\n        {settings}\n    reply f.n");
            plan("s: string", &text)
        } else {
            plan("s: string", &format!("{settings}\n    reply s"))
        };
        let found = faults(&wrong, &phrase.help(None), phrase.certainty);
        faulty.extend(
            found
                .into_iter()
                .map(|fault| format!("{}: {fault}", phrase.wrong)),
        );
    }
    none_is_faulty(&faulty);
}

#[test]
fn c11_a_line_of_a_test_of_another_framework_is_told() {
    let mut faulty = Vec::new();
    for phrase in foreign::TEST_LINES {
        let wrong = format!(
            "{HEAD}plan p(n: int) -> int {{\n    reply n\n}}\n\n\
             test \"t\" for p {{\n    given {{ n: 2 }}\n    {}\n    expect reply == 2\n}}\n",
            sound(phrase.wrong)
        );
        let found = faults(&wrong, &phrase.help(None), phrase.certainty);
        faulty.extend(
            found
                .into_iter()
                .map(|fault| format!("{}: {fault}", phrase.wrong)),
        );
    }
    none_is_faulty(&faulty);
}

#[test]
fn c11_a_type_of_another_language_is_told() {
    let mut faulty = Vec::new();
    for phrase in foreign::TYPES {
        let wrong = format!("plan p(a: {}) -> any {{\n    reply a\n}}\n", phrase.wrong);
        let found = faults(&wrong, &phrase.help(None), phrase.certainty);
        faulty.extend(
            found
                .into_iter()
                .map(|fault| format!("{}: {fault}", phrase.wrong)),
        );
    }
    none_is_faulty(&faulty);
}

/// Statements with habits from other languages, and the results of their fixes; empty if there is no fix.
const HABITS: &[(&str, &str)] = &[
    ("reply flag and n > 1", "reply flag && n > 1"),
    (
        "reply flag and n > 1 or not flag",
        "reply flag && n > 1 || !flag",
    ),
    ("reply not n == 1", ""),
    ("reply s === \"a\"", "reply s == \"a\""),
    ("reply s !== \"a\"", "reply s != \"a\""),
    ("reply s <> \"a\"", "reply s != \"a\""),
    ("reply flag & flag", "reply flag && flag"),
    ("reply flag | flag", "reply flag || flag"),
    ("reply n = 3", "reply n == 3"),
    ("reply size(xs) = 3", "reply size(xs) == 3"),
    ("reply { s, n }", "reply { s: s, n: n }"),
    (
        "reply { s, more: { n }, flag }",
        "reply { s: s, more: { n: n }, flag: flag }",
    ),
    ("reply size(xs) items", ""),
    (
        "let v = match s { \"a\" => 1, else => 2 }",
        "let v = match s { \"a\" => 1, _ => 2 }",
    ),
    (
        "step g = match s { case \"a\" => kit.find(q: s), _ => f }",
        "step g = match s {  \"a\" => kit.find(q: s), _ => f }",
    ),
    (
        "step g = match s { \"a\": kit.find(q: s), _ => f }",
        "step g = match s { \"a\"=> kit.find(q: s), _ => f }",
    ),
    ("step g = race { kit.find(q: s) }", ""),
    ("step g = repeat k from 1 { yield k }", ""),
    ("let v = switch(s) { \"a\" => 1 }", ""),
    (
        "step g = kit.find(q: s) recover * => f",
        "step g = kit.find(q: s) recover  => f",
    ),
    ("step g = kit.find(q: s) recover null", ""),
    ("ensure flag", ""),
    ("let v = xs as string[]", ""),
    ("step g = kit.find(q: s) with retry 3", ""),
    ("step g = kit.find(q: s) finally { reply s }", ""),
    (
        "step g = kit.find(q: s) retry 3",
        "step g = kit.find(q: s) retry { attempts: 3 }",
    ),
    ("step g = kit.find(q: s) timeout 5", ""),
    ("step g = sleep 5s", ""),
    (
        "step g = wait for event \"done\"",
        "step g = wait for signal \"done\"",
    ),
    (
        "step g = input \"Name?\" -> string",
        "step g = input \"Name?\" -> { answer: string }",
    ),
    ("reply s eq \"a\"", "reply s == \"a\""),
    ("reply s not in xs", ""),
    ("reply n ** 2", ""),
    ("reply n++", ""),
    ("reply o ?: 1", "reply o ?? 1"),
    ("reply xs.map(x => x + \"a\")", "reply xs.map(x, x + \"a\")"),
    (
        "reply xs.map((x) => x + \"a\")",
        "reply xs.map(x, x + \"a\")",
    ),
    (
        "reply xs.filter(x => x != \"\").map(x => x)",
        "reply xs.filter(x, x != \"\").map(x, x)",
    ),
    ("reply xs.map(lambda x: x)", "reply xs.map(x, x)"),
    ("reply xs.reduce((a, b) => a + b, \"\")", ""),
    ("reply [x for x in xs]", ""),
    ("reply [...xs, \"a\"]", ""),
    ("reply f\"hello {s}\"", "reply \"hello ${s}\""),
    ("reply f'hello {s}'", "reply \"hello ${s}\""),
    ("reply `hello ${s}`", "reply \"hello ${s}\""),
    ("reply xs.0", "reply xs[0]"),
    ("reply xs[0:2]", ""),
    ("reply $s", "reply s"),
    ("reply ${s}", "reply s"),
    ("reply {{ s }}", "reply  s "),
    ("reply 1 if flag else 2", ""),
    ("reply s if flag else n", ""),
    (
        "step a = kit.act(x: s) if flag",
        "step a = kit.act(x: s) when flag",
    ),
    ("reply if flag then 1 else 2", ""),
    ("reply new Date()", ""),
    ("reply typeof s", ""),
    ("reply s is null", "reply s == null"),
    ("reply \"a\" + n", "reply \"a\" + string(n)"),
    ("reply n + \"a\"", "reply string(n) + \"a\""),
    ("reply s[0]", ""),
    ("reply s.trim(\"a\").length", ""),
    ("return s", "reply s"),
    ("reply s;", "reply s"),
    ("step a = await kit.act(x: s)", "step a = kit.act(x: s)"),
    ("kit.act(x: s)", "step act = kit.act(x: s)"),
    ("a = kit.act(x: s)", "step a = kit.act(x: s)"),
    ("a = n + 1", "let a = n + 1"),
    ("const a = kit.act(x: s)", "step a = kit.act(x: s)"),
    ("let a = kit.act(x: s)", "step a = kit.act(x: s)"),
    ("let mut a = n", "let a = n"),
    (
        "step a = kit.act(x = s, n = 1)",
        "step a = kit.act(x: s, n: 1)",
    ),
    ("step a = kit.act({ x: s })", "step a = kit.act( x: s )"),
    (
        "step a = kit.act(x: s; n: 1)",
        "step a = kit.act(x: s, n: 1)",
    ),
    (
        "step a = kit.act(x: s) timeout: 3s",
        "step a = kit.act(x: s) timeout 3s",
    ),
    (
        "step a = kit.act(x: s) timeout 3 seconds",
        "step a = kit.act(x: s) timeout 3s",
    ),
    (
        "step a = kit.act(x: s) after [f]",
        "step a = kit.act(x: s) after f",
    ),
    (
        "step a = kit.act(x: s) recover (e) => { id: e.message }",
        "",
    ),
    ("let a: list<string> = xs", "let a: string[] = xs"),
    ("let a: [string] = xs", ""),
    ("let { name } = f", ""),
    ("ensure n > 1, \"few\"", "ensure n > 1 else \"few\""),
    ("fail \"no\"", ""),
    ("set n = 1", ""),
    (
        "step a = input(\"Name?\") -> { a: string }",
        "step a = input \"Name?\" -> { a: string }",
    ),
    ("reply steps.f.name", "reply f.name"),
    ("reply f.output.name", "reply f.name"),
];

#[test]
fn c11_a_habit_is_one_finding_and_its_fix_is_sound() {
    let mut faulty = Vec::new();
    for (wrong, right) in HABITS {
        let end = if ["reply", "fail", "return"]
            .iter()
            .any(|word| wrong.starts_with(word))
        {
            ""
        } else {
            "\n    reply s"
        };
        let whole = |statement: &str| {
            plan(
                "s: string, n: int, xs: string[], flag: bool, o?: int",
                &format!("step f = kit.find(q: s)\n    {statement}{end}"),
            )
        };
        let found = errors(&whole(wrong));
        let messages = found
            .iter()
            .map(|found| format!("{}: {:?}", found.message, found.help))
            .collect::<Vec<_>>();
        let [only] = found.as_slice() else {
            faulty.push(format!(
                "`{wrong}`: {} findings: {messages:#?}",
                found.len()
            ));
            continue;
        };
        if only.help.is_none() {
            faulty.push(format!("`{wrong}`: without a remedy: {messages:?}"));
        }
        let mended = only
            .fix
            .as_ref()
            .map(|fix| fix::apply(&whole(wrong), &fix.edits).unwrap());
        match mended {
            None if right.is_empty() => {}
            Some(mended) if mended == whole(right) => {
                let left = errors(&mended);
                faulty.extend(
                    left.iter()
                        .map(|left| format!("`{wrong}`: the fix leads to {}", left.message)),
                );
            }
            other => faulty.push(format!("`{wrong}`: {messages:?} gave {other:?}")),
        }
    }
    none_is_faulty(&faulty);
}

#[test]
fn c11_no_word_is_taken_for_a_stranger() {
    for expression in ["s.get(\"a\")", "print(s)", "xs.anything(s)", "f.nothing"] {
        let found = errors(&plan(
            "s: string, xs: string[]",
            &format!("step f = kit.find(q: s)\n    reply [xs, {expression}]"),
        ));
        let [only] = found.as_slice() else {
            panic!("{expression}: {found:#?}")
        };
        assert!(only.fix.is_none(), "{expression}: {:?}", only.fix);
    }
}

#[test]
fn c10_a_parameter_with_the_name_of_a_namespace_is_one_finding() {
    let body = "step f = kit.find(q: \"a\")\n    step g = kit.act(x: f.name, n: f.n)\n    \
                step h = each t in f.tags max 3 {\n        step i = kit.act(x: t)\n        yield i.id\n    }\n    \
                let j = kit + \"!\"\n    reply [g.id, j, kit.trim(), kit.name, h]";
    for parameter in ["kit: string", "kit?: { name: string }"] {
        let found = errors(&plan(parameter, body));
        let [only] = found.as_slice() else {
            panic!("{found:#?}")
        };
        assert_eq!(only.code.name, "duplicate-name");
        assert!(only.help.as_deref().unwrap().contains("rename"), "{only:?}");
    }
}

#[test]
fn c10_a_step_or_a_let_with_the_name_of_a_namespace_is_one_finding() {
    for statement in [
        "let kit = 1",
        "step kit = kit.find(q: \"a\")",
        "step x = each kit in [1] max 1 { yield kit }",
    ] {
        let found = errors(&plan(
            "",
            &format!("{statement}\n    step f = kit.find(q: \"a\")\n    reply f.name"),
        ));
        assert_eq!(found.len(), 1, "{statement}: {found:#?}");
    }
}

#[test]
fn c10_reduce_is_one_finding() {
    for expression in [
        "ys.reduce(0, a, b, a + b)",
        "ys.reduce(a, a + 1)",
        "reduce(ys, a, b, a + b)",
        "ys.fold(0, a, a)",
        "ys.reduce((a, b) => a + b)",
        "ys.reduce((a, b) => a + b, 0)",
        "ys.reduce(a => a + 1)",
    ] {
        let found = errors(&plan("ys: int[]", &format!("reply {expression}")));
        let [only] = found.as_slice() else {
            panic!("{expression}: {found:#?}")
        };
        assert!(
            only.help.as_deref().unwrap().contains("sum(xs)"),
            "{only:?}"
        );
    }
}

#[test]
fn what_is_reported_of_a_value_is_not_said_of_what_hangs_from_it() {
    let found = errors(&plan(
        "",
        "reply nobody.some(x, x.y).length.map(z, z.trim())",
    ));
    assert_eq!(found.len(), 1, "{found:#?}");
}
