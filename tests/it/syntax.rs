//! Parsing: snapshots of trees, recovery, damaged files.

use std::fmt::Write as _;

use planrun_lang::diag::{Diagnostic, Severity};
use planrun_lang::source::{SourceFile, Span};
use planrun_lang::syntax::ast::{ItemKind, Plan, Statement, StatementKind, StepBody};
use planrun_lang::syntax::{self, Parsed};
use proptest::prelude::*;

use super::support;

#[test]
fn every_fixture_parses_without_a_finding() {
    for (name, text) in fixtures() {
        let parsed = parse(&text);
        assert!(
            parsed.diagnostics.is_empty(),
            "{name}: {}",
            listed(&text, &parsed.diagnostics)
        );
        assert_spans(&text, &parsed);
    }
}

/// Planrun refuses some forms on purpose: optional fields and elements, names that begin with a dot.
#[test]
fn cel_cases_parse_but_for_the_forms_left_out() {
    let Some(path) = support::cases("cel/cel.jsonl") else {
        return;
    };
    let text = std::fs::read_to_string(path).unwrap();
    let (mut passed, mut skipped) = (0, 0);
    for line in text.lines() {
        let case: serde_json::Value = serde_json::from_str(line).unwrap();
        let source = case["expr"].as_str().unwrap();
        let (expr, diagnostics) = syntax::parse_expression(&SourceFile::new("case", source));
        let left_out = [".?", "[?", "{?", ", ?", " .y"]
            .iter()
            .any(|form| source.contains(form))
            || source.starts_with('.');
        if left_out {
            skipped += 1;
        } else {
            passed += 1;
            // Some cases contain invisible characters, which give a warning.
            assert!(
                !diagnostics.iter().any(Diagnostic::is_error),
                "{source}: {}",
                listed(source, &diagnostics)
            );
            let text = syntax::canonical(&expr);
            let (again, diagnostics) =
                syntax::parse_expression(&SourceFile::new("canonical", text.as_str()));
            assert!(
                !diagnostics.iter().any(Diagnostic::is_error),
                "{text}: {}",
                listed(&text, &diagnostics)
            );
            assert_eq!(syntax::canonical(&again), text, "{source}");
        }
    }
    println!("cel: {passed} parsed, {skipped} with forms that planrun leaves out");
}

#[test]
fn five_mistakes_give_five_diagnostics_and_the_rest_stays() {
    let text = "use sys

plan p(name: string) -> string {
    step a = sys.echo(value: )
    step b = sys.echo(value: name)
    step c sys.echo(value: 1)
        timeout 10s
    let d = 1 +
    let ok = 2
    when b
    step e = each x in [1,, 2] max 3 {
        step inner = sys.echo(value: x)
        yield inner
    }
    reply name
}
";
    let parsed = parse(text);
    insta::assert_snapshot!(listed(text, &parsed.diagnostics), @"
    4:30 unexpected-token expected a value for argument `value`, found `)`
    6:12 unexpected-token a step needs `=` and a call, found `sys`
    8:15 unexpected-token expected a value after `+`, found the end
    10:5 misplaced-statement `when` is a clause of a step, but it does not follow a step
    11:27 unexpected-token expected a value after `,`, found `,`
    ");
    let statements = &plan(&parsed, "p").body.statements;
    assert_eq!(
        statements.iter().map(kind).collect::<Vec<_>>(),
        [
            "step a error",
            "step b",
            "step c error",
            "let",
            "let",
            "error",
            "step e",
            "reply"
        ]
    );
    assert_spans(text, &parsed);
}

#[test]
fn a_missing_brace_is_reported_where_it_was_opened() {
    let text = "use sys

plan p() -> int {
    step a = do {
        step b = sys.now()
        yield b
    step c = sys.now()
    reply 1
}

plan q() -> int {
    reply 2

plan r() -> int {
    reply 3
}
";
    let parsed = parse(text);
    insta::assert_snapshot!(listed(text, &parsed.diagnostics), @"
    4:17 unclosed-delimiter this `{` is never closed
    11:17 unclosed-delimiter this `{` is never closed
    ");
    assert_eq!(
        plan(&parsed, "p")
            .body
            .statements
            .iter()
            .map(kind)
            .collect::<Vec<_>>(),
        ["step a", "step c", "reply"]
    );
    assert_eq!(plan(&parsed, "r").body.statements.len(), 1);
}

#[expect(clippy::too_many_lines, reason = "a table of cases")]
#[test]
fn every_damage_has_its_own_words() {
    let cases = [
        (
            "step a = sys.echo(value: 1 other: 2)",
            "expected `,` or `)`, found `other`",
        ),
        (
            "step a = sys.echo(value: [1, 2)",
            "this `[` is never closed",
        ),
        ("step a = sys.echo(value: 1]", "`]` does not close `(`"),
        ("step a = sys.echo(value: 1))", "unmatched `)`"),
        (
            "step a = sys.echo(value: \"x)",
            "this string has no closing quote",
        ),
        (
            "step a = sys.echo(value: \"${x\")",
            "this `${` is never closed with `}`",
        ),
        (
            "step a = sys.echo(value: “x”)",
            "`“` (U+201C) looks like `\"`, but is a different character",
        ),
        (
            "step a = sys.echo（value: 1)",
            "`（` (U+FF08) looks like `(`, but is a different character",
        ),
        (
            "step a = sys.echo(value: \"\\q\")",
            "`\\q` is not an escape",
        ),
        ("step a = wait 10sec", "`10sec` is not a duration"),
        (
            "let a = 99999999999999999999",
            "`99999999999999999999` is too large",
        ),
        ("let a = 1_000", "`1_000` is not a number"),
        ("let a = {b: 1, b: 2}", "field `b` is given twice"),
        (
            "step a = sys.echo(value: 1, value: 2)",
            "argument `value` is given twice",
        ),
        (
            "step a = sys.now() timeout 1s timeout 2s",
            "clause `timeout` is written twice",
        ),
        (
            "step next = sys.now()",
            "`next` is a reserved word and cannot be the name of a step or a variable",
        ),
        (
            "step a = do { step next = sys.now() yield next }",
            "`next` is a reserved word and cannot be the name of a step or a variable",
        ),
        (
            "use hr",
            "`use` is not allowed inside a block, which may contain only statements",
        ),
        (
            "yield 1",
            "`yield` sets the value of a `do`, `each` or `repeat`, but it is not inside one",
        ),
        ("stpe a = sys.now()", "expected a statement, found `stpe`"),
        ("let a = true and false", "`and` is not an operator here"),
        ("if a = 1 { reply 1 }", "`=` is not an operator here"),
        ("let a = 1;", "statements end without `;`"),
        ("step a = ask writer(\"x\")", "expected `->`, found the end"),
        (
            "step a = sys.now()\n        verify sys.now() => true",
            "expected `as`, `every` or `within`, found `=>`",
        ),
        (
            "step a = match 1 { 1 => 2, 3 4 }",
            "expected `=>`, found `4`",
        ),
        ("step a = race { a sys.now() }", "expected `:`, found `sys`"),
        (
            "listener l on a is done { step 1 }",
            "expected a name after `step`, found `1`",
        ),
        (
            "let a = \u{202e}1",
            "U+202E changes the direction of text, so a reader sees a different order than planrun",
        ),
    ];
    for (statement, message) in cases {
        let text = format!("use sys\n\nplan p() -> int {{\n    {statement}\n    reply 1\n}}\n");
        let parsed = parse(&text);
        let found: Vec<&str> = parsed
            .diagnostics
            .iter()
            .map(|diagnostic| diagnostic.message.as_str())
            .collect();
        assert_eq!(found, [message], "{statement}");
        assert_eq!(
            parsed.diagnostics[0].severity,
            Severity::Error,
            "{statement}"
        );
        assert!(
            parsed.diagnostics[0].help.is_some(),
            "{statement} has no help"
        );
        let last = plan(&parsed, "p").body.statements.last().map(kind);
        assert_eq!(last.as_deref(), Some("reply"), "{statement}");
        assert_spans(&text, &parsed);
    }
}

#[test]
fn fixes_mend_the_text() {
    let cases = [
        ("let a = 10sec", "let a = 10s"),
        ("let a = 1_000", "let a = 1000"),
        ("let a = “x”", "let a = \"x\""),
        ("let a =\u{a0}1", "let a = 1"),
        ("let a = 1;", "let a = 1"),
        (
            "step next = do { yield 1 } let b = next",
            "step `next` = do { yield 1 } let b = `next`",
        ),
    ];
    for (statement, mended) in cases {
        let whole = |statement: &str| format!("plan p() {{\n    {statement}\n    reply 1\n}}\n");
        let mut text = whole(statement);
        let diagnostics = parse(&text).diagnostics;
        assert_eq!(diagnostics.len(), 1, "{statement}: {diagnostics:?}");
        let mut edits = diagnostics[0].fix.clone().unwrap().edits;
        edits.sort_by_key(|edit| std::cmp::Reverse(edit.span));
        for edit in edits {
            text.replace_range(edit.span.range(), &edit.text);
        }
        assert_eq!(text, whole(mended));
    }
}

#[test]
fn a_reserved_name_takes_its_readers_along() {
    let text = "plan p() {\n    let next = 1\n    reply next\n}\n";
    let parsed = parse(text);
    assert_eq!(listed(text, &parsed.diagnostics).lines().count(), 1);
    assert_eq!(parsed.diagnostics[0].fix.as_ref().unwrap().edits.len(), 2);
}

#[test]
fn text_blocks_lose_their_margin() {
    let value = |source: &str| {
        let (expr, diagnostics) = syntax::parse_expression(&SourceFile::new("text", source));
        assert!(diagnostics.is_empty(), "{diagnostics:?}");
        syntax::canonical(&expr)
    };
    assert_eq!(
        value("\"\"\"\n    a\n      b\n\n    c\n    \"\"\""),
        r#""a\n  b\n\nc""#
    );
    assert_eq!(
        value("\"\"\"\n  ${x} a\n   ${y}\n  \"\"\""),
        r#""${x} a\n ${y}""#
    );
    assert_eq!(value("\"\"\"\r\n  a\r\n  b\"\"\""), r#""a\nb""#);
    assert_eq!(value("\"\"\"one line\"\"\""), r#""one line""#);
    assert_eq!(value("\"\"\"\n\"\"\""), r#""""#);
    assert_eq!(value("'''\n  a'''"), r#""\n  a""#);
}

#[test]
fn documentation_belongs_to_what_stands_below() {
    let text = "//! A file.\n//! Of two lines.\n\n/// A plan.\n/// Documented.\nplan p() {\n    // plain\n    /// The step.\n    step a = sys.now() /// not of b\n    // between\n    step b = sys.now()\n}\n";
    let parsed = parse(text);
    assert_eq!(parsed.file.doc.as_deref(), Some("A file.\nOf two lines."));
    assert_eq!(
        parsed.file.items[0].doc.as_deref(),
        Some("A plan.\nDocumented.")
    );
    let docs: Vec<_> = plan(&parsed, "p")
        .body
        .statements
        .iter()
        .map(|statement| statement.doc.as_deref())
        .collect();
    assert_eq!(docs, [Some("The step."), None]);
    assert_eq!(parsed.file.comments.len(), 8);
}

#[test]
fn trees_of_the_fixtures() {
    for (name, text) in fixtures() {
        let tree = compact(&format!("{:?}", parse(&text).file.items));
        insta::assert_snapshot!(name.replace(".plan", ""), tree);
    }
}

/// Deeply nested texts are refused or parsed, but never exhaust the stack of a thread with 2 MiB.
#[test]
fn a_hundred_thousand_levels_do_no_harm() {
    const LEVELS: usize = 100_000;
    let many = |text: &str| text.repeat(LEVELS);
    let cases = [
        (many("("), 1),
        (many("["), 1),
        (many("{"), 1),
        (many("!") + "a", 1),
        ("a".to_owned() + &many(".b"), 0),
        (many("-") + "1", 1),
        ("a".to_owned() + &many("+a"), 0),
        (many("a?b:") + "c", 0),
        ("a".to_owned() + &many(" ?? a"), 0),
        (many("(") + "1" + &many(")"), 1),
        (many("{a:") + "1" + &many("}"), 1),
        (many("f(") + &many(")"), 1),
        (many("\"${") + "1" + &many("}\""), 1),
        (many("match ") + "a", 1),
        (many("match ("), 1),
        (many("\"\"\"${"), 1),
    ];
    for (text, expected) in cases {
        let (expr, diagnostics) = syntax::parse_expression(&SourceFile::new("deep", text.as_str()));
        assert_eq!(
            diagnostics.len(),
            expected,
            "{}: {:?}",
            &text[..12],
            diagnostics.first()
        );
        let _ = syntax::canonical(&expr);
    }
    let statements = [
        ("if a { }".to_owned() + &many(" else if a { }"), 0),
        (many("if a { ") + &many("}"), 1),
        ("let x: T".to_owned() + &many("[]") + " = 1", 1),
        ("let x: ".to_owned() + &many("Result<"), 1),
    ];
    for (text, expected) in statements {
        let parsed = parse(&format!("plan p() {{\n{text}\n}}\n"));
        assert_eq!(
            parsed.diagnostics.len(),
            expected,
            "{}: {:?}",
            &text[..12],
            parsed.diagnostics.first()
        );
    }
}

/// Nesting just below the limits is parsed, for every kind of nesting, on a thread with 2 MiB.
#[test]
fn nesting_within_the_caps_is_read() {
    let nested = |open: &str, inner: &str, close: &str, levels: usize| {
        open.repeat(levels) + inner + &close.repeat(levels)
    };
    for levels in [20, 24, 25, 127, 250] {
        for (open, inner, close) in [
            ("(", "1", ")"),
            ("[", "1", "]"),
            ("{a: ", "1", "}"),
            ("f(x: ", "1", ")"),
            ("\"${", "a", "}\""),
            ("match a { _ => ", "1", "}"),
        ] {
            let text = nested(open, inner, close, levels);
            let (expr, diagnostics) =
                syntax::parse_expression(&SourceFile::new("deep", text.as_str()));
            assert!(diagnostics.is_empty(), "{levels} {open}: {diagnostics:?}");
            drop(expr);
        }
        let blocks = levels.min(syntax::MAX_BLOCKS - 1);
        for (open, close) in [
            ("if a {\n", "}\n"),
            ("step x = do {\n", "}\n"),
            ("step x = match a { _ => do {\n", "} }\n"),
        ] {
            let text = format!(
                "plan p() {{\n{}}}\n",
                nested(open, "reply 1\n", close, blocks.min(120))
            );
            let parsed = parse(&text);
            let errors = parsed
                .diagnostics
                .iter()
                .filter(|diagnostic| diagnostic.code.name != "misplaced-statement");
            assert_eq!(
                errors.count(),
                0,
                "{blocks} {open}: {}",
                listed(&text, &parsed.diagnostics)
            );
        }
    }
}

/// Measured in steps of the parser, not in time: parsing nested text twice would double the steps with each level.
#[test]
fn nothing_is_read_again_and_again() {
    // The limit holds for the whole process; it is far above the need of any text here.
    pest::set_call_limit(std::num::NonZeroUsize::new(400_000_000));
    let deep = |text: &str| text.repeat(200);
    let texts = [
        deep("("),
        deep("(") + &deep(")"),
        deep("["),
        deep("{a: "),
        deep("{"),
        deep("f(a, "),
        deep("\"${"),
        deep("match ("),
        deep("match [") + &deep("]"),
        deep("(a ? b : "),
        deep("{(a): "),
        deep("{a: [") + &deep("]}"),
        deep("-("),
        deep("!("),
        deep("a ?? ("),
        deep("\"\"\"${"),
        deep("match a { 1 => "),
        deep("signal \"${"),
        deep("a is ("),
        deep("x?.["),
    ];
    for text in texts {
        for whole in [
            format!("plan p() {{\n    let x = {text}\n    reply 1\n}}\n"),
            format!(
                "plan p() {{\n    step x = {text}\n        when {text}\n    if {text} {{\n        reply 1\n    }}\n}}\n"
            ),
        ] {
            let parsed = parse(&whole);
            assert!(
                !parsed.file.items.is_empty(),
                "the limit was reached: {whole}"
            );
        }
    }
    for (open, close) in [
        ("step x = do { ", "} junk "),
        ("if a { ", "} else junk "),
        ("step x = match a { 1 => do { ", "}, , }"),
        ("step x = a.b() recover _ => do { ", "} junk "),
        ("step x = race { a: do { ", "} b }"),
        ("step x = each a b { ", "} when "),
    ] {
        let text = format!("plan p() {{ {}{} }}", open.repeat(100), close.repeat(100));
        let parsed = parse(&text);
        assert!(
            !parsed.file.items.is_empty(),
            "the limit was reached: {open}"
        );
    }
}

#[test]
fn a_file_beyond_the_limit_is_refused() {
    let text = " ".repeat(planrun_lang::source::MAX_FILE_BYTES + 1);
    let parsed = parse(&text);
    assert_eq!(parsed.diagnostics[0].code.name, "file-too-large");
}

/// Each page of a code about text has a plan with exactly that finding, and one without findings.
#[test]
fn pages_show_what_they_say() {
    // Files of 64 MiB and invalid UTF-8 do not fit on a page; positional arguments are reported where tools are known.
    let unseen = ["file-too-large", "not-utf8", "positional-argument"];
    let mut seen = 0;
    for code in planrun_lang::diag::codes::all().filter(|code| !unseen.contains(&code.name)) {
        let blocks: Vec<&str> = code
            .page
            .split("```plan\n")
            .skip(1)
            .filter_map(|rest| rest.split("```").next())
            .collect();
        let [bad, good] = blocks.as_slice() else {
            continue;
        };
        let mut found: Vec<&str> = parse(bad)
            .diagnostics
            .iter()
            .map(|diagnostic| diagnostic.code.name)
            .collect();
        found.dedup();
        let is_text = include_str!("../../crates/planrun-lang/src/diag/codes/text.rs")
            .contains(&format!("\"{}\"", code.name));
        if is_text {
            seen += 1;
            assert_eq!(found, [code.name], "{bad}");
        } else {
            assert!(found.is_empty(), "{}: {found:?}", code.name);
        }
        let left = parse(good).diagnostics;
        assert!(left.is_empty(), "{}: {}", code.name, listed(good, &left));
    }
    assert_eq!(seen, 15);
}

fn token() -> impl Strategy<Value = String> {
    let words = "step let if else task set listener ensure fail reply yield next do true false null in is plan use type tool \
                 test when after confirm timeout within retry until cache verify recover undo each match race ask infer \
                 input wait for max parallel by as on ( ) [ ] { } , : = => -> . ?. ? ?? || && == + - * < > | ! \" ' \"\"\" \
                 ${ } // ` \\ _ a b.c 1 2.5 10s 8MiB r\" b' @ ; 名字 “ ” （ \u{200b} \u{202e} \u{1a} é";
    let mut all: Vec<String> = words.split(' ').map(str::to_owned).collect();
    all.extend([
        "\n".to_owned(),
        "\n    ".to_owned(),
        "\n}\n".to_owned(),
        "\r\n".to_owned(),
        "\"a ${b} c\"".to_owned(),
    ]);
    prop::sample::select(all)
}

proptest! {
    #![proptest_config(crate::support::on(300))]

    #[test]
    fn any_text_is_read(text in ".{0,200}") {
        let parsed = parse(&text);
        assert_spans(&text, &parsed);
        let (expr, _) = syntax::parse_expression(&SourceFile::new("any", text.as_str()));
        prop_assert!(inside(&text, expr.span));
    }

    #[test]
    fn any_tokens_are_read(tokens in prop::collection::vec(token(), 0..80), spaced in any::<bool>()) {
        let text = tokens.join(if spaced { " " } else { "" });
        let parsed = parse(&text);
        assert_spans(&text, &parsed);
        let whole = format!("use sys\nplan p() {{\n    step a = sys.echo(value: {text})\n    reply a\n}}\n");
        assert_spans(&whole, &parse(&whole));
    }

    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let text = String::from_utf8_lossy(&bytes);
        assert_spans(&text, &parse(&text));
    }

    #[test]
    fn any_edit_of_a_plan_is_read(at in any::<prop::sample::Index>(), length in 0..40_usize, new in token()) {
        let (_, text) = fixtures().remove(0);
        let boundary = |mut at: usize| { while !text.is_char_boundary(at) { at -= 1; } at };
        let start = boundary(at.index(text.len()));
        let end = boundary((start + length).min(text.len()));
        let edited = format!("{}{new}{}", &text[..start], &text[end..]);
        assert_spans(&edited, &parse(&edited));
    }
}

fn parse(text: &str) -> Parsed {
    syntax::parse(&SourceFile::new("test", text))
}

/// Returns the names and texts of the plans that must parse.
fn fixtures() -> Vec<(String, String)> {
    let folder = support::root().join("tests/fixtures/syntax");
    let mut plans = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_some_and(|extension| extension == "plan")
        {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            plans.push((name, std::fs::read_to_string(&path).unwrap()));
        }
    }
    plans.sort();
    plans
}

fn plan<'p>(parsed: &'p Parsed, name: &str) -> &'p Plan {
    let plans = parsed
        .file
        .items
        .iter()
        .filter_map(|item| match &item.kind {
            ItemKind::Plan(plan) => Some(plan),
            ItemKind::Use(_)
            | ItemKind::Type(_)
            | ItemKind::Tool(_)
            | ItemKind::Test(_)
            | ItemKind::Error => None,
        });
    plans
        .into_iter()
        .find(|plan| &*plan.name.text == name)
        .unwrap()
}

fn kind(statement: &Statement) -> String {
    match &statement.kind {
        StatementKind::Step(step) => {
            let error = if matches!(step.body, StepBody::Error) {
                " error"
            } else {
                ""
            };
            format!("step {}{error}", step.name.text)
        }
        StatementKind::Let { .. } => "let".to_owned(),
        StatementKind::Reply(_) => "reply".to_owned(),
        other => format!("{other:?}")
            .chars()
            .take_while(|c| c.is_alphabetic())
            .collect::<String>()
            .to_lowercase(),
    }
}

/// Formats the diagnostics, one per line: position, code, message.
fn listed(text: &str, diagnostics: &[Diagnostic]) -> String {
    let source = SourceFile::new("test", text);
    let mut lines = String::new();
    for diagnostic in diagnostics {
        let place = source.position(diagnostic.span.start);
        writeln!(
            lines,
            "{}:{} {} {}",
            place.line, place.column, diagnostic.code.name, diagnostic.message
        )
        .unwrap();
    }
    lines
}

fn inside(text: &str, span: Span) -> bool {
    text.get(span.range()).is_some()
}

/// Asserts that every span in the tree and the diagnostics is within the text and on character boundaries.
fn assert_spans(text: &str, parsed: &Parsed) {
    let debug = format!("{:?}", parsed.file);
    for (start, end) in spans(&debug) {
        assert!(
            inside(text, Span::new(start, end)),
            "{start}..{end} in {text:?}"
        );
    }
    for diagnostic in &parsed.diagnostics {
        let edits = diagnostic
            .fix
            .iter()
            .flat_map(|fix| fix.edits.iter().map(|edit| edit.span));
        let labels = diagnostic.labels.iter().map(|label| label.span);
        for span in edits.chain(labels).chain([diagnostic.span]) {
            assert!(
                inside(text, span),
                "{span:?} of {} in {text:?}",
                diagnostic.message
            );
        }
    }
}

/// Returns the ranges of each `span: 1..2` in a debug output.
fn spans(debug: &str) -> impl Iterator<Item = (usize, usize)> {
    debug.split("span: ").skip(1).filter_map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (start, end) = rest[..end].split_once("..")?;
        Some((start.parse().ok()?, end.parse().ok()?))
    })
}

/// Shortens a debug output: without spans and absent parts, and with one statement or clause per line.
fn compact(debug: &str) -> String {
    let replacements = [
        (
            r#"(?:Name|Text) \{ text: ("(?:[^"\\]|\\.)*"), span: \d+\.\.\d+ \}"#,
            "$1",
        ),
        (r"\w*span: \d+\.\.\d+(?:, )?", ""),
        (r"\w+: None, ", ""),
        (r", \w+: None\b", ""),
        (r"(?:Expr|TypeExpr|Pattern) \{ kind: ", "{"),
        (r" \}", "}"),
        (r"(Item \{|TestStatement \{|Statement \{|Clause \{)", "\n$1"),
    ];
    replacements
        .iter()
        .fold(debug.to_owned(), |text, (pattern, new)| {
            regex::Regex::new(pattern)
                .unwrap()
                .replace_all(&text, *new)
                .into_owned()
        })
}

/// Larger files are parsed in pieces. In bytes.
const LARGE: usize = 300 * 1024;

fn many_plans(broken: Option<usize>) -> (String, usize) {
    let mut text = "//! Many plans.\n\nuse kit\n".to_owned();
    let mut number = 0;
    while text.len() < LARGE {
        let value = if broken == Some(number) {
            "1 +"
        } else {
            "1 + 2"
        };
        write!(
            text,
            "\n/// Number {number}, 第{number}号.\nplan p{number}(n: int) -> int {{\n"
        )
        .unwrap();
        write!(
            text,
            "    let x{number} = {value}\n    // beside\n    reply x{number} + n\n}}\n"
        )
        .unwrap();
        number += 1;
    }
    (text, number)
}

#[test]
fn large_files_are_read_in_pieces_as_they_are_whole() {
    let (text, plans) = many_plans(None);
    let source = SourceFile::new("large.plan", text.as_str());
    let parsed = syntax::parse(&source);
    assert!(
        parsed.diagnostics.is_empty(),
        "{:?}",
        parsed.diagnostics.first()
    );
    assert_eq!(parsed.file.doc.as_deref(), Some("Many plans."));
    assert_eq!(parsed.file.items.len(), plans + 1);
    for (number, item) in parsed.file.items.iter().skip(1).enumerate() {
        assert_eq!(
            item.doc.as_deref(),
            Some(&*format!("Number {number}, 第{number}号."))
        );
        let ItemKind::Plan(plan) = &item.kind else {
            panic!("{number} is no plan")
        };
        assert_eq!(source.slice(plan.name.span), format!("p{number}"));
        assert!(
            source.slice(item.span).starts_with("plan p") && source.slice(item.span).ends_with('}')
        );
        let StatementKind::Reply(reply) = &plan.body.statements[1].kind else {
            panic!("{number} has no reply")
        };
        assert_eq!(source.slice(reply.value.span), format!("x{number} + n"));
    }
}

/// Returns a text with one plan whose statements have every position in a line, with documentation, clauses and blocks
/// in between.
fn one_large_plan(broken: Option<usize>) -> (String, usize) {
    let mut text =
        "//! One plan.\n\nuse kit\n\n/// What it does.\nplan p(n: { a: int }) -> { b: int } {\n"
            .to_owned();
    let mut number = 0;
    while text.len() < LARGE {
        let value = if broken == Some(number) {
            "1 +"
        } else {
            "1 +\n        2"
        };
        write!(text, "    let x{number} = {value}\n\n    /// 第{number}步.\n    step s{number} = kit.get(a: x{number})\n").unwrap();
        write!(
            text,
            "        recover _ =>\n            null\n    // beside\n    step d{number} = do {{\n"
        )
        .unwrap();
        writeln!(text, "        let y = \"{{${{ {{ a: 1 }} }}\"\n        yield y\n    }} let z{number} = 1 let w{number} = 2").unwrap();
        number += 1;
    }
    text.push_str(
        "    reply { b: 1 }\n    // The end.\n}\n\n/// Another one.\nplan q() {\n    reply 1\n}\n",
    );
    (text, number)
}

#[test]
fn large_plans_are_read_in_pieces_as_they_are_whole() {
    let (text, number) = one_large_plan(None);
    let source = SourceFile::new("large.plan", text.as_str());
    let parsed = syntax::parse(&source);
    let first = parsed.diagnostics.first();
    assert!(parsed.diagnostics.is_empty(), "{first:?}");
    let [_, plan, other] = parsed.file.items.as_slice() else {
        panic!("{} items", parsed.file.items.len())
    };
    assert_eq!(plan.doc.as_deref(), Some("What it does."));
    assert_eq!(other.doc.as_deref(), Some("Another one."));
    let ItemKind::Plan(body) = &plan.kind else {
        panic!("no plan")
    };
    let whole = source.slice(plan.span);
    assert!(whole.starts_with("plan p(") && whole.ends_with("// The end.\n}"));
    let block = source.slice(body.body.span);
    assert!(block.starts_with("{\n    let x0") && block.ends_with("// The end.\n}"));
    let statements = &body.body.statements;
    assert_eq!(statements.len(), 5 * number + 1);
    for (number, group) in statements.chunks_exact(5).enumerate() {
        let doc = group[1].doc.as_deref();
        assert_eq!(doc, Some(&*format!("第{number}步.")));
        let texts = group.iter().map(|statement| source.slice(statement.span));
        let texts: Vec<&str> = texts.collect();
        assert_eq!(texts[0], format!("let x{number} = 1 +\n        2"));
        assert!(texts[1].starts_with("step s") && texts[1].ends_with("null"));
        assert!(texts[2].starts_with("step d") && texts[2].ends_with("yield y\n    }"));
        let last = [format!("let z{number} = 1"), format!("let w{number} = 2")];
        assert_eq!(texts[3..], last);
    }
}

#[test]
fn one_mistake_in_a_large_plan_is_one_finding() {
    let (text, number) = one_large_plan(Some(700));
    let source = SourceFile::new("large.plan", text.as_str());
    let parsed = syntax::parse(&source);
    assert_eq!(parsed.diagnostics.len(), 1, "{:?}", parsed.diagnostics);
    let place = parsed.diagnostics[0].span;
    let before = &text[..place.start as usize];
    assert!(before.contains("let x700 =") && !before.contains("let x701"));
    let ItemKind::Plan(plan) = &parsed.file.items[1].kind else {
        panic!("no plan")
    };
    assert_eq!(plan.body.statements.len(), 5 * number + 1);
}

#[test]
fn one_mistake_in_a_large_file_is_one_finding() {
    let (text, plans) = many_plans(Some(1234));
    let source = SourceFile::new("large.plan", text.as_str());
    let parsed = syntax::parse(&source);
    assert_eq!(parsed.diagnostics.len(), 1, "{:?}", parsed.diagnostics);
    assert!(
        source
            .slice(parsed.file.items[1235].span)
            .contains("plan p1234(")
    );
    let place = source.position(parsed.diagnostics[0].span.start);
    assert!(
        (4 + 7 * 1234..4 + 7 * 1235).contains(&(place.line as usize)),
        "{place:?}"
    );
    assert_eq!(parsed.file.items.len(), plans + 1);
}

#[test]
fn an_invisible_character_hides_no_syntax_error() {
    for statement in [
        "ensure n <\u{a0}100",
        "step x = kit.get(a:\u{a0})",
        "reply 1 when n <\u{a0}1 &&",
    ] {
        let text = format!("use kit\n\nplan p(n: int) {{\n    {statement}\n    reply 1\n}}\n");
        let parsed = syntax::parse(&SourceFile::new("a.plan", text.as_str()));
        let mut found = parsed.diagnostics.iter();
        assert!(
            found.any(planrun_lang::diag::Diagnostic::is_error),
            "{statement}: {:?}",
            parsed.diagnostics
        );
    }
}
