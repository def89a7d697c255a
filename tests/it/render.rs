//! How diagnostics look: snippets, remedies, one-line form, JSON; hostile text stays text.

use planrun::diag::codes;
use planrun::diag::render::{FileReport, Look, human, json, short};
use planrun::diag::{Diagnostic, Edit};
use planrun::source::{SourceFile, Span};
use proptest::prelude::*;

const PLAN: &str = "\
use hr, email

plan onboarding(name: string) -> string {
    step profile = hr.create(name: name)
    step mail = email.send(to: profile.emplid, subject: \"欢迎 ${name}\")
    reply mail.id
}
";

/// The span of the nth `needle` in `text`.
fn find(text: &str, needle: &str) -> Span {
    let start = text.find(needle).unwrap();
    Span::new(start, start + needle.len())
}

fn samples() -> FileReport {
    let unknown = find(PLAN, "emplid");
    let field = Diagnostic::new(&codes::names::UNKNOWN_FIELD, unknown, "the result of `profile` has no field `emplid`")
        .note("no such field")
        .label(find(PLAN, "hr.create"), "`profile` is what this gives")
        .available(["emp_id", "level"])
        .help("did you mean `emp_id`?")
        .fix("use `emp_id`", unknown, "emp_id");
    let wrong = Diagnostic::new(&codes::types::WRONG_TYPE, find(PLAN, "\"欢迎 ${name}\""), "`subject` wants a list")
        .note("this is a string")
        .expected("string[]", "string");
    let bound = find(PLAN, "use hr, email");
    let unused = Diagnostic::new(&codes::names::UNUSED_USE, bound, "`hr` is never called").fix_all(
        "drop it",
        vec![
            Edit { span: Span::new(3, 7), text: String::new() },
            Edit { span: Span::at(PLAN.len()), text: "// `hr` went\n".into() },
        ],
    );
    FileReport::new(SourceFile::new("plans/入职.plan", PLAN), vec![wrong, field, unused])
}

#[test]
fn people_see_place_cause_and_remedy() {
    insta::assert_snapshot!(human(&[samples()], Look::PLAIN));
}

#[test]
fn a_poor_terminal_gets_ascii() {
    let screen = Look { unicode: false, ..Look::PLAIN };
    let text = human(&[samples()], screen);
    let own: String = text.lines().filter(|line| !line.contains('欢') && !line.contains("入职")).collect();
    assert!(own.is_ascii(), "{text}");
}

#[test]
fn colour_only_when_asked() {
    let colour = human(&[samples()], Look { color: true, ..Look::PLAIN });
    assert!(colour.contains("\x1b[31merror[unknown-field]\x1b[0m"), "{colour:?}");
    assert!(!human(&[samples()], Look::PLAIN).contains('\x1b'));
}

#[test]
fn lines_for_grep() {
    insta::assert_snapshot!(short(&[samples()]), @r"
    plans/入职.plan:1:1: warning[unused-use] `hr` is never called
    plans/入职.plan:5:40: error[unknown-field] the result of `profile` has no field `emplid`
    plans/入职.plan:5:57: error[wrong-type] `subject` wants a list
    ");
}

#[test]
fn json_has_the_documented_shape() {
    insta::assert_snapshot!(json(&[samples()], 1));
}

#[test]
fn findings_are_in_source_order_whatever_order_they_came_in() {
    let mut backwards = samples().diagnostics;
    backwards.reverse();
    let again = FileReport::new(SourceFile::new("plans/入职.plan", PLAN), backwards);
    assert_eq!(json(&[samples()], 1), json(&[again], 1));
}

#[test]
fn hostile_text_never_reaches_the_terminal() {
    let text = "plan p() {\n    reply \"\x1b]0;owned\x07 \u{202e}\u{9b}31m\t'\r'\"\n}\n";
    let found = Diagnostic::new(&codes::types::WRONG_TYPE, find(text, "reply"), "a tool said \x1b[2J")
        .note("\x07")
        .help("\u{202e}x")
        .expected("\x1b", "\u{9b}")
        .fix("\x1b", find(text, "\u{202e}"), "\x1b");
    let report = [FileReport::new(SourceFile::new("a\x1b.plan", text), vec![found])];
    for shown in [human(&report, Look::PLAIN), short(&report), json(&report, 1)] {
        assert!(shown.chars().all(|shown| shown == '\n' || !shown.is_control()), "{shown:?}");
        assert!(!shown.contains('\u{202e}'), "{shown}");
    }
    insta::assert_snapshot!(human(&report, Look::PLAIN));
    let parsed: serde_json::Value = serde_json::from_str(&json(&report, 1)).unwrap();
    assert_eq!(parsed["diagnostics"][0]["message"], "a tool said \x1b[2J");
}

#[test]
fn a_line_of_a_megabyte_is_cut_around_the_finding() {
    let text = format!("plan p() {{ reply \"{}needle{}\" }}", "名".repeat(300_000), "x".repeat(500_000));
    let found = Diagnostic::new(&codes::names::UNKNOWN_NAME, find(&text, "needle"), "here")
        .note("here")
        .label(Span::new(0, 4), "far to the left")
        .label(Span::at(text.len()), "far to the right");
    let shown = human(&[FileReport::new(SourceFile::new("long.plan", text), vec![found])], Look::PLAIN);
    insta::assert_snapshot!(shown);
}

#[test]
fn a_long_span_shows_its_beginning_and_ends_are_visible() {
    let text = format!("plan p() {{\n{}", "    step a = sys.nothing()\n".repeat(50));
    let open = Diagnostic::new(&codes::text::UNCLOSED_DELIMITER, Span::new(9, text.len()), "`{` is never closed");
    let end = Diagnostic::new(&codes::text::UNEXPECTED_TOKEN, Span::at(text.len()), "the file ends here").note("here");
    let shown = human(&[FileReport::new(SourceFile::new("open.plan", text), vec![open, end])], Look::PLAIN);
    insta::assert_snapshot!(shown);
}

#[test]
fn an_empty_file_can_have_a_finding() {
    let found = Diagnostic::new(&codes::text::EMPTY_PLAN, Span::new(0, 0), "there is nothing here").note("here");
    let shown = human(&[FileReport::new(SourceFile::new("e.plan", ""), vec![found])], Look::PLAIN);
    insta::assert_snapshot!(shown);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_span_in_any_text_renders_bounded(
        text in "[ab\\n\\r\\t名é\u{202e}\u{200d}{}\" ]{0,120}",
        spans in proptest::collection::vec((0u32..200, 0u32..200), 1..5),
        unicode: bool,
        width in 0usize..140,
    ) {
        let spans: Vec<_> = spans.into_iter().map(|(a, b)| Span { start: a.min(b), end: a.max(b) }).collect();
        let mut found = Diagnostic::new(&codes::types::WRONG_TYPE, spans[0], "m").note("n").fix("f", spans[0], "");
        for span in &spans[1..] {
            found = found.label(*span, "l\nm");
        }
        let report = [FileReport::new(SourceFile::new("x.plan", text), vec![found])];
        let shown = human(&report, Look { color: false, unicode, width });
        prop_assert!(shown.starts_with("error[wrong-type]\n"), "{}", shown);
        prop_assert!(shown.lines().all(|line| line.chars().count() < 400), "{}", shown);
        prop_assert!(!shown.contains("Failed to read"), "{}", shown);
        prop_assert_eq!(short(&report).lines().count(), 1);
        serde_json::from_str::<serde_json::Value>(&json(&report, 1)).unwrap();
    }
}
