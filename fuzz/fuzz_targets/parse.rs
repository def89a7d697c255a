//! Parses any bytes as a file: it never panics, and every reported span is within the text, on character boundaries.
//!
//! `cargo +nightly fuzz run parse fuzz/corpus/parse plans tests/fixtures/syntax` starts with the plans of the project.
#![no_main]

use libfuzzer_sys::fuzz_target;
use planrun_lang::source::Span;
use planrun_lang::syntax;

fuzz_target!(|bytes: &[u8]| {
    let (source, _) = syntax::decode("fuzz.plan", bytes);
    let parsed = syntax::parse(&source);
    let sound = |span: Span| source.text().get(span.range()).is_some();
    for diagnostic in &parsed.diagnostics {
        assert!(sound(diagnostic.span), "{diagnostic:?}");
        assert!(
            diagnostic.labels.iter().all(|label| sound(label.span)),
            "{diagnostic:?}"
        );
        let mut edits = diagnostic.fix.iter().flat_map(|fix| &fix.edits);
        assert!(edits.all(|edit| sound(edit.span)), "{diagnostic:?}");
        assert!(!diagnostic.message.is_empty());
    }
    assert!(parsed.file.items.iter().all(|item| sound(item.span)));
    assert!(
        parsed
            .file
            .comments
            .iter()
            .all(|comment| source.slice(comment.span).starts_with("//"))
    );
});
