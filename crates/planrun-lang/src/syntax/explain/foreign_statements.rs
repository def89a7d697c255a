//! Recognizes the syntax of other languages in the heads of statements, their parts and their arms.

use super::context::{Around, Context};
use super::expected::Expected;
use super::hint::{Hint, replace};
use crate::diag::Edit;
use crate::diag::foreign::{self, STATEMENTS};
use crate::source::Span;
use crate::syntax::lower::DamageKind;
use crate::syntax::scan::TokenKind;

/// `plan main { … }`: a head without parentheses.
pub(super) fn parameters(context: &Context<'_>) -> Option<Hint> {
    let (first, found) = (context.first_text(), context.found_text());
    let headed = matches!(first, "plan" | "tool") && matches!(found, "" | "{");
    if !headed || !context.expects_mark("(") {
        return None;
    }
    let name = context.before(1)?;
    let what = if first == "plan" {
        "inputs"
    } else {
        "parameters"
    };
    let hint = Hint::new(
        name.span(),
        format!("the {what} of a {first} are missing: they are in parentheses after its name"),
        format!("write `()` after `{}` if it has none", context.slice(name)),
    );
    Some(hint.certainly(vec![Edit::new(name.span().after(), "()")]))
}

/// `step x = sleep 5s`: a word that begins a statement elsewhere, and a value after it.
pub(super) fn step_words(context: &Context<'_>) -> Option<Hint> {
    if let Some(hint) = called_word(context) {
        return Some(hint);
    }
    let word = context
        .before(1)
        .filter(|word| Context::is_word(Some(*word)))?;
    let text = context.slice(word);
    if context.first_text() != "step" || context.found().is_none() {
        return None;
    }
    if context.before_text(2) == "for" && matches!(text, "event" | "message" | "webhook") {
        let hint = Hint::new(word.span(), "a run waits for a signal", "write `signal`");
        return Some(hint.perhaps(vec![replace(word.span(), "signal")]));
    }
    if context.before_text(2) != "=" {
        return None;
    }
    // `confirm` begins a clause here, so no phrase has it as the word of a statement.
    let statement = if text == "confirm" { "approve" } else { text };
    let phrase = foreign::word(STATEMENTS, statement)?;
    let message = format!("`{text}` does not begin the call of a step");
    Some(Hint::new(word.span(), message, phrase.help(None)))
}

/// `switch(x) { … }` in place of a value or a call: a statement of other languages whose head was parsed as a call.
fn called_word(context: &Context<'_>) -> Option<Hint> {
    let tokens = context.flat();
    let texts: Vec<&str> = tokens.iter().map(|token| context.slice(*token)).collect();
    let assigned = matches!(texts.as_slice(), ["step" | "let", _, "=", ..]);
    if !assigned || context.found_text() != "{" || !context.expects(&Expected::End) {
        return None;
    }
    let word = *tokens.get(3)?;
    let text = context.slice(word);
    let phrase = foreign::word(STATEMENTS, text)?;
    let message = format!("`{text}` begins neither a value nor a call");
    Some(Hint::new(word.span(), message, phrase.help(None)))
}

/// Arms of `race`, `match` and `recover`.
pub(super) fn arms(context: &Context<'_>) -> Option<Hint> {
    let (kind, found, span) = (
        context.damage.kind,
        context.found_text(),
        context.found_span(),
    );
    if matches!(found, ":" | "->" | "=") && context.expects_mark("=>") {
        let hint = Hint::new(span, "the result of an arm follows `=>`", "write `=>`");
        return Some(hint.certainly(vec![replace(span, "=>")]));
    }
    if context.expects(&Expected::Pattern) {
        return pattern(found, span);
    }
    let unnamed = context.expects_mark(":") && matches!(found, "." | "(");
    if kind == DamageKind::RaceArm && unnamed {
        let help = "write `one: ns.tool(…)`: the result is that of the arm that ends first";
        return Some(Hint::new(
            context.first_span(),
            "an arm of a race has a name",
            help,
        ));
    }
    let ended = context.expects(&Expected::End) && context.found().is_some();
    let declares = matches!(context.after_text(1), ":" | "?");
    if kind == DamageKind::Parameter && ended && declares {
        let help = format!("put `,` before `{found}`");
        return Some(Hint::new(span, "parameters are separated by commas", help));
    }
    if matches!(kind, DamageKind::RaceArm | DamageKind::StepArm) && ended {
        let hint = Hint::new(
            span,
            "arms are separated by commas",
            format!("put `,` before `{found}`"),
        );
        return Some(hint);
    }
    if kind != DamageKind::Clause || context.first_text() != "recover" {
        return None;
    }
    if matches!(found, "*" | "_") {
        let hint = Hint::new(
            span,
            "an arm for every error names none",
            "write `recover => …`",
        );
        return Some(hint.certainly(vec![replace(span, "")]));
    }
    if found == "{" && context.expects_mark("=>") {
        let help = "write the value after `=>`: `recover transient => null`";
        return Some(Hint::new(span, "`recover` has no `=>`", help));
    }
    let replaced = context.found().is_none() && context.expects_mark("=>");
    replaced.then(|| {
        let help = "write `recover => …` for every error, or `recover transient => …` for some";
        Hint::new(context.first_span(), "`recover` has no `=>`", help)
    })
}

/// A word in place of a pattern.
fn pattern(found: &str, span: Span) -> Option<Hint> {
    match found {
        "default" | "else" | "otherwise" => {
            let hint = Hint::new(span, "the pattern for all other values is `_`", "write `_`");
            Some(hint.certainly(vec![replace(span, "_")]))
        }
        "case" | "when" => {
            let message = format!("an arm begins with its pattern, without `{found}`");
            let hint = Hint::new(span, message, "remove the word");
            Some(hint.certainly(vec![replace(span, "")]))
        }
        _ => None,
    }
}

/// Heads of statements in the syntax of other languages.
pub(super) fn heads(context: &Context<'_>) -> Option<Hint> {
    let (first, found, span) = (
        context.first_text(),
        context.found_text(),
        context.found_span(),
    );
    let text = context
        .found()
        .is_some_and(|token| token.kind == TokenKind::Text);
    let before = context.before_text(1);
    Some(match (first, found) {
        _ if text && before == "fail" && context.expects(&Expected::Name) => {
            let help = "name the class before the message: `fail tool.refused \"…\"`, `fail denied.policy \"…\"`";
            Hint::new(span, "a failure needs a class", help)
        }
        ("type", _) if context.expects_mark("=") && context.before_text(2) == "type" => {
            let message = format!("`=` is missing after the name of the type `{before}`");
            let hint = Hint::new(span, message, format!("write `type {before} = …`"));
            hint.certainly(vec![replace(span.before(), "= ")])
        }
        ("step", _) if limits_each(context) => {
            let hint = Hint::new(
                span,
                "the limit of an `each` follows `max`",
                format!("write `max {found}`"),
            );
            hint.certainly(vec![replace(span.before(), "max ")])
        }
        ("ensure", _) => return ensure(context),
        ("listener", _) => return listener(context),
        ("if", _) if context.found().is_none() && !context.opens_block() => Hint::new(
            context.first_span(),
            "this `if` has no block",
            "write `if condition { … }`, or `when condition` as a clause of a step",
        ),
        ("if", ":" | "then") => Hint::new(
            span,
            "the statements of an `if` must be in braces",
            "write `if condition { … }`",
        ),
        ("if", "reply" | "yield" | "fail" | "next") => Hint::new(
            span,
            "the statements of an `if` must be in braces",
            format!("write `if condition {{ {found} … }}`, or `{found} … when condition`"),
        ),
        ("use" | "step" | "let", _) => return definitions(context),
        _ => return None,
    })
}

/// `each x in xs 20 {`
fn limits_each(context: &Context<'_>) -> bool {
    let tokens = context.flat();
    let texts: Vec<&str> = tokens.iter().map(|token| context.slice(*token)).collect();
    let number = context
        .found()
        .is_some_and(|token| token.kind == TokenKind::Number);
    number && matches!(texts.as_slice(), ["step", _, "=", "each", ..])
}

/// The heads of `use`, `step` and `let`.
fn definitions(context: &Context<'_>) -> Option<Hint> {
    let (first, found, span) = (
        context.first_text(),
        context.found_text(),
        context.found_span(),
    );
    let before = context.before_text(1);
    Some(match (first, found) {
        ("use", "") if before == "," => {
            let comma = context.before(1)?.span();
            Hint::new(comma, "no namespace follows this `,`", "remove the `,`")
                .certainly(vec![replace(comma, "")])
        }
        ("use", ".") => Hint::new(
            span,
            "a `use` names a namespace, not one of its tools",
            format!(
                "write `use {before}`, and call `{before}.{}`",
                context.after_text(1)
            ),
        ),
        ("step", ":") if context.before_text(2) == "step" && context.after_text(1) == "=" => {
            let whole = span.to(context.after(1)?.span());
            Hint::new(whole, "a step is defined with `=`", "write `=`")
                .certainly(vec![replace(whole, "=")])
        }
        ("step", ":") if context.before_text(2) == "step" && context.after_text(2) == "." => {
            Hint::new(span, "a step is defined with `=`", "write `=`")
                .certainly(vec![replace(span, " =")])
        }
        ("step", ":") if context.before(3).is_none() && context.before_text(2) == "step" => {
            let help = "declare a type with `let y: T = x` below it; the type of a step comes from the contract of its tool";
            Hint::new(span, "a step cannot declare a type", help)
        }
        ("step", _) if before == "->" && context.expects_mark("{") => Hint::new(
            span,
            "an `input` asks for fields with names",
            format!("write `{{ answer: {found} }}`"),
        )
        .perhaps(vec![replace(span, &format!("{{ answer: {found} }}"))]),
        ("let", "as") => Hint::new(
            span,
            "values cannot be cast",
            "declare the type after the name, `let y: T = x`: the check tests whether the value has it",
        ),
        ("let", "{" | "[") if before == "let" => Hint::new(
            span,
            "destructuring is not supported",
            "name each one: `let name = value.name`",
        ),
        ("let", _) if context.has_flat(",") => Hint::new(
            span,
            "a `let` defines only one value",
            "write one `let` for each value",
        ),
        _ => return None,
    })
}

/// An `ensure` without its message.
fn ensure(context: &Context<'_>) -> Option<Hint> {
    let span = context.found_span();
    if !context.expects(&Expected::Word("else".to_owned())) {
        return None;
    }
    Some(match context.found_text() {
        "," => Hint::new(
            span,
            "the message of `ensure` is written after `else`",
            "write `else`",
        )
        .certainly(vec![replace(span, " else")]),
        "" => Hint::new(
            span,
            "an `ensure` says what is wrong if its condition does not hold",
            "write `else \"…\"` after the condition",
        ),
        _ => return None,
    })
}

/// The head of a listener.
fn listener(context: &Context<'_>) -> Option<Hint> {
    let span = context.found_span();
    let unheard = context.expects(&Expected::Word("on".to_owned()));
    Some(match context.found_text() {
        _ if context.before_text(1) == "on" && unheard => Hint::new(
            context.before(1)?.span(),
            "a listener has a name",
            "write it before `on`: `listener l on x is done { … }`",
        ),
        "when" | "if" | "for" if unheard => {
            Hint::new(span, "the event of a listener follows `on`", "write `on`")
                .certainly(vec![replace(span, "on")])
        }
        ":" if context.before_text(2) == "as" => Hint::new(
            span,
            "the type of a payload precedes its name",
            "write `on signal \"name\" -> string as payload`",
        ),
        _ => return None,
    })
}

/// Parts of steps in the syntax of other languages.
pub(super) fn parts(context: &Context<'_>) -> Option<Hint> {
    let (first, found, span) = (
        context.first_text(),
        context.found_text(),
        context.found_span(),
    );
    let before = context.before_text(1);
    Some(match (first, found) {
        (_, "=>") if before == "undo" => Hint::new(
            span,
            "`undo` is followed by its call, without `=>`",
            "remove the `=>`",
        )
        .certainly(vec![replace(span, "")]),
        (_, "(") if before == "recover" => Hint::new(
            span,
            "`recover` is written without parentheses, and the error is named with `as`",
            "write `recover transient, auth as e => …`, or `recover as e => …` for all of them",
        ),
        (_, "|") if context.caught() => {
            Hint::new(span, "error classes are separated by commas", "write `,`")
                .certainly(vec![replace(span, ",")])
        }
        (_, "in") if context.around().0 == Around::Braces && context.expects_mark("}") => {
            Hint::new(
                span,
                "only the fields of an `input` have options after `in`",
                "write the values as a type: `a: \"x\" | \"y\"`",
            )
        }
        _ if before == "by" && context.before_text(2) == "confirm" => Hint::new(
            context.before(2)?.span(),
            "`confirm` needs a question",
            "write it before `by`: `confirm \"…\" by …`",
        ),
        (_, "}") if context.opener() == "undo" => Hint::new(
            span,
            "several steps must be in a `do`",
            "write `undo do { … }`, with a `step` for each call",
        ),
        ("task", "[") if before == ":" => Hint::new(
            span,
            "the statuses of a task stand before its braces",
            "write `task x \"…\" statuses [open, done]`",
        ),
        (_, "[") if before == "after" => {
            let hint = Hint::new(
                span,
                "the steps of `after` are written without brackets",
                "write `after a, b`",
            );
            match context.closing(0) {
                Some(close) => hint.certainly(vec![replace(span, ""), replace(close.span(), "")]),
                None => hint,
            }
        }
        _ => return step_parts(context),
    })
}

/// Parts of the right side of a step.
fn step_parts(context: &Context<'_>) -> Option<Hint> {
    let (found, span) = (context.found_text(), context.found_span());
    if context.first_text() != "step" {
        return None;
    }
    Some(match found {
        "max" | "parallel" | "{" if context.second_from_value("each") => Hint::new(
            span,
            "the names after `each` are written without parentheses",
            "write `each x, i in xs max 100 { … }`",
        ),
        "," if context.expects_mark("{") && context.has_flat("each") => Hint::new(
            span,
            "the limits of an `each` are not separated by commas",
            "remove the `,`",
        )
        .certainly(vec![replace(span, "")]),
        "->" if context.second_from_value("input") => {
            let hint = Hint::new(
                span,
                "the question of `input` is written without parentheses",
                "write `input \"…\" -> { … }`",
            );
            hint.certainly(context.rewriter().without_parentheses("input"))
        }
        _ if context.before_text(2) == "repeat" && context.expects_mark("=") => Hint::new(
            span,
            "a `repeat` has a state that begins with a value",
            "write `repeat k = 1 max 100 { … yield k next k < n ? k + 1 : null }`",
        ),
        "{" if context.before_text(1) == "parallel" => Hint::new(
            span,
            "`parallel` is not a step",
            "write `parallel { step a = … step b = … }`; its names are visible below",
        ),
        "default" if context.around().0 == Around::Braces => Hint::new(
            span,
            "the prefilled value of a field is written after `=`",
            "write `=`",
        )
        .certainly(vec![replace(span, "=")]),
        _ => return None,
    })
}
