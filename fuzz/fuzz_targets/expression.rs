//! Parses any text as one expression: it never panics, and a valid expression has a canonical text that parses to
//! itself.
//!
//! `cargo +nightly fuzz run expression`
#![no_main]

use libfuzzer_sys::fuzz_target;
use planrun_lang::source::SourceFile;
use planrun_lang::syntax::{canonical, parse_expression};

fuzz_target!(|text: &str| {
    let (expr, diagnostics) = parse_expression(&SourceFile::new("fuzz", text));
    if !diagnostics.is_empty() {
        return;
    }
    let once = canonical(&expr);
    let (again, diagnostics) = parse_expression(&SourceFile::new("fuzz", once.as_str()));
    assert!(diagnostics.is_empty(), "{once}: {diagnostics:?}");
    assert_eq!(canonical(&again), once);
});
