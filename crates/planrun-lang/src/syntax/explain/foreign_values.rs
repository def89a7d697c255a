//! Recognizes values in the syntax of other languages: lambdas, format strings, spreads, slices.

use super::context::{Around, Context};
use super::hint::{Hint, note_of, replace};
use crate::diag::{Edit, foreign};
use crate::source::Span;
use crate::syntax::lower::DamageKind;
use crate::syntax::scan::{Bracket, TokenKind};

/// `x => e`, `(x) => e`, `x -> e` and `lambda x: e` where a macro takes `x, e`.
pub(super) fn lambda(context: &Context<'_>) -> Option<Hint> {
    let found = context.found_text();
    let folded = ["reduce", "fold", "inject", "accumulate"]
        .iter()
        .any(|function| context.calls_before(function));
    let arrow =
        matches!(found, "=>" | "->") && !context.expects_mark("=>") && !context.expects_mark("->");
    let in_parens = context.before_text(1) == ")" && arrow;
    let written = context.before_text(1) == "lambda"
        || (arrow && (in_parens || Context::is_word(context.before(1))));
    // With two variables in parentheses, parsing fails at their comma.
    let pair = found == "," && context.expects_mark(")") && context.arrow_behind();
    if !written && !pair || !context.is_value() {
        return None;
    }
    let span = context.found_span();
    let note = if folded {
        foreign_note("reduce")
    } else {
        note_of("=>")
    };
    let hint = Hint::new(span, "functions cannot be written as values", note);
    let edits = context.rewriter().lambdas();
    Some(if folded || edits.is_empty() {
        hint
    } else {
        hint.certainly(edits)
    })
}

/// `xs.map((x, i), …)` and `xs.map((x, i) => …)`
pub(super) fn position(context: &Context<'_>) -> Option<Hint> {
    let two = context.found_text() == "," && Context::is_word(context.before(1));
    let opened = [2, 3].map(|back| context.before_text(back)) == ["(", "("];
    if !two || !opened || context.before_text(4) != "map" {
        return None;
    }
    let element = context.before_text(1);
    Some(Hint::new(
        context.found_span(),
        "`map` has no variable for the position, and variables stand without parentheses",
        format!("write `xs.transformList(i, {element}, …)`, with the position first"),
    ))
}

/// `match -x { … }`, which begins a subtraction from a variable called `match`.
pub(super) fn negative_subject(context: &Context<'_>) -> Option<Hint> {
    if context.found_text() != "{" {
        return None;
    }
    let flat = context.flat();
    let before = flat.partition_point(|token| token.start < context.found_span().start);
    let tokens = flat.get(..before)?;
    let at = tokens.array_windows().rposition(|[word, minus]| {
        context.slice(*word) == "match" && context.slice(*minus) == "-"
    })?;
    let subject = tokens.get(at + 1)?.span().to(tokens.last()?.span());
    let edits = vec![
        Edit::new(Span::at(subject.start as usize), "("),
        Edit::new(subject.after(), ")"),
    ];
    let hint = Hint::new(
        subject,
        "`match -` begins a subtraction from a variable called `match`",
        "put the subject in parentheses: `match (-x) { … }`",
    );
    Some(hint.certainly(edits))
}

fn foreign_note(function: &str) -> String {
    let mut phrases = foreign::phrases(foreign::Shape::Call, "", function);
    phrases
        .next()
        .map_or_else(String::new, |(phrase, _)| phrase.help(None))
}

/// `f"… {x} …"`
pub(super) fn format_string(context: &Context<'_>) -> Option<Hint> {
    let found = context.found()?;
    let prefix = context.before(1)?;
    let word = context.slice(prefix);
    if found.kind != TokenKind::Text
        || !matches!(word, "f" | "F" | "fr" | "rf" | "s" | "$")
        || prefix.end != found.start
    {
        return None;
    }
    let help = "use `${…}` in a string in double quotes: `\"Hello ${name}\"`";
    let hint = Hint::new(
        prefix.span(),
        format!("a string cannot have the prefix `{word}`"),
        help,
    );
    let text = interpolated(context.slice(found));
    Some(match text {
        Some(text) => hint.certainly(vec![replace(prefix.span().to(found.span()), &text)]),
        None => hint,
    })
}

/// Returns the text in double quotes with `${x}` for each `{x}`; `None` if braces contain more than a path.
fn interpolated(text: &str) -> Option<String> {
    let inner = text
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    let inner = inner.or_else(|| {
        text.strip_prefix('\'')
            .and_then(|rest| rest.strip_suffix('\''))
    })?;
    if inner.starts_with('"') || inner.contains(['"', '\'', '\\', '$']) {
        return None;
    }
    let mut out = String::from("\"");
    let mut rest = inner;
    while let Some(open) = rest.find('{') {
        let close = rest.get(open..)?.find('}')? + open;
        let path = rest.get(open + 1..close)?;
        if path.is_empty()
            || !path
                .chars()
                .all(|c| c.is_alphanumeric() || "._[]".contains(c))
        {
            return None;
        }
        out.push_str(rest.get(..open)?);
        out.extend(["${", path, "}"]);
        rest = rest.get(close + 1..)?;
    }
    if rest.contains('}') {
        return None;
    }
    out.push_str(rest);
    out.push('"');
    Some(out)
}

/// `...xs`
pub(super) fn spread(context: &Context<'_>) -> Option<Hint> {
    let dots =
        context.found_text() == "." && context.after_text(1) == "." && context.after_text(2) == ".";
    dots.then(|| {
        Hint::new(
            context.found_span(),
            "spreading with `...` is not supported",
            note_of("..."),
        )
    })
}

/// `xs?[0]`, which reads as a condition without its `:`
pub(super) fn optional_index(context: &Context<'_>) -> Option<Hint> {
    if !context.expects_mark(":") {
        return None;
    }
    let mark = context.all().windows(3).find_map(|tokens| {
        let [value, mark, open] = tokens else {
            return None;
        };
        let touch = value.end == mark.start && mark.end == open.start;
        let reads = context.slice(*mark) == "?" && context.slice(*open) == "[";
        (touch && reads).then_some(mark.span())
    })?;
    let message = "an element of a value that may be absent is read with `?.[…]`";
    Some(Hint::new(mark, message, "write `?.[`").perhaps(vec![replace(mark, "?.")]))
}

/// `xs[1:2]`, `xs.0`, `o!.a` and `a ?: b`
pub(super) fn slice(context: &Context<'_>) -> Option<Hint> {
    let (found, span) = (context.found_text(), context.found_span());
    let before = context.before(1)?;
    if found == ":" && context.around().0 == Around::List {
        let help = "write `xs.slice(1, 2)` for a list, `s.substring(1, 2)` for a string";
        return Some(Hint::new(span, "slices are not written with `:`", help));
    }
    let number = context
        .found()
        .is_some_and(|token| token.kind == TokenKind::Number);
    if context.slice(before) == "." && number && before.end == span.start {
        let edit = replace(before.span().to(span), &format!("[{found}]"));
        return Some(
            Hint::new(
                span,
                "an element is read with brackets",
                format!("write `[{found}]`"),
            )
            .certainly(vec![edit]),
        );
    }
    if found == "!" && context.after_text(1) == "." {
        let hint = Hint::new(
            span,
            "a value cannot be asserted to be present",
            "read it with `?.`, or under the condition `x != null`",
        );
        return Some(hint.perhaps(vec![replace(span, "?")]));
    }
    if found == ":" && context.slice(before) == "?" && before.end == span.start {
        let whole = before.span().to(span);
        return Some(
            Hint::new(whole, "`?:` is not an operator here", "write `??`")
                .certainly(vec![replace(whole, "??")]),
        );
    }
    None
}

/// `$x` and `${x}` outside texts.
pub(super) fn dollar(context: &Context<'_>) -> Option<Hint> {
    if context.found_text() != "$" {
        return None;
    }
    let help = "write `x`, or `${x}` in a string in double quotes";
    let hint = Hint::new(context.found_span(), "`$` is only allowed in strings", help);
    let next = context.after(1)?;
    if next.kind == TokenKind::Word {
        return Some(hint.certainly(vec![replace(context.found_span(), "")]));
    }
    let Some(close) = context.closing(1) else {
        return Some(hint);
    };
    let edits = vec![
        replace(context.found_span().to(next.span()), ""),
        replace(close.span(), ""),
    ];
    Some(hint.certainly(edits))
}

/// `{{ x }}`
pub(super) fn double_braces(context: &Context<'_>) -> Option<Hint> {
    let (open, close) = context.rewriter().double_braces()?;
    let help = "write `x`, or `${x}` in a string in double quotes";
    Some(
        Hint::new(open, "values are not written between `{{` and `}}`", help)
            .certainly(vec![replace(open, ""), replace(close, "")]),
    )
}

/// `x in ("a", "b")`
pub(super) fn list_in_parentheses(context: &Context<'_>) -> Option<Hint> {
    if context.found_text() != "," || context.opener() != "in" {
        return None;
    }
    let tokens = context.all();
    let before = tokens.partition_point(|token| token.start < context.found_span().start);
    let open = tokens
        .get(..before)?
        .array_windows()
        .rposition(|[word, open]| context.slice(*word) == "in" && context.slice(*open) == "(")?
        + 1;
    let mut depth = 0_usize;
    let close = tokens.get(open..)?.iter().find(|token| {
        match token.kind.bracket() {
            Bracket::Opens => depth += 1,
            Bracket::Closes => depth = depth.saturating_sub(1),
            Bracket::Neither => {}
        }
        depth == 0
    })?;
    let edits = vec![
        replace(tokens.get(open)?.span(), "["),
        replace(close.span(), "]"),
    ];
    let span = tokens.get(open)?.span();
    let hint = Hint::new(span, "a list is written in brackets", "write `[…]`");
    Some(hint.certainly(edits))
}

/// `"${x:.2f}"`
pub(super) fn digits(context: &Context<'_>) -> Option<Hint> {
    let is_format = context.found_text() == ":" && context.around().0 == Around::Interpolation;
    let help = "format the number first: `\"${\"%.2f\".format([x])}\"`, where `x` is a double";
    is_format.then(|| {
        let message = "an interpolated value has no format";
        Hint::new(context.found_span(), message, help)
    })
}

/// The words of types that stand before a name in other languages.
const TYPE_WORDS: [&str; 8] = [
    "string",
    "int",
    "double",
    "bool",
    "timestamp",
    "duration",
    "uint",
    "bytes",
];

/// `plan p(a)`, `plan p(string a)`, `plan p(a int)` and `plan p(a = 3)`: parameters without `:` and their type.
pub(super) fn untyped(context: &Context<'_>) -> Option<Hint> {
    let name = context
        .before(1)
        .filter(|name| Context::is_word(Some(*name)) && context.before(2).is_none())?;
    if context.damage.kind != DamageKind::Parameter || !context.expects_mark(":") {
        return None;
    }
    let (written, span) = (context.slice(name), name.span());
    let end = Span::at(span.end as usize);
    let untyped = |name: &str| format!("the parameter `{name}` has no type");
    let Some(found) = context.found() else {
        let hint = Hint::new(span, untyped(written), format!("write `{written}: string`"));
        return Some(hint.perhaps(vec![replace(end, ": string")]));
    };
    let text = context.slice(found);
    if Context::is_word(Some(found)) && TYPE_WORDS.contains(&written) {
        let message = "the type of a parameter follows its name";
        let hint = Hint::new(span, message, format!("write `{text}: {written}`"));
        let edits = vec![replace(
            span.to(found.span()),
            &format!("{text}: {written}"),
        )];
        return Some(hint.certainly(edits));
    }
    if Context::is_word(Some(found)) {
        let message = format!("`:` is missing after the name of the parameter `{written}`");
        let hint = Hint::new(found.span(), message, format!("write `{written}: {text}`"));
        return Some(hint.certainly(vec![replace(end, ":")]));
    }
    let default = context.after(1).filter(|_| text == "=")?;
    let value = context.slice(default);
    let ty = match default.kind {
        TokenKind::Text => "string",
        TokenKind::Number if value.ends_with(char::is_alphabetic) => "duration",
        TokenKind::Number if value.contains('.') => "double",
        TokenKind::Number => "int",
        _ if matches!(value, "true" | "false") => "bool",
        _ => "string",
    };
    let hint = Hint::new(
        span,
        untyped(written),
        format!("write `{written}: {ty} = …`"),
    );
    Some(hint.perhaps(vec![replace(end, &format!(": {ty}"))]))
}
