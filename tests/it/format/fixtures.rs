//! Texts before and after formatting: each `x.before` in `tests/fixtures/format` becomes `x.after`.

use std::fs;

use planrun_lang::format::{format, print};
use planrun_lang::source::SourceFile;
use planrun_lang::syntax::parse;

use super::meaning::judge;
use crate::support::root;

#[test]
fn texts_become_what_stands_beside_them() {
    let folder = root().join("tests/fixtures/format");
    let mut names: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    names.retain(|path| path.extension().is_some_and(|ending| ending == "before"));
    names.sort();
    assert!(names.len() >= 4);
    for path in names {
        let before = fs::read_to_string(&path).unwrap();
        let after = format(&SourceFile::new("a.plan", before.as_str()))
            .unwrap_or_else(|found| panic!("{path:?}: {found:?}"));
        assert_eq!(judge(&before), None, "{}", path.display());
        let expected = path.with_extension("after");
        if std::env::var_os("PLANRUN_BLESS").is_some() {
            fs::write(&expected, &after).unwrap();
        }
        assert_eq!(
            fs::read_to_string(&expected).unwrap(),
            after,
            "{}",
            path.display()
        );
    }
}

#[test]
fn line_ends_and_the_mark_of_the_encoding_go() {
    let text = "\u{feff}use sys\r\nplan a() {\r\n// c\r\nstep x = sys.echo(value: \"\"\"\r\n  one\r\n    two\r\n  \"\"\")\r\nreply '''a\r\nb'''\r\n}";
    let formed = format(&SourceFile::new("a.plan", text)).unwrap();
    assert_eq!(
        formed,
        "use sys\n\nplan a() {\n    // c\n    step x = sys.echo(\n        value: \"\"\"\n            one\n              two\n            \"\"\",\n    )\n    reply '''a\nb'''\n}\n"
    );
    assert_eq!(format(&SourceFile::new("a.plan", "")).unwrap(), "");
    assert_eq!(
        format(&SourceFile::new("a.plan", "\n\n// alone")).unwrap(),
        "// alone\n"
    );
}

#[test]
fn a_text_that_cannot_be_read_is_refused_with_its_findings() {
    for text in [
        "plan a( {",
        "plan a() { reply 1x }",
        "plan a() { step x = each v in [1] max 1 max 2 { yield v } }",
    ] {
        let found = format(&SourceFile::new("a.plan", text)).unwrap_err();
        assert!(
            found.iter().any(planrun_lang::diag::Diagnostic::is_error),
            "{text}"
        );
    }
}

/// In the canonical order, the part would follow the question, and belong to it.
#[test]
fn a_part_apart_from_its_question_stays_apart() {
    for clauses in [
        "confirm \"x\" when c expires 1h",
        "confirm \"x\"\n        when c\n        by \"desk\"",
        "expires 1h confirm \"x\" when c",
    ] {
        let text = format!("plan p(c: bool) {{\n    step a = lab.make() {clauses}\n}}\n");
        assert_eq!(judge(&text), None);
    }
}

/// Without the original text, names, literals and documentation are printed in one notation, and parse to the same
/// tree.
#[test]
fn a_tree_without_a_text_is_printed_too() {
    for (name, text) in super::corpus::texts() {
        let printed = print(&parse(&SourceFile::new("a.plan", text.as_str())).file).unwrap();
        let again = parse(&SourceFile::new("a.plan", printed.as_str()));
        let errors: Vec<_> = again
            .diagnostics
            .iter()
            .filter(|found| found.is_error())
            .collect();
        let before = parse(&SourceFile::new("a.plan", text.as_str())).diagnostics;
        if before.iter().all(|found| !found.is_error()) {
            assert!(errors.is_empty(), "{name}: {errors:?}\n{printed}");
            assert_eq!(
                super::meaning::tree(&text),
                super::meaning::tree(&printed),
                "{name}\n{printed}"
            );
        }
        assert_eq!(print(&again.file).unwrap(), printed, "{name}");
    }
}

/// On the smallest usual stack of a thread, with the deepest allowed nesting.
#[test]
fn the_deepest_nesting_needs_no_stack() {
    let deep = |open: &str, middle: &str, close: &str| {
        format!("{}{middle}{}", open.repeat(250), close.repeat(250))
    };
    let texts = [
        format!("plan a() {{ reply {} }}", deep("[", "1", "]")),
        format!("plan a() {{ reply {} }}", deep("2 * (3 - ", "1", ")")),
        format!("plan a(x: {}) {{ reply 1 }}", deep("{ a: ", "int", " }")),
        format!(
            "plan a() {{ {} reply 1 {} }}",
            "if true { ".repeat(120),
            "}".repeat(120)
        ),
        format!("plan a() {{ reply {} }}", "a + ".repeat(100_000) + "a"),
    ];
    for text in texts {
        let thread = std::thread::Builder::new().stack_size(1 << 20);
        let formed = thread
            .spawn(move || format(&SourceFile::new("a.plan", text)).unwrap())
            .unwrap()
            .join()
            .unwrap();
        assert!(formed.lines().count() > 100, "{formed}");
    }
}
