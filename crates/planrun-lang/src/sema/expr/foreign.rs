//! Recognizes phrases of other languages in expressions, and offers what is written here instead, if it passes the
//! check.

use super::{Checker, Typed};
use crate::diag::foreign::{self, Certainty, Parts, Phrase, Shape};
use crate::diag::{Diagnostic, Edit};
use crate::source::{SourceFile, Span};
use crate::syntax::ast;
use crate::types::Type;

/// Maximum length in bytes of a replacement that the message contains with the author's own values; longer ones are
/// shown as in the table.
const MAX_INLINE: usize = 60;

/// The operand of a function, method or field.
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

/// The replacement for a phrase of another language, and its type.
pub(super) struct Remedy {
    help: String,
    fix: Option<(bool, String, Span)>,
    pub ty: Type,
}

impl Remedy {
    /// Adds the replacement to a diagnostic.
    pub(super) fn apply(self, diagnostic: Diagnostic) -> Diagnostic {
        let mut diagnostic = diagnostic.help(self.help);
        diagnostic.fix = None;
        let Some((safe, text, span)) = self.fix else {
            return diagnostic;
        };
        let title = if text.len() <= MAX_INLINE {
            format!("write `{text}`")
        } else {
            "write it as suggested here".to_owned()
        };
        let edits = vec![Edit::new(span, text)];
        if safe {
            diagnostic.fix_all(title, edits)
        } else {
            diagnostic.unsafe_fix(title, edits)
        }
    }
}

/// Returns the replacement for a function, method, field or name of another language; `whole` is the span to replace.
pub(super) fn find_foreign(
    checker: &mut Checker<'_>,
    shape: Shape,
    root: &Root<'_>,
    name: &str,
    arguments: &[ast::Argument],
    whole: Span,
) -> Option<Remedy> {
    if checker.trying {
        return None;
    }
    let (phrase, parts) = find_phrase(checker, shape, root, name, arguments)?;
    let plain = Remedy {
        help: phrase.help(None),
        fix: None,
        ty: Type::Invalid,
    };
    let fits = phrase.certainty != Certainty::Advice && parts.arguments.len() == arguments.len();
    let Some(right) = fits
        .then(|| fill_phrase(checker, phrase, &parts, root, arguments, whole))
        .flatten()
    else {
        return Some(plain);
    };
    let Some((ty, simple)) = try_text(checker, &right, whole) else {
        return Some(plain);
    };
    let help = if right.len() <= MAX_INLINE && !right.contains('\n') {
        phrase.help(Some(&right))
    } else {
        plain.help
    };
    let alone = simple
        || checker
            .origin
            .is_some_and(|(source, _)| needs_no_parentheses(source.text(), whole));
    let text = if alone { right } else { format!("({right})") };
    Some(Remedy {
        help,
        fix: Some((phrase.certainty == Certainty::Certain, text, whole)),
        ty,
    })
}

/// Finds the phrase with the same number of arguments, otherwise one that only has an explanation.
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
    // For a global function, the kind of the first argument selects the phrase.
    found.retain(|(_, parts)| {
        let receiver = parts
            .arguments
            .first()
            .filter(|receiver| parts.root.is_empty() && foreign::RECEIVERS.contains(*receiver));
        let Some(receiver) = receiver else {
            return true;
        };
        let ty = first.get_or_insert_with(|| {
            arguments
                .first()
                .map(|one| check_silently(checker, &one.value))
        });
        ty.as_ref().is_some_and(|ty| is_kind(receiver, ty))
    });
    let exact = found
        .iter()
        .position(|(_, parts)| parts.arguments.len() == arguments.len());
    let loose = |(phrase, parts): &(&Phrase, Parts)| {
        let is_macro = parts.arguments.contains(&"e") && !arguments.is_empty();
        phrase.certainty == Certainty::Advice || is_macro
    };
    let index = exact.or_else(|| found.iter().position(loose))?;
    (index < found.len()).then(|| found.swap_remove(index))
}

/// Returns the replacement with the author's own text; `None` if the text cannot be reused.
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
        // The span of an expression excludes its own parentheses, so a receiver in parentheses has no fix.
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

/// Checks a replacement; returns its type and whether it can be an operand without parentheses, or `None` if it has
/// errors.
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

/// Returns the type of an expression without keeping diagnostics.
fn check_silently(checker: &mut Checker<'_>, expression: &ast::Expr) -> Type {
    let before = checker.diagnostics.len();
    let around = std::mem::replace(&mut checker.trying, true);
    let Typed { ty, .. } = checker.expression(expression);
    checker.trying = around;
    checker.diagnostics.truncate(before);
    ty
}

/// Records the names that the arguments of a phrase read, without diagnostics: the replacement contains them.
pub(super) fn note_argument_reads(checker: &mut Checker<'_>, arguments: &[ast::Argument]) {
    for argument in arguments {
        check_silently(checker, &argument.value);
    }
}

/// Returns true if values of a type are of the kind that a letter in the table of phrases stands for.
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

/// Returns true if an expression needs no parentheses next to an operator.
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

/// Returns true if a replacement at this place needs no parentheses, judging by the text around it.
fn needs_no_parentheses(text: &str, place: Span) -> bool {
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
