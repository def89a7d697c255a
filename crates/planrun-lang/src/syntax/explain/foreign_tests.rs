//! Recognizes the syntax of other test frameworks in tests and in what they use.

use super::context::Context;
use super::expected::Expected;
use super::hint::{Hint, replace};
use crate::diag::Edit;
use crate::source::Span;
use crate::syntax::canonical_name;
use crate::syntax::lower::DamageKind;
use crate::syntax::scan::TokenKind;

/// A line of a test, or the head of one.
pub(super) fn test_line(context: &Context<'_>) -> Option<Hint> {
    match (context.damage.kind, context.first_text()) {
        (DamageKind::Item, "test") => title(context),
        (DamageKind::Item, "use") => used_file(context),
        (DamageKind::TestStatement, "given") => given(context),
        (DamageKind::TestStatement, "mock") => outcome(context),
        (DamageKind::TestStatement, "expect") => expectation(context),
        _ => None,
    }
}

/// `test("it works") { … }`
fn title(context: &Context<'_>) -> Option<Hint> {
    let message = "a test has a title and the plan that it tests";
    let help = "write `test \"what it shows\" for plan { … }`";
    let untitled =
        context.expects(&Expected::Text) || context.expects(&Expected::Word("for".into()));
    untitled.then(|| Hint::new(context.found_span(), message, help))
}

/// `use "file.plan"`
fn used_file(context: &Context<'_>) -> Option<Hint> {
    let file = context
        .before(1)
        .filter(|file| file.kind == TokenKind::Text)?;
    if context.found().is_some() {
        return None;
    }
    let path = context.slice(file).trim_matches(['"', '\'']);
    let stem = path
        .rsplit('/')
        .next()
        .and_then(|name| name.split('.').next())?;
    let name = canonical_name(stem);
    let hint = Hint::new(
        file.span(),
        "the plans of another file are used under a name",
        format!("write `as {name}` after the file"),
    );
    Some(hint.certainly(vec![Edit::new(file.span().after(), format!(" as {name}"))]))
}

/// `given customer = "Ada"`
fn given(context: &Context<'_>) -> Option<Hint> {
    let mark = context.found_span();
    let name = context.before(1).filter(|_| {
        context.before_text(2) == "given" && matches!(context.found_text(), "=" | ":")
    })?;
    let key = context.slice(name);
    let hint = Hint::new(
        name.span(),
        "the inputs of a test are the fields of an object",
        format!("write `given {{ {key}: … }}`"),
    );
    let end = context.damage.span.end as usize;
    Some(hint.certainly(vec![
        Edit::new(name.span().before(), "{ "),
        replace(Span::from(name.end..mark.end), ":"),
        Edit::new(Span::at(end), " }"),
    ]))
}

/// `mock ns.tool returns x`
fn outcome(context: &Context<'_>) -> Option<Hint> {
    let span = context.found_span();
    let found = context.found_text();
    if matches!(found, "=>" | "(") && context.before_text(2) == "mock" {
        let tool = context.before(1)?;
        let help = format!("write `mock namespace.{}`", context.slice(tool));
        return Some(Hint::new(
            tool.span(),
            "a tool is named with its namespace",
            help,
        ));
    }
    let says_outcome = matches!(
        found,
        "returns"
            | "return"
            | "replies"
            | "with"
            | "to"
            | "as"
            | "throws"
            | "raises"
            | "->"
            | ":"
            | "="
    );
    if !says_outcome || !context.expects_mark("=>") {
        return None;
    }
    let hint = Hint::new(span, "the outcome of a mock follows `=>`", "write `=>`");
    Some(hint.perhaps(vec![replace(span, "=>")]))
}

/// `expect ns.tool called 1`, and `expect reply equals 1`, where `reply` is read as a statement without an operator.
fn expectation(context: &Context<'_>) -> Option<Hint> {
    let word = match context.found_text() {
        "reply" => context.after(1)?,
        _ if context.expects(&Expected::End) => context.found()?,
        _ => return None,
    };
    if !Context::is_word(Some(word)) {
        return None;
    }
    Some(Hint::new(
        word.span(),
        "an expectation is a condition",
        "write `expect reply == …`, `status == \"failed\"`, `calls(ns.tool) == 1`, `ran(ns.tool)` or `before(ns.one, ns.other)`",
    ))
}
