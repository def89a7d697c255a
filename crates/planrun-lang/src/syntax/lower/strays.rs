//! Lowers text that stands where it is not allowed as what it was meant to be, and reports it: the message of a `fail`
//! that is not a text, a block or a clause in an arm, an optional field of a form.

use std::sync::Arc;

use super::expressions::{lower_expression, optional_expression};
use super::{Children, Lowering, within};
use crate::diag::Edit;
use crate::diag::codes::text as codes;
use crate::source::Span;
use crate::syntax::ast::{
    ArmBody, Block, Clause, ClauseKind, Expr, ExprKind, Guarded, LinkKind, Literal, Name,
    Statement, StatementKind, Step, StepBody, TemplatePart, TypeExpr, TypeExprKind, TypeSuffix,
};
use crate::syntax::grammar::parse::Rule;

/// Names for the step that a fix puts around a block or a call with clauses.
const STEP_NAMES: [&str; 4] = ["one", "made", "inner", "step_of_arm"];

/// Maximum length, in bytes, of a value that the help repeats.
const MAX_QUOTED: usize = 60;
/// How far around a place a name is searched, in bytes.
const SEARCHED: usize = 64 * 1024;

/// Lowers the message of a `fail`. A value that is not a text becomes the only part of one.
pub(super) fn optional_message(cx: &mut Lowering<'_>, parts: &mut Children<'_>) -> Option<Expr> {
    let Some(stray) = parts.take(Rule::stray_message) else {
        return optional_expression(cx, parts);
    };
    let node = Children::of(stray).take(Rule::expression)?;
    // The span of an expression does not cover its parentheses.
    let span = cx.trim(cx.span(&node));
    let value = lower_expression(cx, node);
    let written = cx.text.get(span.range()).unwrap_or("").to_owned();
    let help = if written.len() > MAX_QUOTED || written.contains('\n') {
        "write it in quotes: `\"${…}\"`".to_owned()
    } else {
        format!("write `\"${{{written}}}\"`")
    };
    let edits = vec![
        Edit::new(span.before(), "\"${"),
        Edit::new(span.after(), "}\""),
    ];
    cx.report(
        codes::UNEXPECTED_TOKEN
            .at(span, "the message of a `fail` is a text in quotes")
            .help(help)
            .fix_all("write it as a text", edits),
    );
    Some(Expr::new(
        span,
        ExprKind::Template(vec![TemplatePart::Expr(value)]),
    ))
}

/// Reports a block that stands in an arm, and lowers it to a step of a `do`.
pub(super) fn block_in_arm(
    cx: &mut Lowering<'_>,
    place: Span,
    body: StepBody,
    clauses: Vec<Clause>,
    kind: &str,
) -> ArmBody {
    let start = place.start as usize;
    let word = word_of(cx.text.get(place.range()).unwrap_or(""));
    let step = wrapped(cx, place, body, clauses);
    let name = &step.name;
    let help = format!(
        "an arm is a call, `do`, a value or `fail`: write `do {{ step {name} = {word} … yield {name} }}`"
    );
    cx.report(
        codes::UNEXPECTED_TOKEN
            .at(
                Span::new(start, start + word.len()),
                format!("`{word}` is not allowed in an arm of a `{kind}`"),
            )
            .help(help)
            .fix_all("write it as a step of a `do`", step.edits),
    );
    ArmBody::Do(step.block)
}

/// Reports what is missing before statements in braces: `do`, or `=> do`.
pub(super) fn missing_do(cx: &mut Lowering<'_>, block: Span, missing: &str) {
    let brace = Span::new(block.start as usize, block.start as usize + 1);
    cx.report(
        codes::UNEXPECTED_TOKEN
            .at(
                brace,
                format!("`{missing}` is missing before these statements"),
            )
            .help(format!("write `{missing} {{ … }}`"))
            .fix_all(
                format!("write `{missing}`"),
                vec![Edit::new(block.before(), format!("{missing} "))],
            ),
    );
}

/// Reports the clauses of an arm, and lowers its body with those that hold for a step in a block, too.
pub(super) fn with_clauses(
    cx: &mut Lowering<'_>,
    body: ArmBody,
    place: Span,
    clauses: Vec<Clause>,
    kind: &str,
) -> ArmBody {
    let (word, at) = clauses.first().map_or(("clause", place.start), |first| {
        (first.kind.word(), first.span.start)
    });
    let diagnostic = codes::UNEXPECTED_TOKEN.at(
        Span::new(at as usize, at as usize + word.len()),
        format!("an arm of a `{kind}` takes no clauses, such as `{word}`"),
    );
    let body = match as_step(body) {
        Ok(body) => body,
        Err(body) => {
            cx.report(diagnostic.help(format!("remove it, or put it below the `{kind}`")));
            return body;
        }
    };
    let movable = clauses.iter().all(|clause| is_movable(&clause.kind));
    let kept = if movable { clauses } else { Vec::new() };
    let step = wrapped(cx, place, body, kept);
    let name = &step.name;
    let diagnostic = diagnostic.help(format!(
        "put it below the `{kind}`, where it holds for every arm, or write \
         `do {{ step {name} = … {word} … yield {name} }}`"
    ));
    cx.report(if movable {
        diagnostic.fix_all("write it as a step of a `do`", step.edits)
    } else {
        diagnostic
    });
    ArmBody::Do(step.block)
}

/// A step in a `do` of its own, and the edits that write it so.
struct Wrapped {
    name: Arc<str>,
    block: Block,
    edits: Vec<Edit>,
}

fn wrapped(cx: &Lowering<'_>, place: Span, body: StepBody, clauses: Vec<Clause>) -> Wrapped {
    let name = free_name(cx, place);
    let whole = clauses
        .iter()
        .fold(place, |whole, clause| whole.to(clause.span));
    let edits = vec![
        Edit::new(whole.before(), format!("do {{ step {name} = ")),
        Edit::new(whole.after(), format!(" yield {name} }}")),
    ];
    let statement = |kind| Statement {
        span: whole,
        doc: None,
        kind,
    };
    let step = Step {
        name: Name::new(name.clone(), whole.before()),
        body,
        clauses,
    };
    let value = Guarded {
        value: Expr::new(whole, ExprKind::Name(name.clone())),
        when: None,
    };
    let statements = vec![
        statement(StatementKind::Step(Box::new(step))),
        statement(StatementKind::Yield(value)),
    ];
    Wrapped {
        name,
        block: Block {
            span: whole,
            statements,
        },
        edits,
    }
}

/// Returns a name that the text around the place does not use.
fn free_name(cx: &Lowering<'_>, place: Span) -> Arc<str> {
    let around = Span::new(
        (place.start as usize).saturating_sub(SEARCHED),
        (place.end as usize).saturating_add(SEARCHED),
    );
    let around = cx.text.get(within(cx.text, around).range()).unwrap_or("");
    let words = || around.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    let free = STEP_NAMES
        .iter()
        .find(|name| words().all(|word| word != **name));
    Arc::from(*free.unwrap_or(&STEP_NAMES[0]))
}

/// Returns the body of the step that an arm can be written as, or the arm itself if it calls nothing.
fn as_step(body: ArmBody) -> Result<StepBody, ArmBody> {
    match body {
        ArmBody::Expr(value) if is_call(&value) => Ok(StepBody::Call(value)),
        ArmBody::Do(block) => Ok(StepBody::Do(block)),
        ArmBody::Ask(ask) => Ok(StepBody::Ask(ask)),
        ArmBody::Infer {
            arguments, returns, ..
        } => Ok(StepBody::Infer { arguments, returns }),
        body @ (ArmBody::Expr(_) | ArmBody::Fail { .. }) => Err(body),
    }
}

/// Returns true for `ns.tool(…)` and `plan(…)` with named arguments or none.
fn is_call(value: &Expr) -> bool {
    let arguments = match &value.kind {
        ExprKind::Call { arguments, .. } => arguments,
        ExprKind::Path { base, links } if matches!(base.kind, ExprKind::Name(_)) => {
            match links.as_slice() {
                [link] => match &link.kind {
                    LinkKind::Call { arguments, .. } => arguments,
                    LinkKind::Field { .. } | LinkKind::Index { .. } => return false,
                },
                _ => return false,
            }
        }
        _ => return false,
    };
    arguments.iter().all(|argument| argument.name.is_some())
}

/// Returns true if a clause of a step that holds an arm means the same on a step in the arm. The others may read the
/// step's own name, or name steps that are not visible in a block.
fn is_movable(clause: &ClauseKind) -> bool {
    match clause {
        ClauseKind::When(_)
        | ClauseKind::Confirm { .. }
        | ClauseKind::Timeout(_)
        | ClauseKind::Within(_)
        | ClauseKind::Retry(_)
        | ClauseKind::Cache(_)
        | ClauseKind::Recover { .. } => true,
        ClauseKind::After(_)
        | ClauseKind::By(_)
        | ClauseKind::Expires(_)
        | ClauseKind::Until { .. }
        | ClauseKind::Verify { .. }
        | ClauseKind::Undo(_)
        | ClauseKind::Error => false,
    }
}

/// Returns the keyword that a block begins with.
fn word_of(block: &str) -> &str {
    let end = block.find(|c: char| !c.is_ascii_alphabetic());
    block.get(..end.unwrap_or(block.len())).unwrap_or("")
}

/// Reports the `?` behind the name of a form's field, and returns the type of a field that may stay empty.
pub(super) fn optional_field(
    cx: &mut Lowering<'_>,
    mark: Span,
    name: &Name,
    ty: TypeExpr,
) -> TypeExpr {
    let union = matches!(ty.kind, TypeExprKind::Union(_));
    let nullable = is_nullable(&ty);
    let written = cx.text.get(ty.span.range()).unwrap_or("");
    let suffix = match (nullable, union) {
        (true, _) => "",
        (false, true) => " | null",
        (false, false) => "?",
    };
    let help = format!(
        "use a type that allows null for a field that may stay empty: `{}: {written}{suffix}`",
        name.text
    );
    let mut edits = vec![Edit::removal(mark)];
    if !suffix.is_empty() {
        edits.push(Edit::new(ty.span.after(), suffix));
    }
    cx.report(
        codes::UNEXPECTED_TOKEN
            .at(mark, "a field of a form cannot be omitted from the answer")
            .help(help)
            .fix_all("let the field stay empty", edits),
    );
    let null = TypeExpr {
        span: ty.span,
        kind: TypeExprKind::Literal(Literal::Null),
    };
    TypeExpr {
        span: ty.span,
        kind: TypeExprKind::Union(vec![ty, null]),
    }
}

fn is_nullable(ty: &TypeExpr) -> bool {
    match &ty.kind {
        TypeExprKind::Literal(literal) => matches!(literal, Literal::Null),
        TypeExprKind::Union(members) => members.iter().any(is_nullable),
        TypeExprKind::Suffixed { suffixes, .. } => {
            matches!(suffixes.last(), Some(TypeSuffix::Optional))
        }
        TypeExprKind::Name(_)
        | TypeExprKind::Map { .. }
        | TypeExprKind::Object(_)
        | TypeExprKind::Result(_)
        | TypeExprKind::Error => false,
    }
}

/// Reports a bar before the first type of a union.
pub(super) fn leading_bar(cx: &mut Lowering<'_>, bar: Span) {
    cx.report(
        codes::UNEXPECTED_TOKEN
            .at(bar, "a union begins with its first type, without `|`")
            .help("remove the first `|`")
            .fix_all("remove it", vec![Edit::removal(bar)]),
    );
}
