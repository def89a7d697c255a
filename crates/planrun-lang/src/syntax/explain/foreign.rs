//! Habits of other languages where a text cannot be read: marks, words and forms that are written in another way here.

use super::context::{Around, Context};
use super::foreign_values::{dollar, double_braces, filled_text, lambda, slice, spread};
use super::hint::{Hint, note_of, replace};
use super::wants::Want;
use crate::diag::Diagnostic;
use crate::diag::foreign::{self, CLAUSES, Certainty, MARKS};
use crate::source::Span;
use crate::syntax::scan::{Token, TokenKind, is_clause_word};

/// Looks for a habit at the place where reading stopped.
pub(super) fn habit(context: &Context<'_>) -> Option<Diagnostic> {
    const LOOKS: [fn(&Context<'_>) -> Option<Hint>; 18] = [
        semicolon,
        colon,
        clause,
        lambda,
        filled_text,
        spread,
        slice,
        dollar,
        words_around,
        choice,
        trailing_if,
        written_type,
        assigned,
        time,
        heads,
        parts,
        double_braces,
        operators,
    ];
    LOOKS
        .iter()
        .find_map(|look| look(context))
        .map(|hint| hint.finding(context))
}

/// `;` ends nothing, and between arguments it is a comma.
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
        Hint::new(span, "`;` separates nothing here", "write `,`")
            .certainly(vec![replace(span, ",")]),
    )
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

/// `catch`, `if` and their like behind a step.
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
    // `x if c else y` and `if c { … }` are no clauses.
    if text == "if" && tokens.iter().any(|token| context.slice(*token) == "else")
        || context.before_text(1) == "each"
    {
        return None;
    }
    let phrase = foreign::word(CLAUSES, text)?;
    let hint = Hint::new(
        word.span(),
        format!("`{text}` is no clause of a step"),
        phrase.help(None),
    );
    let own = phrase.right.split(' ').next().unwrap_or("");
    Some(match phrase.certainty {
        Certainty::Certain => hint.certainly(vec![replace(word.span(), own)]),
        Certainty::Near => hint.perhaps(vec![replace(word.span(), own)]),
        Certainty::Told => hint,
    })
}

/// `await x`, `new X`, `typeof x`: a word before a value.
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
                format!("`{word}` is no word of a step"),
                note_of(word),
            );
            Some(hint.certainly(vec![replace(whole, "")]))
        }
        "new" | "typeof" => Some(Hint::new(
            span,
            format!("`{word}` is no word of an expression"),
            note_of(word),
        )),
        "mut" | "const" | "var" if context.before_text(2) == "let" => {
            let whole = Span::from(span.start..context.found_span().start);
            Some(
                Hint::new(span, "a value never changes", format!("leave out `{word}`"))
                    .certainly(vec![replace(whole, "")]),
            )
        }
        _ => match context.found_text() {
            found @ "instanceof" => Some(Hint::new(
                context.found_span(),
                "`instanceof` is no operator here",
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
            "lists are not made with `for` here",
            note_of("for"),
        ));
    }
    let value = context.wants(&Want::Value) && found == "if";
    let behind = matches!(found, "else" | "then")
        && matches!(
            context.first_text(),
            "reply" | "let" | "yield" | "next" | "ensure"
        );
    if (value || behind) && !context.wants(&Want::Word("else".to_owned())) {
        return Some(Hint::new(
            span,
            "`if` chooses between statements, not between values",
            note_of("if"),
        ));
    }
    None
}

/// `reply x if c else y` and `step a = … if c`, of which the first part was read as a whole statement.
fn trailing_if(context: &Context<'_>) -> Option<Hint> {
    if context.first_text() != "if" || !context.goes_on_a_line() || context.opens_block() {
        return None;
    }
    let span = context.first_span();
    if context.has_flat("else") || !context.stands_behind_step() {
        return Some(Hint::new(
            span,
            "`if` chooses between statements, not between values",
            note_of("if"),
        ));
    }
    let hint = Hint::new(
        span,
        "`if` is no clause of a step",
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
    let help = "a list of texts is `string[]`, a map `map<string, int>`";
    if found == "<"
        && matches!(
            word,
            "list" | "List" | "Array" | "array" | "Vec" | "Set" | "set" | "Sequence" | "Iterable"
        )
    {
        let span = context.before(1)?.span();
        let hint = Hint::new(span, format!("`{word}<…>` is no type"), help);
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
    if found == "[" && context.wants(&Want::Type) {
        return Some(Hint::new(
            context.found_span(),
            "a type does not begin with `[`",
            help,
        ));
    }
    None
}

/// `=` between a name and its argument, and where values are compared.
fn assigned(context: &Context<'_>) -> Option<Hint> {
    let span = context.found_span();
    if context.found_text() != "=" {
        return None;
    }
    if context.around().0 == Around::Call
        && Context::is_word(context.before(1))
        && matches!(context.before_text(2), "(" | ",")
    {
        let edits = context.rewriter().named_arguments();
        return Some(
            Hint::new(span, "arguments are named with `:`", "write `name: value`").certainly(edits),
        );
    }
    if context.first_text() == "set" {
        let help = "`set` moves a task: `set task status { field: value }`; a value never changes, so name another one: `let y = …`";
        return Some(Hint::new(span, "nothing is assigned with `set`", help));
    }
    let compared = Context::is_word(context.before(1))
        && !matches!(context.first_text(), "step" | "task" | "listener");
    if compared && !context.wants_mark("=") && !context.wants_mark(":") {
        let hint = Hint::new(span, "`=` is no operator here", "write `==`");
        return Some(hint.perhaps(vec![replace(span, "==")]));
    }
    if let Some(before) = context.before(1).filter(|before| before.end == span.start) {
        let mark = context.slice(before);
        if matches!(mark, "+" | "-" | "*" | "/") {
            return Some(Hint::new(
                before.span().to(span),
                format!("`{mark}=` is no operator here"),
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
        Hint::new(whole, "a time is one word", format!("write `{text}`"))
            .certainly(vec![replace(whole, &text)]),
    )
}

/// Heads of statements as they are written elsewhere.
fn heads(context: &Context<'_>) -> Option<Hint> {
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
        ("fail", _) if text && before == "fail" => {
            let help = "name the class before the message: `fail tool.refused \"…\"`, `fail denied.policy \"…\"`";
            Hint::new(span, "a failure has a class", help)
        }
        ("ensure", ",") if context.wants(&Want::Word("else".to_owned())) => Hint::new(
            span,
            "what is said where it does not hold stands behind `else`",
            "write `else`",
        )
        .certainly(vec![replace(span, " else")]),
        ("if", _) if context.found().is_none() && !context.opens_block() => Hint::new(
            context.first_span(),
            "this `if` has no block",
            "write `if condition { … }`; the condition of a step is its clause `when condition`",
        ),
        ("if", ":") => Hint::new(
            span,
            "what stands under a condition stands in braces",
            "write `if condition { … }`",
        ),
        ("step", ":") if context.before(3).is_none() && context.before_text(2) == "step" => {
            let help = "the tool's contract says what a step gives; `let y: T = x` below it gives a value a type";
            Hint::new(span, "a step has no type of its own", help)
        }
        ("let", "{" | "[") if before == "let" => Hint::new(
            span,
            "values are not taken apart",
            "name each one: `let name = value.name`",
        ),
        ("let", _) if context.has_flat(",") => Hint::new(
            span,
            "a `let` names one value",
            "write one `let` for each value",
        ),
        _ => return None,
    })
}

/// Parts of steps as they are written elsewhere.
fn parts(context: &Context<'_>) -> Option<Hint> {
    let (first, found, span) = (
        context.first_text(),
        context.found_text(),
        context.found_span(),
    );
    let before = context.before_text(1);
    Some(match (first, found) {
        ("step", "->") if context.second_from_value("input") => {
            let hint = Hint::new(
                span,
                "the question of `input` stands without parentheses",
                "write `input \"…\" -> { … }`",
            );
            hint.certainly(context.rewriter().without_parentheses("input"))
        }
        (_, "(") if before == "recover" => Hint::new(
            span,
            "what is caught stands without parentheses, and the error is named with `as`",
            "write `recover transient, auth as e => …`, or `recover as e => …` for all of them",
        ),
        (_, "|") if context.caught() => Hint::new(
            span,
            "classes stand behind each other with commas",
            "write `,`",
        )
        .certainly(vec![replace(span, ",")]),
        (_, "}") if context.opener() == "undo" => Hint::new(
            span,
            "several steps stand in a `do`",
            "write `undo do { … }`, with a `step` for each call",
        ),
        ("step", "{") if before == "parallel" => Hint::new(
            span,
            "`parallel` is no step of its own",
            "write `parallel { step a = … step b = … }`; its names are visible below",
        ),
        ("step", "?") if context.around().0 == Around::Braces => Hint::new(
            span,
            "every field of a form has its place in the answer",
            "a field that may be left out has a type that admits null: `note: string?`",
        ),
        ("step", "default") if context.around().0 == Around::Braces => {
            Hint::new(span, "what stands in a field follows `=`", "write `=`")
                .certainly(vec![replace(span, "=")])
        }
        (_, "[") if before == "after" => {
            let hint = Hint::new(
                span,
                "the steps behind `after` stand without brackets",
                "write `after a, b`",
            );
            match context.closing(0) {
                Some(close) => hint.certainly(vec![replace(span, ""), replace(close.span(), "")]),
                None => hint,
            }
        }
        _ => return None,
    })
}

/// `and`, `===` and their like: all of them in the text at once, since each would stop the reader.
fn operators(context: &Context<'_>) -> Option<Hint> {
    let found = context.found_text();
    let joined = context.joined();
    let here = [joined.0.as_str(), found, context.before_text(1)]
        .into_iter()
        .find_map(|mark| {
            let known = MARKS.iter().find(|phrase| phrase.wrong == mark)?;
            (mark != "|" || !context.wants_mark("=>")).then_some(known)
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
            "`not in` is no operator here",
            "write `!(x in xs)`",
        ));
    }
    if matches!(mark.as_str(), "=>" | "->" | "for" | "if" | "then" | "...") {
        return None;
    }
    let hint = Hint::new(
        span,
        format!("`{mark}` is no operator here"),
        here.help(None),
    );
    let edits = context.rewriter().translated();
    Some(match here.certainty {
        Certainty::Told => hint,
        Certainty::Certain if matches!(mark.as_str(), "&" | "|") => hint.perhaps(edits),
        Certainty::Certain => hint.certainly(edits),
        Certainty::Near => hint.perhaps(edits),
    })
}
