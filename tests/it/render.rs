//! Rendering of diagnostics: snippets, remedies, one-line form, JSON; hostile text has no effect.

use std::collections::BTreeMap;

use planrun_lang::diag::render::{
    Appearance, FileReport, Problem, Report, github, human, json, junit, sarif, short,
};
use planrun_lang::diag::{Diagnostic, Edit, codes};
use planrun_lang::source::{SourceFile, Span};
use proptest::prelude::*;
use quick_xml::events::Event;

const PLAN: &str = "\
use hr, email

plan onboarding(name: string) -> string {
    step profile = hr.create(name: name)
    step mail = email.send(to: profile.emplid, subject: \"欢迎 ${name}\")
    reply mail.id
}
";

/// Returns the span of the nth `needle` in `text`.
fn find(text: &str, needle: &str) -> Span {
    let start = text.find(needle).unwrap();
    Span::new(start, start + needle.len())
}

fn samples() -> FileReport {
    let unknown = find(PLAN, "emplid");
    let field = Diagnostic::new(
        &codes::names::UNKNOWN_FIELD,
        unknown,
        "the result of `profile` has no field `emplid`",
    )
    .note("no such field")
    .label(find(PLAN, "hr.create"), "`profile` is what this gives")
    .available(["emp_id", "level"])
    .help("did you mean `emp_id`?")
    .fix("use `emp_id`", unknown, "emp_id");
    let wrong = Diagnostic::new(
        &codes::types::WRONG_TYPE,
        find(PLAN, "\"欢迎 ${name}\""),
        "`subject` wants a list",
    )
    .note("this is a string")
    .expected("string[]", "string");
    let bound = find(PLAN, "use hr, email");
    let unused = Diagnostic::new(&codes::names::UNUSED_USE, bound, "`hr` is never called").fix_all(
        "drop it",
        vec![
            Edit {
                span: Span::new(3, 7),
                text: String::new(),
            },
            Edit {
                span: Span::at(PLAN.len()),
                text: "// `hr` went\n".into(),
            },
        ],
    );
    FileReport::new(
        SourceFile::new("plans/入职.plan", PLAN),
        vec![wrong, field, unused],
    )
}

/// Returns the report of a check of these files.
fn report(files: impl IntoIterator<Item = FileReport>) -> Report {
    let files = files.into_iter().collect::<Vec<_>>();
    Report {
        plan_files: files.len(),
        files,
        problems: Vec::new(),
    }
}

#[test]
fn people_see_place_cause_and_remedy() {
    insta::assert_snapshot!(human(&[samples()], Appearance::PLAIN));
}

#[test]
fn a_poor_terminal_gets_ascii() {
    let screen = Appearance {
        unicode: false,
        ..Appearance::PLAIN
    };
    let text = human(&[samples()], screen);
    let own: String = text
        .lines()
        .filter(|line| !line.contains('欢') && !line.contains("入职"))
        .collect();
    assert!(own.is_ascii(), "{text}");
}

#[test]
fn colour_only_when_asked() {
    let colour = human(
        &[samples()],
        Appearance {
            color: true,
            ..Appearance::PLAIN
        },
    );
    assert!(
        colour.contains("\x1b[31merror[unknown-field]\x1b[0m"),
        "{colour:?}"
    );
    assert!(!human(&[samples()], Appearance::PLAIN).contains('\x1b'));
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
    insta::assert_snapshot!(json(&report([samples()])));
}

/// Returns the elements of an XML document and their attributes, with a strict parser.
fn elements(document: &str) -> Vec<(String, BTreeMap<String, String>)> {
    let mut reader = quick_xml::Reader::from_str(document);
    let mut found = Vec::new();
    loop {
        match reader.read_event().unwrap() {
            Event::Start(element) | Event::Empty(element) => {
                let attributes = element.attributes().map(|attribute| {
                    let attribute = attribute.unwrap();
                    let value = quick_xml::escape::unescape(&attribute.value).unwrap();
                    (attribute.key.as_ref().to_owned(), value.into_owned())
                });
                found.push((element.name().as_ref().to_owned(), attributes.collect()));
            }
            Event::Eof => return found,
            _ => {}
        }
    }
}

/// Returns a report with warnings, an error and a note, a file without findings, and one that cannot be read.
fn everything() -> Report {
    let mut all = report([
        samples(),
        FileReport::new(SourceFile::new("plans/a b,c:d.plan", PLAN), vec![]),
    ]);
    let note = Diagnostic::new(
        &codes::types::UNKNOWN_READ,
        find(PLAN, "mail.id"),
        "nobody knows 100% of \"it\" & <more>",
    );
    let long = Diagnostic::new(
        &codes::names::UNUSED_RESULT,
        Span::new(0, PLAN.len()),
        "all\r\nof it",
    );
    all.files.push(FileReport::new(
        SourceFile::new("../z,1:2.plan", PLAN),
        vec![note, long],
    ));
    all.problems.push(Problem {
        file: Some("x.plan".into()),
        message: "cannot read `x.plan`: denied, 50%".into(),
    });
    all
}

#[test]
fn sarif_has_rules_regions_and_fixes() {
    let mut document: serde_json::Value = serde_json::from_str(&sarif(&everything())).unwrap();
    let rules = document["runs"][0]["tool"]["driver"]["rules"]
        .as_array_mut()
        .unwrap();
    let page = codes::names::UNKNOWN_FIELD.page;
    assert_eq!(
        rules[0]["help"],
        serde_json::json!({"text": page, "markdown": page})
    );
    assert!(rules[0]["fullDescription"]["text"].as_str().unwrap().len() > 40);
    for rule in rules {
        // The pages have tests of their own.
        rule.as_object_mut()
            .unwrap()
            .retain(|key, _| !["help", "fullDescription", "shortDescription"].contains(&&**key));
    }
    let text = serde_json::to_string_pretty(&document).unwrap();
    insta::assert_snapshot!(text.replace(env!("CARGO_PKG_VERSION"), "VERSION"));
}

#[test]
fn a_fingerprint_stays_when_lines_are_added_above_and_differs_for_the_same_line_again() {
    let prints = |text: &str| {
        let spans = text
            .match_indices("step s")
            .map(|(at, found)| Span::new(at, at + found.len()));
        let found = spans
            .map(|span| Diagnostic::new(&codes::names::UNUSED_RESULT, span, "m"))
            .collect();
        let document = sarif(&report([FileReport::new(
            SourceFile::new("x.plan", text),
            found,
        )]));
        let document: serde_json::Value = serde_json::from_str(&document).unwrap();
        let results = document["runs"][0]["results"].as_array().unwrap().clone();
        let print = |result: &serde_json::Value| {
            result["partialFingerprints"]["primaryLocationLineHash"].to_string()
        };
        results.iter().map(print).collect::<Vec<_>>()
    };
    let before = prints("step s = a.b()\nstep s = a.b()\nstep s = a.c()\n");
    assert_eq!(
        before,
        prints("// new\n\n    step s = a.b()\nstep s = a.b()\n  step s = a.c()\n")
    );
    assert!(
        before[0] != before[1] && before[1] != before[2],
        "{before:?}"
    );
}

#[test]
fn workflow_commands_escape_what_would_end_them() {
    insta::assert_snapshot!(github(&everything()), @r#"
    ::warning file=plans/入职.plan,line=1,col=1,endLine=1,endColumn=14,title=unused-use::`hr` is never called
    ::error file=plans/入职.plan,line=5,col=40,endLine=5,endColumn=46,title=unknown-field::the result of `profile` has no field `emplid`%0Aavailable: emp_id, level%0Ahelp: did you mean `emp_id`?
    ::error file=plans/入职.plan,line=5,col=57,endLine=5,endColumn=69,title=wrong-type::`subject` wants a list%0Aexpected: string[]%0Aactual: string
    ::notice file=../z%2C1%3A2.plan,line=1,endLine=8,title=unused-result::all\r%0Aof it
    ::notice file=../z%2C1%3A2.plan,line=6,col=11,endLine=6,endColumn=18,title=unknown-read::nobody knows 100%25 of "it" & <more>
    ::error title=planrun::cannot read `x.plan`: denied, 50%25
    "#);
}

#[test]
fn junit_counts_errors_as_failures_and_the_rest_as_passed() {
    let text = junit(&everything());
    let found = elements(&text);
    let of = |attribute: &str| {
        found
            .iter()
            .filter(|(name, _)| name == attribute)
            .map(|(_, at)| at)
            .collect::<Vec<_>>()
    };
    let whole = of("testsuites")[0];
    assert_eq!(
        (
            whole["tests"].as_str(),
            whole["failures"].as_str(),
            whole["errors"].as_str()
        ),
        ("7", "2", "1")
    );
    assert_eq!(of("testcase").len(), 7);
    assert_eq!(
        (
            of("failure").len(),
            of("error").len(),
            of("system-out").len()
        ),
        (2, 1, 3)
    );
    insta::assert_snapshot!(text);
}

#[test]
fn findings_are_in_source_order_whatever_order_they_came_in() {
    let mut backwards = samples().diagnostics;
    backwards.reverse();
    let again = FileReport::new(SourceFile::new("plans/入职.plan", PLAN), backwards);
    assert_eq!(json(&report([samples()])), json(&report([again])));
}

#[test]
fn hostile_text_never_reaches_the_terminal() {
    let text = "plan p() {\n    reply \"\x1b]0;owned\x07 \u{202e}\u{9b}31m\t'\r'\"\n}\n";
    let found = Diagnostic::new(
        &codes::types::WRONG_TYPE,
        find(text, "reply"),
        "a tool said \x1b[2J",
    )
    .note("\x07")
    .help("\u{202e}x")
    .expected("\x1b", "\u{9b}")
    .fix("\x1b", find(text, "\u{202e}"), "\x1b");
    let report = report([FileReport::new(
        SourceFile::new("a\x1b.plan", text),
        vec![found],
    )]);
    let rendered = [
        human(&report.files, Appearance::PLAIN),
        short(&report.files),
    ];
    for rendered in rendered.into_iter().chain([
        json(&report),
        sarif(&report),
        github(&report),
        junit(&report),
    ]) {
        assert!(
            rendered
                .chars()
                .all(|rendered| rendered == '\n' || !rendered.is_control()),
            "{rendered:?}"
        );
        assert!(!rendered.contains('\u{202e}'), "{rendered}");
    }
    insta::assert_snapshot!(human(&report.files, Appearance::PLAIN));
    let parsed: serde_json::Value = serde_json::from_str(&json(&report)).unwrap();
    assert_eq!(parsed["diagnostics"][0]["message"], "a tool said \x1b[2J");
}

#[test]
fn a_line_of_a_megabyte_is_cut_around_the_finding() {
    let text = format!(
        "plan p() {{ reply \"{}needle{}\" }}",
        "名".repeat(300_000),
        "x".repeat(500_000)
    );
    let found = Diagnostic::new(&codes::names::UNKNOWN_NAME, find(&text, "needle"), "here")
        .note("here")
        .label(Span::new(0, 4), "far to the left")
        .label(Span::at(text.len()), "far to the right");
    let rendered = human(
        &[FileReport::new(
            SourceFile::new("long.plan", text),
            vec![found],
        )],
        Appearance::PLAIN,
    );
    insta::assert_snapshot!(rendered);
}

#[test]
fn a_long_span_shows_its_beginning_and_ends_are_visible() {
    let text = format!("plan p() {{\n{}", "    step a = sys.nothing()\n".repeat(50));
    let open = Diagnostic::new(
        &codes::text::UNCLOSED_DELIMITER,
        Span::new(9, text.len()),
        "`{` is never closed",
    );
    let end = Diagnostic::new(
        &codes::text::UNEXPECTED_TOKEN,
        Span::at(text.len()),
        "the file ends here",
    )
    .note("here");
    let rendered = human(
        &[FileReport::new(
            SourceFile::new("open.plan", text),
            vec![open, end],
        )],
        Appearance::PLAIN,
    );
    insta::assert_snapshot!(rendered);
}

#[test]
fn an_empty_file_can_have_a_finding() {
    let found = Diagnostic::new(
        &codes::text::EMPTY_PLAN,
        Span::new(0, 0),
        "there is nothing here",
    )
    .note("here");
    let rendered = human(
        &[FileReport::new(SourceFile::new("e.plan", ""), vec![found])],
        Appearance::PLAIN,
    );
    insta::assert_snapshot!(rendered);
}

proptest! {
    #![proptest_config(crate::support::on(400))]

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
        let report = report([FileReport::new(SourceFile::new("x.plan", text), vec![found])]);
        let rendered = human(&report.files, Appearance { unicode, width, ..Appearance::PLAIN });
        prop_assert!(rendered.starts_with("error[wrong-type]\n"), "{}", rendered);
        prop_assert!(rendered.lines().all(|line| line.chars().count() < 400), "{}", rendered);
        prop_assert!(!rendered.contains("Failed to read"), "{}", rendered);
        prop_assert_eq!(short(&report.files).lines().count(), 1);
        prop_assert_eq!(github(&report).lines().count(), 1);
        for document in [json(&report), sarif(&report)] {
            serde_json::from_str::<serde_json::Value>(&document).unwrap();
        }
        let document = elements(&junit(&report));
        prop_assert_eq!(document.iter().filter(|(name, _)| name == "failure").count(), 1);
    }
}
