//! Phrases of other languages in expressions: what is written here instead is told, checked and offered as a fix.

use super::{Checker, Typed};
use crate::diag::foreign::{self, Certainty, Parts, Phrase, Shape};
use crate::diag::{Diagnostic, Edit};
use crate::source::{SourceFile, Span};
use crate::syntax::ast;
use crate::types::Type;

/// A remedy is shown with the author's own values up to so many bytes; beyond, as the table has it.
const SHOWN: usize = 60;

/// What a function, method or field hangs from.
pub(super) enum Root<'a> {
    Nothing,
    /// An object of another language, such as `Math`.
    Named(&'a str),
    /// A value of this type.
    Value {
        ty: &'a Type,
        simple: bool,
    },
}

/// What is said about a phrase, and the type of what stands for it here.
pub(super) struct Said {
    help: String,
    fix: Option<(bool, String, Span)>,
    pub ty: Type,
}

impl Said {
    /// The finding with the remedy of the phrase.
    pub(super) fn of(self, diagnostic: Diagnostic) -> Diagnostic {
        let mut diagnostic = diagnostic.help(self.help);
        diagnostic.fix = None;
        let Some((safe, text, span)) = self.fix else {
            return diagnostic;
        };
        let title = if text.len() <= SHOWN {
            format!("write `{text}`")
        } else {
            "write it as it is said here".to_owned()
        };
        let edits = vec![Edit::new(span, text)];
        if safe {
            diagnostic.fix_all(title, edits)
        } else {
            diagnostic.unsafe_fix(title, edits)
        }
    }
}

/// What there is to say about a function, method, field or name that other languages have; `whole` is all that it takes.
pub(super) fn find_foreign(
    checker: &mut Checker<'_>,
    shape: Shape,
    root: &Root<'_>,
    name: &str,
    arguments: &[ast::Argument],
    whole: Span,
) -> Option<Said> {
    if checker.trying {
        return None;
    }
    let (phrase, parts) = find_phrase(checker, shape, root, name, arguments)?;
    let told = Said {
        help: phrase.help(None),
        fix: None,
        ty: Type::Invalid,
    };
    let fits = phrase.certainty != Certainty::Told && parts.arguments.len() == arguments.len();
    let Some(right) = fits
        .then(|| fill_phrase(checker, phrase, &parts, root, arguments, whole))
        .flatten()
    else {
        return Some(told);
    };
    let Some((ty, simple)) = try_text(checker, &right, whole) else {
        return Some(told);
    };
    let help = if right.len() <= SHOWN && !right.contains('\n') {
        phrase.help(Some(&right))
    } else {
        told.help
    };
    let alone = simple
        || checker
            .origin
            .is_some_and(|(source, _)| stands_alone(source.text(), whole));
    let text = if alone { right } else { format!("({right})") };
    Some(Said {
        help,
        fix: Some((phrase.certainty == Certainty::Certain, text, whole)),
        ty,
    })
}

/// The phrase that fits: first one with as many arguments, then one of which only the words are told.
fn find_phrase(
    checker: &mut Checker<'_>,
    shape: Shape,
    root: &Root<'_>,
    name: &str,
    arguments: &[ast::Argument],
) -> Option<(&'static Phrase, Parts)> {
    let mut first = None;
    let mut found = Vec::new();
    match root {
        Root::Nothing => found.extend(foreign::phrases(shape, "", name)),
        Root::Named(root) => found.extend(foreign::phrases(shape, root, name)),
        Root::Value { ty, .. } => {
            let roots = foreign::RECEIVERS
                .into_iter()
                .filter(|letter| is_kind(letter, ty));
            found.extend(roots.flat_map(|letter| foreign::phrases(shape, letter, name)));
        }
    }
    // The kind of the first argument tells what hangs from nothing.
    found.retain(|(_, parts)| {
        let wanted = parts
            .arguments
            .first()
            .filter(|wanted| parts.root.is_empty() && foreign::RECEIVERS.contains(*wanted));
        let Some(wanted) = wanted else { return true };
        let ty = first.get_or_insert_with(|| {
            arguments
                .first()
                .map(|one| check_silently(checker, &one.value))
        });
        ty.as_ref().is_some_and(|ty| is_kind(wanted, ty))
    });
    let exact = found
        .iter()
        .position(|(_, parts)| parts.arguments.len() == arguments.len());
    let loose = |(phrase, parts): &(&Phrase, Parts)| {
        phrase.certainty == Certainty::Told || parts.arguments.contains(&"e")
    };
    let index = exact.or_else(|| found.iter().position(loose))?;
    (index < found.len()).then(|| found.swap_remove(index))
}

/// The counterpart with the author's own text; nothing where that cannot be taken over.
fn fill_phrase(
    checker: &Checker<'_>,
    phrase: &Phrase,
    parts: &Parts,
    root: &Root<'_>,
    arguments: &[ast::Argument],
    whole: Span,
) -> Option<String> {
    let (source, _) = checker.origin?;
    if arguments.iter().any(|argument| argument.name.is_some()) {
        return None;
    }
    let mut values = Vec::new();
    if let Root::Value { simple, .. } = root {
        let behind = arguments
            .first()
            .map_or(whole.end, |first| first.span.start);
        let head = source.text().get(whole.start as usize..behind as usize)?;
        let receiver = head
            .rfind('.')
            .map(|point| head.get(..point).unwrap_or("").trim_end())?;
        // Its own parentheses do not belong to the span of an expression, so what has some is left to the author.
        let safe_link = receiver.ends_with('?');
        values.push((
            parts.root,
            (*simple && !safe_link).then(|| receiver.to_owned())?,
        ));
    }
    let macro_body = parts.arguments.contains(&"e");
    for (name, argument) in parts.arguments.iter().zip(arguments) {
        let text = source.slice(argument.value.span);
        let simple = is_simple(&argument.value) || (macro_body && *name == "e");
        values.push((
            name,
            if simple {
                text.to_owned()
            } else {
                format!("({text})")
            },
        ));
    }
    Some(foreign::fill(phrase.right, &values))
}

/// The type of an expression that is offered, and whether it can stand beside operators as it is; nothing where it has
/// an error of its own.
fn try_text(checker: &mut Checker<'_>, text: &str, whole: Span) -> Option<(Type, bool)> {
    let (expression, found) = crate::syntax::parse_expression(&SourceFile::new("", text));
    if found.iter().any(Diagnostic::is_error) {
        return None;
    }
    let (before, reads) = (checker.diagnostics.len(), checker.reads.len());
    checker.trying = true;
    let typed = checker.expression(&expression);
    checker.trying = false;
    let sound = !checker
        .diagnostics
        .get(before..)
        .unwrap_or_default()
        .iter()
        .any(Diagnostic::is_error);
    checker.diagnostics.truncate(before);
    checker
        .reads
        .iter_mut()
        .skip(reads)
        .for_each(|read| read.span = whole);
    sound.then(|| (typed.ty, is_simple(&expression)))
}

/// The type of an expression that is reported elsewhere, or not at all.
fn check_silently(checker: &mut Checker<'_>, expression: &ast::Expr) -> Type {
    let before = checker.diagnostics.len();
    let around = std::mem::replace(&mut checker.trying, true);
    let Typed { ty, .. } = checker.expression(expression);
    checker.trying = around;
    checker.diagnostics.truncate(before);
    ty
}

/// Notes what the arguments of a phrase read, and says nothing of them: they belong to what is written anew.
pub(super) fn pass_over_arguments(checker: &mut Checker<'_>, arguments: &[ast::Argument]) {
    for argument in arguments {
        check_silently(checker, &argument.value);
    }
}

/// Whether values of a type are of the kind that a letter of a phrase stands for.
fn is_kind(letter: &str, ty: &Type) -> bool {
    let present = ty.without_null();
    let fits = |member: &Type| match super::literal::widened(member) {
        Type::Any => true,
        Type::Invalid | Type::Never | Type::Null => false,
        Type::String => matches!(letter, "s" | "c" | "x"),
        Type::List(_) => matches!(letter, "xs" | "c" | "x"),
        Type::Map(_) => matches!(letter, "m" | "c" | "x"),
        Type::Object(_) | Type::Result(_) | Type::Error => matches!(letter, "m" | "x"),
        Type::Int | Type::Uint | Type::Double => matches!(letter, "n" | "x"),
        Type::Bool
        | Type::Bytes
        | Type::Timestamp
        | Type::Duration
        | Type::Type
        | Type::Literal(_)
        | Type::Union(_) => letter == "x",
    };
    present.members().iter().all(fits)
}

/// Whether an expression needs no parentheses beside an operator.
fn is_simple(expression: &ast::Expr) -> bool {
    matches!(
        expression.kind,
        ast::ExprKind::Literal(_)
            | ast::ExprKind::Template(_)
            | ast::ExprKind::Name(_)
            | ast::ExprKind::Call { .. }
            | ast::ExprKind::Path { .. }
            | ast::ExprKind::List(_)
            | ast::ExprKind::Object(_)
    )
}

/// Whether nothing beside a text binds to a part of what is put in its place.
fn stands_alone(text: &str, place: Span) -> bool {
    let before = text.get(..place.start as usize).unwrap_or("").trim_end();
    let behind = text.get(place.end as usize..).unwrap_or("");
    let next = behind.trim_start_matches([' ', '\t']);
    let opened = before.ends_with(['(', ',', '[', '{', ':']);
    let assigned = before
        .strip_suffix('=')
        .is_some_and(|rest| rest.ends_with(' '));
    let worded = before.ends_with(|last: char| last.is_alphabetic()) && !before.ends_with(" in");
    let closed = next.is_empty() || next.starts_with([')', ',', ']', '}', '\n', '\r']);
    (opened || assigned || worded) && closed
}
