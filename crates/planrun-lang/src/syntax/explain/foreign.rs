//! Recognizes the syntax of other languages in text that cannot be parsed: marks, words and forms.

use super::context::{Around, Context};
use super::expected::Expected;
use super::foreign_statements::{arms, heads, parameters, parts, step_words};
use super::foreign_tests::test_line;
use super::foreign_values::{
    digits, dollar, double_braces, format_string, lambda, list_in_parentheses, negative_subject,
    optional_index, position, slice, spread, untyped,
};
use super::hint::{Hint, note_of, replace};
use crate::diag::Diagnostic;
use crate::diag::foreign::{self, CLAUSES, Certainty, MARKS};
use crate::source::Span;
use crate::syntax::lower::DamageKind;
use crate::syntax::scan::{Token, TokenKind, is_clause_word};

/// Returns a diagnostic if the text at the position where parsing failed is the syntax of another language.
pub(super) fn foreign_syntax(context: &Context<'_>) -> Option<Diagnostic> {
    const CHECKS: [fn(&Context<'_>) -> Option<Hint>; 32] = [
        semicolon,
        comment,
        doubled,
        test_line,
        result_type,
        colon,
        clause,
        position,
        list_in_parentheses,
        digits,
        lambda,
        format_string,
        spread,
        optional_index,
        slice,
        dollar,
        words_around,
        arms,
        choice,
        trailing_if,
        written_type,
        untyped,
        assigned,
        time,
        parameters,
        negative_subject,
        step_words,
        heads,
        parts,
        double_braces,
        shorthand,
        operators,
    ];
    CHECKS
        .iter()
        .find_map(|check| check(context))
        .map(|hint| hint.finding(context))
}

/// `;` at the end of a statement, or in place of a comma.
fn semicolon(context: &Context<'_>) -> Option<Hint> {
    if context.found_text() != ";" {
        return None;
    }
    let span = context.found_span();
    if context.around().0 == Around::Nothing {
        let hint = Hint::new(span, "statements end without `;`", "remove the `;`");
        return Some(hint.certainly(vec![replace(span, "")]));
    }
    Some(
        Hint::new(span, "`;` is not a separator here", "write `,`")
            .certainly(vec![replace(span, ",")]),
    )
}

/// `# remark`
fn comment(context: &Context<'_>) -> Option<Hint> {
    if context.found_text() != "#" {
        return None;
    }
    let span = context.found_span();
    let hint = Hint::new(span, "a comment does not begin with `#`", "write `//`");
    Some(hint.certainly(vec![replace(span, "//")]))
}

/// `step step a = …`, `plan p p() { … }`
fn doubled(context: &Context<'_>) -> Option<Hint> {
    let [one, two] = [1, 2].map(|count| context.before_text(count));
    let second = if context.found_text() == one {
        context.found()
    } else if one == two {
        context.before(1)
    } else {
        None
    };
    let second = second.filter(|word| Context::is_word(Some(*word)))?;
    if context.around().0 != Around::Nothing {
        return None;
    }
    let message = format!("`{}` is written twice", context.slice(second));
    let hint = Hint::new(second.span(), message, "remove one of the two");
    Some(hint.certainly(vec![replace(second.span(), "")]))
}

/// `plan p(): int`
fn result_type(context: &Context<'_>) -> Option<Hint> {
    let typed = matches!(context.found_text(), ":" | "=") && context.before_text(1) == ")";
    let what = match context.first_text() {
        "plan" => "reply",
        "tool" => "result",
        _ => return None,
    };
    if !typed || !context.expects_mark("->") {
        return None;
    }
    let span = context.found_span();
    let message = format!("the type of the {what} follows `->`");
    let hint = Hint::new(span, message, "write `->`");
    Some(hint.certainly(vec![replace(span, " ->")]))
}

/// `{ a, b }`: entries whose values are variables of the same names.
fn shorthand(context: &Context<'_>) -> Option<Hint> {
    let name = context.before(1).filter(|_| {
        context.around().0 == Around::Braces
            && matches!(context.found_text(), "," | "}")
            && context.expects_mark(":")
            && context.is_value()
    })?;
    let key = context.slice(name);
    let message = format!("the entry `{key}` has no value");
    if let Some((path, span)) = path_before(context) {
        let message = format!("the entry `{path}` has no key");
        let hint = Hint::new(span, message, format!("write `{key}: {path}`"));
        let edit = replace(span.before(), &format!("{key}: "));
        return Some(hint.certainly(vec![edit]));
    }
    let hint = Hint::new(name.span(), message, format!("write `{key}: {key}`"));
    Some(hint.certainly(context.rewriter().shorthand()))
}

/// Returns the names, joined by dots, that end before the position, if there are several.
fn path_before(context: &Context<'_>) -> Option<(String, Span)> {
    let last = context.before(1)?;
    let (mut path, mut first) = (context.slice(last).to_owned(), last);
    let mut count = 2;
    while context.before_text(count) == "." {
        first = context
            .before(count + 1)
            .filter(|word| Context::is_word(Some(*word)))?;
        path = format!("{}.{path}", context.slice(first));
        count += 2;
    }
    (count > 2).then(|| (path, first.span().to(last.span())))
}

/// `timeout: 3s`
fn colon(context: &Context<'_>) -> Option<Hint> {
    let word = context.before_text(1);
    if context.found_text() != ":" || !is_clause_word(word) || context.around().0 != Around::Nothing
    {
        return None;
    }
    let span = context.found_span();
    let hint = Hint::new(
        span,
        format!("`{word}` is followed by its value, without `:`"),
        "remove the `:`",
    );
    Some(hint.certainly(vec![replace(span, "")]))
}

/// `catch`, `if` and similar words after a step.
fn clause(context: &Context<'_>) -> Option<Hint> {
    if context.first_text() != "step" {
        return None;
    }
    let tokens = context.flat();
    let assigned = tokens
        .iter()
        .position(|token| context.slice(*token) == "=")?;
    let behind_call = |pair: &&[Token]| {
        let (before, word) = (pair[0], pair[1]);
        let ends = matches!(
            before.kind,
            TokenKind::Close(_) | TokenKind::Word | TokenKind::Text | TokenKind::Number
        );
        ends && word.kind == TokenKind::Word && !is_clause_word(context.slice(before))
    };
    let pairs = tokens.get(assigned..)?.windows(2).filter(behind_call);
    let known = pairs.filter(|pair| foreign::word(CLAUSES, context.slice(pair[1])).is_some());
    let word = known.map(|pair| pair[1]).next()?;
    let text = context.slice(word);
    // `x if c else y` and `if c { … }` are not clauses.
    if text == "if" && tokens.iter().any(|token| context.slice(*token) == "else")
        || context.before_text(1) == "each"
    {
        return None;
    }
    let is_each = |token: &Token| matches!(context.slice(*token), "each" | "foreach" | "for");
    if text == "where" && tokens.iter().any(is_each) {
        let help = "filter the list: `each x in xs.filter(x, x.flag)`";
        return Some(Hint::new(word.span(), "`each` has no `where`", help));
    }
    let phrase = foreign::word(CLAUSES, text)?;
    let hint = Hint::new(
        word.span(),
        format!("`{text}` is not a clause of a step"),
        phrase.help(None),
    );
    let own = phrase.right.split(' ').next().unwrap_or("");
    Some(match phrase.certainty {
        Certainty::Certain => hint.certainly(vec![replace(word.span(), own)]),
        Certainty::Near => hint.perhaps(vec![replace(word.span(), own)]),
        Certainty::Advice => hint,
    })
}

/// `await x`, `new X`, `typeof x`: a keyword before a value.
fn words_around(context: &Context<'_>) -> Option<Hint> {
    let word = context.before_text(1);
    if !Context::is_word(context.found()) || !Context::is_word(context.before(1)) {
        return None;
    }
    let span = context.before(1)?.span();
    match word {
        "await" | "async" | "spawn" | "call" | "run" | "invoke" => {
            let whole = Span::from(span.start..context.found_span().start);
            let hint = Hint::new(
                span,
                format!("`{word}` is not a keyword of steps"),
                note_of(word),
            );
            Some(hint.certainly(vec![replace(whole, "")]))
        }
        "new" | "typeof" => Some(Hint::new(
            span,
            format!("`{word}` is not a keyword of expressions"),
            note_of(word),
        )),
        "mut" | "const" | "var" if context.before_text(2) == "let" => {
            let whole = Span::from(span.start..context.found_span().start);
            Some(
                Hint::new(
                    span,
                    "values cannot be reassigned",
                    format!("remove `{word}`"),
                )
                .certainly(vec![replace(whole, "")]),
            )
        }
        _ => match context.found_text() {
            found @ "instanceof" => Some(Hint::new(
                context.found_span(),
                "`instanceof` is not an operator here",
                note_of(found),
            )),
            _ => None,
        },
    }
}

/// `x if c else y`, `if c then x else y`, `[x for x in xs]`
fn choice(context: &Context<'_>) -> Option<Hint> {
    let found = context.found_text();
    let span = context.found_span();
    let listed = matches!(
        context.around().0,
        Around::List | Around::Paren | Around::Call
    );
    if found == "for" && listed {
        return Some(Hint::new(
            span,
            "list comprehensions are not supported",
            note_of("for"),
        ));
    }
    // An expression that stands alone has no statement before the `if`.
    let value =
        found == "if" && (context.expects(&Expected::Value) || context.expects(&Expected::End));
    let behind = matches!(found, "else" | "then")
        && matches!(
            context.first_text(),
            "reply" | "let" | "yield" | "next" | "ensure"
        );
    if (value || behind) && !context.expects(&Expected::Word("else".to_owned())) {
        return Some(Hint::new(
            span,
            "`if` chooses between statements, not between values",
            note_of("if"),
        ));
    }
    None
}

/// `reply x if c else y` and `step a = … if c`, whose first part was parsed as a complete statement.
fn trailing_if(context: &Context<'_>) -> Option<Hint> {
    if context.first_text() != "if" || !context.continues_line() || context.opens_block() {
        return None;
    }
    let span = context.first_span();
    if context.has_flat("else") || !context.follows_step() {
        return Some(Hint::new(
            span,
            "`if` chooses between statements, not between values",
            note_of("if"),
        ));
    }
    let hint = Hint::new(
        span,
        "`if` is not a clause of a step",
        foreign::word(CLAUSES, "if")?.help(None),
    );
    Some(
        hint.behind("step a = b.c() ")
            .certainly(vec![replace(span, "when")]),
    )
}

/// `list<string>` and `[string]`
fn written_type(context: &Context<'_>) -> Option<Hint> {
    let (found, word) = (context.found_text(), context.before_text(1));
    let help = "write a list as `string[]`, a map as `map<string, int>`";
    if found == "<"
        && matches!(
            word,
            "list" | "List" | "Array" | "array" | "Vec" | "Set" | "set" | "Sequence" | "Iterable"
        )
    {
        let span = context.before(1)?.span();
        let hint = Hint::new(span, format!("`{word}<…>` is not a type"), help);
        let (inside, close) = (context.after(1)?, context.after(2)?);
        if context.slice(close) != ">" {
            return Some(hint);
        }
        let edits = vec![
            replace(Span::from(span.start..inside.start), ""),
            replace(close.span(), "[]"),
        ];
        return Some(hint.certainly(edits));
    }
    let typed = match context.before_text(2) {
        ":" | "->" | "|" | "<" => !context.is_value(),
        "=" => context.first_text() == "type",
        _ => false,
    };
    if found == "." && typed && Context::is_word(context.before(1)) {
        return Some(Hint::new(
            context.before(1)?.span().to(context.found_span()),
            "types of another file cannot be named",
            "declare the type in this file, or write it out: `{ field: string }`",
        ));
    }
    if found == "[" && context.first_text() != "task" && context.expects(&Expected::Type) {
        return Some(Hint::new(
            context.found_span(),
            "a type does not begin with `[`",
            help,
        ));
    }
    None
}

/// `=` in place of the `:` of an argument, or of `==`.
fn assigned(context: &Context<'_>) -> Option<Hint> {
    let span = context.found_span();
    let status = context.first_text() == "set" && context.found_text() == ".";
    if context.found_text() != "=" && !status {
        return None;
    }
    let named =
        Context::is_word(context.before(1)) && matches!(context.before_text(2), "(" | "{" | ",");
    if named && context.around().0 == Around::Call {
        let edits = context.rewriter().named_arguments();
        return Some(
            Hint::new(span, "arguments are named with `:`", "write `name: value`").certainly(edits),
        );
    }
    if named && context.first_text() != "step" && context.around().0 == Around::Braces {
        let edits = context.rewriter().named_arguments();
        let hint = Hint::new(span, "fields are named with `:`", "write `name: value`");
        return Some(hint.certainly(edits));
    }
    if context.first_text() == "set" {
        let help = "set the status of a task with `set task status { field: value }`; values cannot be reassigned, so use a new name: `let y = …`";
        return Some(Hint::new(span, "`set` does not assign a value", help));
    }
    if matches!(context.first_text(), "type" | "tool")
        || context.damage.kind == DamageKind::Parameter
    {
        let help = "mark the field as optional, `a?: string`, and add a default where it is read: `x.a ?? \"\"`";
        return Some(Hint::new(span, "a field of a type has no default", help));
    }
    let is_value = |token: Token| {
        matches!(
            token.kind,
            TokenKind::Word | TokenKind::Number | TokenKind::Text | TokenKind::Close(_)
        )
    };
    let compared = context.before(1).is_some_and(is_value)
        && !matches!(context.first_text(), "step" | "task" | "listener");
    if compared && !context.expects_mark("=") && !context.expects_mark(":") {
        let hint = Hint::new(span, "`=` is not an operator here", "write `==`");
        return Some(hint.perhaps(vec![replace(span, "==")]));
    }
    if let Some(before) = context.before(1).filter(|before| before.end == span.start) {
        let mark = context.slice(before);
        if matches!(mark, "+" | "-" | "*" | "/") {
            return Some(Hint::new(
                before.span().to(span),
                format!("`{mark}=` is not an operator here"),
                note_of("+="),
            ));
        }
    }
    None
}

/// `5 minutes`
fn time(context: &Context<'_>) -> Option<Hint> {
    const UNITS: [(&str, &str); 5] = [
        ("millisecond", "ms"),
        ("second", "s"),
        ("minute", "m"),
        ("hour", "h"),
        ("day", "d"),
    ];
    let is_number = |token: &Token| token.kind == TokenKind::Number;
    let (number, place) = match (
        context.found().filter(is_number),
        context.before(1).filter(is_number),
    ) {
        (Some(number), _) => (number, context.after(1)?),
        (None, Some(number)) => (number, context.found()?),
        (None, None) => return None,
    };
    let word = context.slice(place);
    let singular = word.strip_suffix('s').unwrap_or(word);
    let (_, unit) = UNITS
        .iter()
        .find(|(name, unit)| *name == singular || *unit == word)?;
    let text = format!("{}{unit}", context.slice(number));
    let whole = number.span().to(place.span());
    Some(
        Hint::new(
            whole,
            "a duration is written as one word",
            format!("write `{text}`"),
        )
        .certainly(vec![replace(whole, &text)]),
    )
}

/// `and`, `===` and similar operators. The edits replace all of them at once, since each alone would stop the parser.
fn operators(context: &Context<'_>) -> Option<Hint> {
    let found = context.found_text();
    let joined = context.joined();
    let here = [joined.0.as_str(), found, context.before_text(1)]
        .into_iter()
        .find_map(|mark| {
            let known = MARKS.iter().find(|phrase| phrase.wrong == mark)?;
            (mark != "|" || !context.expects_mark("=>")).then_some(known)
        })?;
    let (mark, span) = if here.wrong == joined.0 {
        (joined.0.clone(), joined.1)
    } else if here.wrong == found {
        (found.to_owned(), context.found_span())
    } else if here.wrong == "not" || here.wrong == "NOT" {
        (here.wrong.to_owned(), context.before(1)?.span())
    } else {
        return None;
    };
    if mark == "not" && context.after_text(1) == "in" && found == "not" {
        return Some(Hint::new(
            span,
            "`not in` is not an operator here",
            "write `!(x in xs)`",
        ));
    }
    if mark == "not" && context.before_text(2) == "is" {
        let is_not = context.before(2)?.span().to(span);
        let hint = Hint::new(is_not, "`is not` is not an operator here", "write `!=`");
        return Some(hint.certainly(vec![replace(is_not, "!=")]));
    }
    if matches!(mark.as_str(), "=>" | "->" | "for" | "if" | "then" | "...") {
        return None;
    }
    let hint = Hint::new(
        span,
        format!("`{mark}` is not an operator here"),
        here.help(None),
    );
    let edits = context.rewriter().translated();
    Some(match here.certainty {
        Certainty::Advice => hint,
        Certainty::Certain if matches!(mark.as_str(), "&" | "|") => hint.perhaps(edits),
        Certainty::Certain => hint.certainly(edits),
        Certainty::Near => hint.perhaps(edits),
    })
}
