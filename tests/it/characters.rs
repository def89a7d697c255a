//! The classes of characters that nobody can see, and the rules that follow from them.

use planrun_lang::characters::{is_hidden, is_invisible, is_joining};
use planrun_lang::diag::render::visible_line;
use planrun_lang::lint::suspicions;
use planrun_lang::source::SourceFile;
use planrun_lang::syntax::parse;
use planrun_lang::syntax::spelling::write_text;

#[test]
fn all_rules_agree_on_each_character() {
    let mut seen = 0;
    for c in ('\u{1}'..=char::MAX).filter(|c| is_hidden(*c)) {
        let shown = c.escape_unicode();
        assert!(!visible_line(&c.to_string()).contains(c), "{shown}");
        let mut written = String::new();
        write_text(&mut written, &c.to_string());
        let is_escaped = !written.contains(c);
        assert_eq!(is_escaped, is_invisible(c) || c.is_control(), "{shown}");
        let found = suspicions(&format!("Adds{c} numbers."));
        assert_eq!(!found.is_empty(), is_invisible(c), "{shown}");
        if !c.is_control() {
            let plan = format!("plan p() -> string {{ reply \"a{c}b\" }}");
            let found = parse(&SourceFile::new("p.plan", plan)).diagnostics;
            assert_eq!(!found.is_empty(), is_invisible(c), "{shown} {found:?}");
            let plan = format!("plan p() -> int {{ reply {c} 1 }}");
            let found = parse(&SourceFile::new("p.plan", plan)).diagnostics;
            let is_told = found
                .iter()
                .any(|found| !found.is_error() || found.code.name == "bidi-control");
            assert_eq!(
                is_told,
                is_invisible(c) || is_joining(c) || c.is_whitespace(),
                "{shown} {found:?}"
            );
        }
        seen += 1;
    }
    assert!(seen > 200, "{seen}");
}
