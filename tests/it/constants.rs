//! Constants are evaluated before the run, by the evaluator itself, and an expression that always fails is an error.

use serde_json::Value as Json;

use crate::support::{folder, planrun};

/// The declarations that every case may use: tools, and inputs of several types.
const HEAD: &str = "use db, sys
type Row = { id: int, name: string, tags: string[] }
tool db.read(key?: string) -> Row[] read
tool db.write(key?: string, count?: int) -> { id: string } effect
";
const PARAMETERS: &str =
    "n: int, d: double, s: string, t: timestamp, flag: bool, rows: Row[], unknown: any";

/// A finding of a case: its code, its message, and its secondary labels.
struct Found {
    code: String,
    message: String,
    labels: Vec<String>,
}

/// Checks plans with these statements, in one project. Returns the findings of each, without those about unused names.
fn findings_of(cases: &[&str]) -> Vec<Vec<Found>> {
    let files = cases.iter().enumerate().map(|(index, statements)| {
        (
            format!("{index}.plan"),
            format!("{HEAD}\nplan p({PARAMETERS}) -> any {{\n{statements}\n}}\n"),
        )
    });
    let folder = folder(files);
    let output = planrun(["check", "--format", "json"])
        .within(folder.path())
        .run();
    let output = output.json();
    let findings = output["diagnostics"].as_array().unwrap();
    let of = |index: usize| {
        let file = format!("{index}.plan");
        let here = findings
            .iter()
            .filter(|finding| finding["file"] == file.as_str());
        let relevant = here.filter(|finding| {
            let code = finding["code"].as_str().unwrap();
            !code.starts_with("unused-") && code != "effect-unknown" && code != "unknown-read"
        });
        let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
        relevant
            .map(|finding| Found {
                code: text(&finding["code"]),
                message: text(&finding["message"]),
                labels: finding["labels"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .map(|label| text(&label["message"]))
                    .collect(),
            })
            .collect::<Vec<_>>()
    };
    (0..cases.len()).map(of).collect()
}

/// Asserts that each case has one finding, with this code and a message that contains this text.
#[track_caller]
fn fails(code: &str, cases: &[(&str, &str)]) {
    let texts: Vec<&str> = cases.iter().map(|(text, _)| *text).collect();
    for ((text, expected), found) in cases.iter().zip(findings_of(&texts)) {
        let messages: Vec<String> = found
            .iter()
            .map(|found| format!("{}: {}", found.code, found.message))
            .collect();
        assert_eq!(found.len(), 1, "{text}\n{messages:#?}");
        assert_eq!(found[0].code, code, "{text}\n{messages:#?}");
        assert!(found[0].message.contains(expected), "{text}\n{messages:#?}");
    }
}

/// Asserts that these cases have no findings.
#[track_caller]
fn holds(cases: &[&str]) {
    for (text, found) in cases.iter().zip(findings_of(cases)) {
        let messages: Vec<String> = found
            .iter()
            .map(|found| format!("{}: {}", found.code, found.message))
            .collect();
        assert!(messages.is_empty(), "{text}\n{messages:#?}");
    }
}

const FAILS: &str = "constant-failure";

#[test]
fn b5_r10_16_an_expression_of_constants_that_fails_is_found_by_the_evaluator() {
    fails(
        FAILS,
        &[
            ("reply 1 / 0", "divide by zero"),
            ("reply 7 % (2 - 2)", "modulus by zero"),
            ("reply [1, 2][2]", "index out of range: 2 of a list of 2"),
            ("reply 9223372036854775807 + 1", "overflow"),
            ("reply -(-9223372036854775807 - 1)", "overflow"),
            ("reply 'abc'.substring(5)", "index out of range: 5"),
            ("reply '%d'.format(['x'])", "`%d` does not take a string"),
            (
                "reply timestamp('2026-01-31T09:00:00Z').getHours('Mars/Base')",
                "no time zone `Mars/Base`",
            ),
            ("reply timestamp('yesterday')", "yesterday"),
            ("reply int('12a')", "12a"),
            ("reply sum([9223372036854775807, 1])", "overflow"),
            ("reply [1, 2].map(x, 10 / (x - 1))", "divide by zero"),
            (
                "reply lists.range(999999).map(x, x + 1).map(x, x + 1)",
                "exceeds the work limit",
            ),
            ("step w = db.write(count: 3 / 0)", "divide by zero"),
            ("step w = db.write(key: \"${1 / 0}\")", "divide by zero"),
            ("fail tool.x \"${[''][1]}\"", "index out of range"),
        ],
    );
}

#[test]
fn b5_what_fails_whatever_the_unknown_rest_is_is_found_too() {
    fails(
        FAILS,
        &[
            ("reply n / 0", "divide by zero"),
            ("reply rows.map(r, r.id % 0)", "modulus by zero"),
            ("reply 30s * n / 0s", "divide by zero"),
            ("reply [n, 1 / 0]", "divide by zero"),
            ("reply flag ? 1 / 0 : n", "divide by zero"),
            ("reply t.getHours('Mars/Base')", "no time zone"),
            (
                "reply '%s and %d'.format([s])",
                "more clauses than the list has values",
            ),
            ("reply '%q'.format([s])", "there is no clause `%q`"),
            ("reply s.matches('(')", "not a valid regular expression"),
            ("reply s.substring(-1)", "index out of range: -1"),
            ("reply s.indexOf(\"a\", -1)", "index out of range: -1"),
            ("reply s.lastIndexOf(\"a\", -2)", "index out of range: -2"),
            ("reply s.substring(3, 2)", "after its end"),
            ("reply rows.slice(2, 1)", "after its end"),
            ("reply rows.take(-1)", "`take(-1)` must be 0 or more"),
            ("reply rows.drop(-1)", "`drop(-1)` must be 0 or more"),
            ("reply s.padStart(99999999)", "at most"),
            ("reply s.padEnd(99999999, \"-\")", "at most"),
            ("reply '%-20s'.format([s])", "there is no clause `%-20s`"),
            ("reply t.format('%Y %!')", "there is no clause `%!`"),
            ("reply t.format(\"%Y\", \"Mars/Base\")", "no time zone"),
            ("reply rows[-1].name", "index out of range: -1"),
            ("reply math.bitShiftLeft(n, -1)", "0 or more"),
            ("reply flag && 1 / 0 > 1", "divide by zero"),
            ("reply unknown ?? 1 / 0", "divide by zero"),
            (
                "if flag { step w = db.write(count: 1 / 0) }",
                "divide by zero",
            ),
            (
                "step w = each r in rows max 9 { step v = db.write(count: 1 / 0) yield v.id }",
                "divide by zero",
            ),
        ],
    );
    // Division of doubles by zero gives infinity.
    holds(&[
        "reply d / 0",
        "reply d / 0.0",
        "reply unknown / 0",
        "reply n / 2",
    ]);
}

#[test]
fn b5_what_is_never_evaluated_or_made_good_is_no_failure() {
    holds(&[
        "reply true || 1 / 0 > 1",
        "reply false && 1 / 0 > 1",
        // In any order, a decisive operand takes precedence over an error.
        "reply 1 / 0 > 1 || true",
        "reply 1 / 0 > 1 || flag",
        "reply [].map(x, 1 / 0)",
        "reply [1, 0].exists(x, 1 / x == 1)",
        "reply rows.exists(r, r.id == 1 || 1 / 0 > 1)",
        "reply true ? n : 1 / 0",
        "reply [1][5] ?? 3",
        "let ages: map<string, int> = { ann: 1 }\nreply ages['bob'] ?? 3",
        "let l: any = null\nreply l?.foo.bar",
        "let kind = 'a'\nreply match unknown ?? kind { 'a' => n, _ => 2 }",
        "step w = each x in [] max 3 { step v = db.write(count: 1 / 0) yield v.id }",
    ]);
}

#[test]
fn b5_constants_pass_through_lets_and_guards() {
    let cases = [
        "let zero = 0\nreply n / zero",
        "let zone = 'Mars/Base'\nlet other = zone\nreply t.getHours(other)",
        "let list = [1, 2]\nlet at = size(list)\nreply list[at]",
        "if flag {\nlet zero = 0\nstep w = db.write(count: n / zero)\n}",
        "let zero = 0\nstep w = each r in rows max 9 { step v = db.write(count: n / zero) yield v.id }",
    ];
    for (text, found) in cases.iter().zip(findings_of(&cases)) {
        assert_eq!(found.len(), 1, "{text}");
        assert_eq!(found[0].code, FAILS, "{text}");
        assert!(
            !found[0].labels.is_empty(),
            "the value that led to it is shown: {text}"
        );
    }
    assert!(
        findings_of(&cases[..1])[0][0]
            .labels
            .iter()
            .any(|label| label == "`zero` is 0")
    );
    holds(&[
        // Under another condition, it may be null too.
        "if flag {\nlet zero = 0\nstep w = db.write(count: zero)\n}\nreply n / (zero ?? 1)",
        "let one = 1\nreply n / one",
    ]);
}

#[test]
fn b5_a_promise_that_never_holds_fails_and_other_conditions_are_constant() {
    fails(
        FAILS,
        &[
            ("ensure 1 > 2 else \"m\"", "never true"),
            ("let limit = 3\nensure limit > 5 else \"m\"", "never true"),
        ],
    );
    fails(
        "constant-condition",
        &[
            ("ensure 2 > 1 else \"m\"", "always true"),
            ("fail tool.x when 2 > 1", "always true"),
            (
                "let dry = false\nif dry { step w = db.write() }",
                "always false",
            ),
            ("step w = db.write() when 'a' in ['a']", "always true"),
            ("reply 1 when size([1]) == 2", "always false"),
            ("if flag || true { step w = db.write() }", "always true"),
        ],
    );
    // Statements under a condition that never holds are not evaluated.
    fails(
        "constant-condition",
        &[(
            "if 1 > 2 { step w = db.write(count: 1 / 0) }",
            "always false",
        )],
    );
}

#[test]
fn b5_loops_over_constants_are_counted() {
    fails(
        FAILS,
        &[
            (
                "step x = each v in [1, 2, 3] max 2 { yield v }",
                "3 elements, more than `max 2`",
            ),
            (
                "let list = [1, 2, 3]\nlet most = 1 + 1\nstep x = each v in list max most { yield v }",
                "more than `max 2`",
            ),
            (
                "step x = each v in ['a', 'b', 'a'] max 3 by v { yield v }",
                "`by` evaluates to \"a\" for two elements",
            ),
            (
                "step x = each v, i in [1, 2] max 3 by i / 2 { yield v }",
                "`by` evaluates to 0 for two elements",
            ),
            (
                "step x = each v in [1, 0] max 3 by 1 / v { yield v }",
                "divide by zero",
            ),
            (
                "step x = repeat v = 1 max 0 { yield v next null }",
                "`max` of 0",
            ),
            (
                "step x = repeat v = 1 max 3 { yield v next v + 1 }",
                "never null",
            ),
        ],
    );
    holds(&[
        "step x = each v in [1, 2, 3] max 3 by v { yield v }",
        "step x = each v in rows max 3 by v.name { yield v }",
        "step x = repeat v = 1 max 3 { yield v next v < 3 ? v + 1 : null }",
        "step x = repeat v = 1 max 3 { yield v next v + 1 when v < 3 }",
    ]);
}

#[test]
fn a_body_is_evaluated_for_every_element_of_a_constant_list() {
    fails(
        FAILS,
        &[
            (
                "step x = each v in [1, 0] max 2 { step w = db.write(count: 10 / v) yield w.id }",
                "divide by zero when the element is 0",
            ),
            (
                "step x = each v, i in ['a', 'b'] max 2 { yield [7][i] }",
                "index out of range: 1 of a list of 1 when the element is \"b\"",
            ),
            (
                "step x = each v in [1, 0] max 2 { let y = 10 / v let z = y + 1 step w = db.write(count: z) yield w.id }",
                "divide by zero when the element is 0",
            ),
            (
                "step x = each v in [1, 0] max 2 { if v < 1 { step w = db.write(count: 10 / v) } yield v }",
                "divide by zero when the element is 0",
            ),
            (
                "step x = each v in [1, 2] max 2 { ensure v < 2 else 'large' yield v }",
                "this is false when the element is 2",
            ),
            // What fails for every element is reported once.
            (
                "step x = each v in [1, 2] max 2 { step w = db.write(count: 1 / 0) yield w.id }",
                "divide by zero",
            ),
        ],
    );
    holds(&[
        "step x = each v in [1, 2] max 2 { yield 10 / v }",
        // The statement does not run for that element, or it may not.
        "step x = each v in [1, 0] max 2 { step w = db.write(count: 10 / v) when v > 0 yield v }",
        "step x = each v in [1, 0] max 2 { if v == 0 { yield 0 } yield 10 / v }",
        "step x = each v in [1, 0] max 2 { yield 0 when v == n yield 10 / v }",
        "step x = each v in [1, 0] max 2 { ensure v > n else 'none' yield 10 / v }",
        "step x = each v in [1, 0] max 2 { fail tool.none when v == 0 yield 10 / v }",
        "step x = each v in [1, 0] max 2 { step w = db.write(count: 10 / v) when flag yield v }",
        // The `let` is not read for that element.
        "step x = each v in [1, 0] max 2 { let y = 10 / v step w = db.write(count: y) when v > 0 yield v }",
        "step x = each v in [1, 0] max 2 { let y = 10 / v yield v > 0 ? y : 0 }",
        "step x = each v in [1, 0] max 2 { yield flag ? 10 / v : 0 }",
        // Elements may fail, or a step may recover.
        "step x = each v in [1, 0] max 2 settle { yield 10 / v }",
        "step x = each v in [1, 0] max 2 { step r = db.read(key: string(10 / v)) recover _ => [] yield r }",
    ]);
}

#[test]
fn a_called_plan_is_evaluated_with_the_known_arguments() {
    fails(
        FAILS,
        &[
            (
                "step a = share(parts: 0) reply a }
                plan share(parts: int, of?: string) -> int { reply 10 / parts",
                "`share` fails at 0.plan:8:68: divide by zero",
            ),
            (
                "step a = share(of: s, parts: 1 - 1) reply a }
                plan share(parts: int, of: string) -> int {
                    step w = db.write(key: of, count: 10 / parts)
                    reply size(w.id)",
                "divide by zero",
            ),
            (
                "step a = limited(rows: 7) reply a }
                plan limited(rows: int) -> int { ensure rows < 5 else 'too many' reply rows",
                "this is false",
            ),
            // Through a second plan, with a default, and for an element.
            (
                "step a = outer(n: 3) reply a }
                plan outer(n: int) -> int { step b = inner(n: n - 3) reply b }
                plan inner(n: int, of: int = 6) -> int { reply of / n",
                "`outer` fails at 3.plan:9:64: divide by zero",
            ),
            (
                "step a = each v in [1, 0] max 2 { step b = share(parts: v) yield b } reply a }
                plan share(parts: int) -> int { reply 10 / parts",
                "divide by zero when the element is 0",
            ),
            (
                "step a = named() reply a }
                plan named(name: string = '') -> int { ensure name != '' else 'no name' reply 1",
                "this is false",
            ),
            (
                "step a = share(parts: null) reply a }
                plan share(parts: int = 0) -> int { reply 10 / parts",
                "divide by zero",
            ),
            // A default that fails for the known arguments.
            (
                "step a = share(parts: 0) reply a }
                plan share(parts: int, each_one: int = 10 / parts) -> int { reply each_one",
                "`share` fails at 7.plan:8:56: divide by zero",
            ),
            // What the plan does below its own blocks, with the value as it is converted.
            (
                "step a = half(of: 3) reply a }
                plan half(of: double) -> double {
                    step all = each v in [of / 2] max 1 { ensure v == 1.0 else 'odd' yield v }
                    reply all[0]",
                "this is false when the element is 1.5",
            ),
            // What fails with any arguments is reported in the plan only.
            (
                "step a = never(n: 1) reply a }
                plan never(n: int) -> int { reply n + 1 / 0",
                "divide by zero",
            ),
        ],
    );
    holds(&[
        "step a = share(parts: 2) reply a }
        plan share(parts: int) -> int { reply 10 / parts",
        "step a = share(parts: n) reply a }
        plan share(parts: int) -> int { reply 10 / parts",
        "step a = share(parts: 0) recover _ => 0 reply a }
        plan share(parts: int) -> int { reply 10 / parts",
        "step a = share(parts: 0) reply a }
        plan share(parts: int) -> int { reply parts == 0 ? 0 : 10 / parts",
        "step a = share(parts: 0) reply a }
        plan share(parts: int) -> int { reply 0 when parts == 0 reply 10 / parts",
        "step a = share(parts: 0, all: flag) reply a }
        plan share(parts: int, all: bool) -> int { reply 0 when all reply 10 / parts",
        "step a = half(of: 3) reply a }
        plan half(of: double) -> double { ensure of / 2 == 1.5 else 'odd' reply of",
        // The plan decides to fail.
        "step a = refuse(really: true) reply a }
        plan refuse(really: bool) -> int { fail tool.refused when really reply 1",
    ]);
}

#[test]
fn blocks_in_a_body_are_evaluated_with_it() {
    fails(
        FAILS,
        &[
            (
                "step x = each v in [1, 0] max 2 { step inner = do { yield 10 / v } yield inner }",
                "divide by zero when the element is 0",
            ),
            (
                "step x = each v in [1, 0] max 2 { let y = v step inner = do { let z = y step w = db.write(count: 10 / z) yield w.id } yield inner }",
                "divide by zero when the element is 0",
            ),
            (
                "step x = each v in [2, 1] max 2 { step inner = each w in [v, v - 1] max 2 { yield 10 / w } yield inner }",
                "divide by zero when the element is 0 and the element of the loop around it is 1",
            ),
            (
                "step x = each v in ['a', 'b'] max 2 { step m = match v { 'a' => 1, 'b' => do { yield [7][size(v)] } } yield m }",
                "of a list of 1 when the element is \"b\"",
            ),
        ],
    );
    let independent = "step x = each v in [2, 1] max 2 { step inner = each w in [1, 0] max 2 { yield 10 / w } yield inner }";
    let found = &findings_of(&[independent])[0][0];
    assert!(
        found.message.ends_with("when the element is 0"),
        "{}",
        found.message
    );
    holds(&[
        "step x = each v in [1, 0] max 2 { step inner = do { yield 10 / v } when v > 0 yield inner }",
        "step x = each v in [1, 0] max 2 { step inner = do { yield 0 when v == 0 yield 10 / v } yield inner }",
        "step x = each v in [1, 0] max 2 { step inner = do { yield 10 / v } recover _ => 0 yield inner }",
        "step x = each v in [1, 0] max 2 { step inner = each w in [v] max 2 settle { yield 10 / w } yield inner }",
        "step x = each v in [1, 0] max 2 { step m = match v { 0 => 0, _ => do { yield 10 / v } } yield m }",
        // Whether the plan ends before it is not known.
        "step x = each v in [1, 0] max 2 { step inner = do { ensure v > n else 'none' } yield 10 / v }",
    ]);
}

#[test]
fn rounds_with_known_states_are_evaluated() {
    fails(
        FAILS,
        &[
            (
                "step x = repeat v = 0 max 5 { yield 10 / v next null }",
                "divide by zero when the state is 0",
            ),
            (
                "step x = repeat v = 2 max 5 { step w = db.write(count: 10 / v) yield w.id next v > -1 ? v - 1 : null }",
                "divide by zero when the state is 0",
            ),
            (
                "step x = repeat v = 1 max 3 { yield v next v < 9 ? v + 1 : null }",
                "`repeat` reaches its `max` of 3 rounds, but `next` is not null",
            ),
            (
                "step x = each v in [1, 9] max 2 { step r = repeat w = v max 3 { yield w next w < 9 ? w + 1 : null } yield r }",
                "`max` of 3 rounds, but `next` is not null when the element is 1",
            ),
        ],
    );
    holds(&[
        "step x = repeat v = 2 max 5 { yield 10 / v next v > 1 ? v - 1 : null }",
        "step x = repeat v = 2 max 5 { yield 10 / v when v > 0 next v > 0 ? v - 1 : null }",
        // How many rounds there are is not known.
        "step x = repeat v = 2 max 5 { yield 10 / v next null when flag next v > -1 ? v - 1 : null }",
        "step x = repeat v = 1 max n { yield v next v < 9 ? v + 1 : null }",
        "step x = repeat v = n max 3 { yield 10 / v next v < 9 ? v + 1 : null }",
    ]);
}

#[test]
fn what_a_built_in_tool_never_accepts_is_found() {
    fails(
        FAILS,
        &[
            (
                "step a = sys.fail(class: 'tool-missing')",
                "`tool-missing` is not an error class",
            ),
            (
                "let kind = 'nonsense.class'\nstep a = sys.fail(class: kind)",
                "`nonsense.class` is not an error class",
            ),
            (
                "step a = each kind in ['internal', 'no.such'] max 2 { step b = sys.fail(class: kind) yield 1 }\nreply a",
                "`no.such` is not an error class when the element is \"no.such\"",
            ),
        ],
    );
    holds(&["step a = sys.fail(class: 'tool.missing')"]);
}

#[test]
fn loops_and_forms_that_cannot_be_carried_out_are_found() {
    fails(
        FAILS,
        &[
            (
                "let most = 1 - 1\nstep a = repeat x = n max most { next x + 1 when x < 3 }\nreply a",
                "reached its `max` of 0 rounds",
            ),
            (
                "let all = dyn(5)\nstep a = each x in all max 5 { yield 1 }\nreply a",
                "`each` needs a list, not int",
            ),
            (
                "let choices: string[] = []\nstep a = input 'Which?' -> { which: string in choices }\nreply a.which",
                "`which` has no options, so nobody can answer",
            ),
        ],
    );
    fails(
        "budget-impossible",
        &[(
            "policy { max_steps: 2 }\nstep a = do { step b = db.write() yield b.id }\nstep c = wait 1s\nreply a",
            "this plan allows 2 steps, but every successful run executes at least 3",
        )],
    );
    holds(&[
        "policy { max_steps: 3 }\nstep a = do { step b = db.write() yield b.id }\nstep c = wait 1s\nreply a",
        "let choices: string[] = []\nstep a = input 'Which?' -> { which: string? in choices }\nreply a.which",
    ]);
}

#[test]
fn what_is_below_an_end_or_never_read_is_not_evaluated() {
    holds(&["let a = 1 / 0\nlet b = a + 1\nreply 1"]);
    let found = findings_of(&[
        "reply 3 when true\nstep a = db.write(count: 1 / 0)\nreply 4",
        "step a = do { yield 1 when 1 < 2 step b = db.write(count: 1 / 0) yield b.id }\nreply a",
        "ensure true else \"${1 / 0}\"\nreply 1",
        "if flag { let a = 1 / 0 step b = db.write(count: a) }\nreply 1",
    ]);
    let fails = found.iter().map(|found| {
        let codes = found.iter().map(|found| &*found.code);
        codes.filter(|code| *code == FAILS).count()
    });
    assert_eq!(fails.collect::<Vec<_>>(), [0, 0, 0, 1]);
}

#[test]
fn b5_a_deadline_below_a_constant_wait_is_found() {
    fails(
        "deadline-impossible",
        &[
            ("policy { deadline: 5m }\nstep w = wait 10m", "10m"),
            (
                "policy { deadline: 5m }\nlet pause = 10m\nstep w = wait pause",
                "10m",
            ),
            ("policy { deadline: 5m }\nstep w = wait 2 * 5m", "10m"),
            (
                "policy { deadline: 5m }\nlet pause = 10m\nstep w = do { step v = wait pause }",
                "10m",
            ),
        ],
    );
    fails(
        "within-impossible",
        &[(
            "let pause = 10m\nstep w = do { step v = wait pause } within 5m",
            "10m",
        )],
    );
}

#[test]
fn what_may_take_less_time_is_not_called_impossible() {
    holds(&[
        "step a = each x in [1] max 1 settle { step v = wait 10m yield x } within 5m",
        "step a = each x in [1] max 1 { step v = wait 1m yield x } within 5m",
        "step a = repeat x = 1 max 3 { next null when flag step v = wait 10m next null } within 5m",
        "step a = do { step b = q() recover _ => null } within 5m\nreply null }\nplan q() { step c = db.read() step v = \
         wait 10m reply size(c)",
        "step a = db.read() retry { attempts: 2000000000, delay: 0s, jitter: none } within 5s",
    ]);
    fails(
        "within-impossible",
        &[
            (
                "step a = each x in [1] max 1 { step v = wait 10m yield x } within 5m",
                "10m",
            ),
            (
                "step a = db.read() retry { attempts: 2000000000, delay: 2s, factor: 1, jitter: none } within 5s",
                "attempt 4 of 2000000000",
            ),
        ],
    );
}

#[test]
fn equal_operands_are_described_by_what_the_operator_does() {
    fails(
        "same-operands",
        &[
            ("reply n == n", "this compares a value with itself"),
            ("reply d != d", "this compares a value with itself"),
            ("reply d - d", "this subtracts a value from itself"),
            ("reply n / n", "this divides a value by itself"),
            (
                "reply flag && n > 1 && flag",
                "this condition is already part of the `&&`",
            ),
        ],
    );
}

#[test]
fn a_repeat_gives_a_list_of_what_its_rounds_yield() {
    holds(&[
        "step r = repeat x = 1 max 3 { if flag { yield x } else { yield n } next null }\nlet all: int[] = r\nreply all",
        "step r = repeat x = 1 max 3 { yield x when flag next null }\nlet all: int[] = r\nreply all",
    ]);
}

#[test]
fn b6_what_is_never_absent_decides_the_type_of_a_choice() {
    fails(
        "wrong-type",
        &[
            (
                "let a: bytes[] = rows.map(r, r.name) ?? [b'a']\nreply a",
                "string",
            ),
            (
                "let a: string[] = rows.map(r, r.id) ?? ['a']\nreply a.join(',')",
                "int",
            ),
        ],
    );
    fails(
        "no-overload",
        &[("reply (rows.map(r, r.id) ?? ['a']).join(',')", "join")],
    );
    fails(
        FAILS,
        &[(
            "let list: any = [1, 2]\nreply list.join(',')",
            "no such overload",
        )],
    );
    holds(&["let a: string[] = rows.map(r, r.name) ?? [1]\nreply a"]);
}

#[test]
fn b5_a_constant_is_folded_as_what_its_place_makes_of_it() {
    holds(&[
        "let x: double = size([1, 2, 3])\nreply x / 0",
        "let x: double = size([1, 2, 3])\nreply n when x / 2 == 1.5 && flag",
    ]);
    fails(
        FAILS,
        &[(
            "let all: any = [1, 'a']\nlet texts: int = all[1]\nreply texts",
            "int",
        )],
    );
}

#[test]
fn b7_a_field_of_a_value_that_is_always_null_is_found() {
    fails(
        FAILS,
        &[("let nobody: any = null\nreply nobody.name", "null")],
    );
    fails(
        "always-absent",
        &[("let nobody = null\nreply nobody.name", "null")],
    );
}

#[test]
fn s10_16_the_expressions_of_tests_are_folded_too() {
    let plan = "plan p() -> int { reply 1 }\ntest \"t\" for p { expect reply == 1 / 0 }\n";
    let folder = folder([("p.plan", plan)]);
    let output = planrun(["check", "--format", "json"])
        .within(folder.path())
        .run()
        .json();
    assert_eq!(output["diagnostics"][0]["code"], FAILS, "{output}");
}

#[test]
fn c8_lists_are_sorted_by_what_is_asked_for_and_their_ends_may_be_absent() {
    holds(&[
        "reply rows.sortBy(r, r.name).map(r, r.id).take(2)",
        "reply rows.sortBy(r, -r.id).first()?.name ?? 'nobody'",
        "let best: int = rows.map(r, r.id).max() ?? 0\nreply best",
        "let all: string[] = rows.map(r, r.name).sortBy(x, size(x))\nreply all",
        "reply 2 * 30s + 1h / 4 < 1h * n",
        "let times: double = 1h / 90s\nreply times",
        "let none: string? = [].max()\nreply none ?? 'nobody'",
        "reply entries({ b: 2, a: 1 }).sortBy(e, e.value).last()",
    ]);
    fails(
        "maybe-absent",
        &[
            ("reply rows.first().name", "first"),
            (
                "let least: int = rows.map(r, r.id).min()\nreply least",
                "least",
            ),
        ],
    );
    fails(
        "no-overload",
        &[
            ("reply rows.max()", "max"),
            ("reply rows.sortBy(r, r.tags)", "sortBy"),
            ("reply 1h * 1.5", "*"),
            ("reply 2 / 1h", "/"),
        ],
    );
    fails("not-a-list", &[("reply { a: 1 }.sortBy(k, k)", "sortBy")]);
}
