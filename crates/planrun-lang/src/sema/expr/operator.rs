//! Checks operators: unary ones, and chains of one precedence level.

use std::fmt;

use super::construct::is_never_null;
use super::narrow::path_text;
use super::repeated::{repeated_conditions, same_operands};
use super::{Checker, Node, Op, Operator, Typed, combine, literal, report};
use crate::builtins::operators::{self, Arithmetic};
use crate::sema::Lookup;
use crate::source::Span;
use crate::syntax::ast;
use crate::types::Type;
use crate::value::Value;

/// 2^53: beyond it not every integer is representable as a double.
const LOSSY: u64 = 1 << 53;

pub(super) fn check_unary(
    checker: &mut Checker<'_>,
    signs: &[(ast::UnaryOp, Span)],
    operand: &ast::Expr,
    span: Span,
) -> Typed {
    let mut typed = checker.expression(operand);
    for (operator, sign) in signs.iter().rev() {
        let whole = sign.to(operand.span);
        typed = match operator {
            ast::UnaryOp::Not => check_not(checker, typed, whole, operand.span),
            ast::UnaryOp::Negate => check_negate(checker, typed, whole, operand.span),
        };
    }
    typed.node.span = span;
    typed
}

fn check_not(checker: &mut Checker<'_>, typed: Typed, span: Span, operand: Span) -> Typed {
    require_bool(checker, format_args!("an operand of `!`"), &typed, operand);
    Typed::new(Op::Not(Box::new(typed.node)), Type::Bool, span)
}

fn check_negate(checker: &mut Checker<'_>, typed: Typed, span: Span, operand: Span) -> Typed {
    let present = require_present(checker, &typed, operand);
    let ty = match literal::widened(&present) {
        ty @ (Type::Int | Type::Double | Type::Duration | Type::Any | Type::Invalid) => ty,
        Type::Never => Type::Any,
        other
            if other
                .members()
                .iter()
                .all(|member| matches!(member, Type::Int | Type::Double)) =>
        {
            other
        }
        other => {
            checker.report(report::no_unary("-", &other, operand));
            Type::Invalid
        }
    };
    if let Some(folded) = typed
        .node
        .constant()
        .and_then(|value| operators::negate(value).ok())
    {
        let ty = if folded.as_int().is_some() {
            crate::types::type_of(&folded)
        } else {
            ty
        };
        return Typed::new(Op::Constant(folded), ty, span);
    }
    Typed::new(Op::Negate(Box::new(typed.node)), ty, span)
}

pub(super) fn check_chain(
    checker: &mut Checker<'_>,
    first: &ast::Expr,
    rest: &[ast::ChainLink],
    span: Span,
) -> Typed {
    match rest.first().map(|link| link.operator) {
        Some(ast::BinaryOp::And) => check_logical(checker, first, rest, span, true),
        Some(ast::BinaryOp::Or) => match meant_choice(first, rest) {
            Some(choice) => check_meant_choice(checker, &choice, span),
            None => check_logical(checker, first, rest, span, false),
        },
        _ => check_computed(checker, first, rest, span),
    }
}

/// Checks `&&` and `||`: what earlier operands prove holds in later ones.
fn check_logical(
    checker: &mut Checker<'_>,
    first: &ast::Expr,
    rest: &[ast::ChainLink],
    span: Span,
    and: bool,
) -> Typed {
    let mark = checker.env.mark();
    let mut nodes: Vec<Node> = Vec::with_capacity(rest.len() + 1);
    for operand in std::iter::once(first).chain(rest.iter().map(|link| &link.operand)) {
        let typed = if nodes.is_empty() {
            checker.expression(operand)
        } else {
            checker.lazily(|checker| checker.expression(operand))
        };
        let symbol = if and { "&&" } else { "||" };
        let what = format_args!("an operand of `{symbol}`");
        let reported = checker.diagnostics.len();
        if !and && nodes.is_empty() && is_default_meant(&typed.ty) {
            return check_meant_default(checker, typed, first, rest, span);
        }
        require_bool(checker, what, &typed, operand.span);
        if let Some(found) = checker.diagnostics.get_mut(reported)
            && typed.ty.is_optional()
            && !and
        {
            // The value is meant, not a test of it.
            found.help = Some("write a default with `??`: `x ?? other`".to_owned());
            found.fix = None;
        }
        nodes.push(typed.node);
        checker.env.assume(operand, and);
    }
    checker.env.reset(mark);
    let operands = std::iter::once(first).chain(rest.iter().map(|link| &link.operand));
    repeated_conditions(checker, operands.zip(&nodes), and);
    let op = if and { Op::And(nodes) } else { Op::Or(nodes) };
    Typed::new(op, Type::Bool, span)
}

/// `c && "a" || "b"`, which other languages use for `c ? "a" : "b"`.
struct MeantChoice<'a> {
    conditions: Vec<&'a ast::Expr>,
    yes: &'a ast::Expr,
    no: &'a ast::Expr,
    and: Span,
    or: Span,
}

/// Returns the parts of a choice that is written with `&&` and `||`: both of its values are texts or numbers.
#[inline(never)]
fn meant_choice<'a>(first: &'a ast::Expr, rest: &'a [ast::ChainLink]) -> Option<MeantChoice<'a>> {
    let is_value = |expr: &ast::Expr| match &expr.kind {
        ast::ExprKind::Template(_) => true,
        ast::ExprKind::Literal(literal) => {
            !matches!(literal, ast::Literal::Bool(_) | ast::Literal::Null)
        }
        _ => false,
    };
    let ([or], ast::ExprKind::Chain { first, rest }) = (rest, &first.kind) else {
        return None;
    };
    let (last, middle) = rest.split_last()?;
    let is_choice =
        last.operator == ast::BinaryOp::And && is_value(&last.operand) && is_value(&or.operand);
    let conditions = std::iter::once(&**first).chain(middle.iter().map(|link| &link.operand));
    is_choice.then(|| MeantChoice {
        conditions: conditions.collect(),
        yes: &last.operand,
        no: &or.operand,
        and: last.operator_span,
        or: or.operator_span,
    })
}

/// Reports a choice that is written with `&&` and `||` once. Not inlined, so that nested chains need less stack.
#[inline(never)]
fn check_meant_choice(checker: &mut Checker<'_>, choice: &MeantChoice<'_>, span: Span) -> Typed {
    let mark = checker.env.mark();
    for condition in &choice.conditions {
        let typed = checker.expression(condition);
        require_bool(
            checker,
            format_args!("an operand of `&&`"),
            &typed,
            condition.span,
        );
        checker.env.assume(condition, true);
    }
    checker.report(report::meant_choice(span, choice.and, choice.or));
    let yes = checker.lazily(|checker| checker.expression(choice.yes));
    checker.env.reset(mark);
    let no = checker.lazily(|checker| checker.expression(choice.no));
    Typed {
        ty: Type::union([yes.ty, no.ty]),
        ..Typed::fail("`&&` and `||` do not choose between values", span)
    }
}

/// Returns true if `||` behind a value of this type is meant as `??`: the value may be absent, and is no Boolean one.
fn is_default_meant(ty: &Type) -> bool {
    let present = ty.without_null();
    let may_be_bool = |member: &Type| {
        matches!(
            literal::widened(member),
            Type::Bool | Type::Any | Type::Invalid | Type::Never
        )
    };
    ty.is_optional() && present != Type::Never && !present.members().iter().any(may_be_bool)
}

/// Checks a chain of `||` in which each operand is meant as the default of those before it, and reports it once.
fn check_meant_default(
    checker: &mut Checker<'_>,
    typed: Typed,
    first: &ast::Expr,
    rest: &[ast::ChainLink],
    span: Span,
) -> Typed {
    checker.report(report::meant_default(&typed.ty, first.span, rest));
    let mut ty = typed.ty;
    let mut nodes = vec![typed.node];
    for link in rest {
        let other = checker.lazily(|checker| checker.expression(&link.operand));
        ty = Type::union([ty.without_null(), other.ty]);
        nodes.push(other.node);
    }
    Typed::new(Op::Or(nodes), ty, span)
}

fn check_computed(
    checker: &mut Checker<'_>,
    first: &ast::Expr,
    rest: &[ast::ChainLink],
    span: Span,
) -> Typed {
    let mut left = checker.expression(first);
    let mut left_span = first.span;
    let before = checker.diagnostics.len();
    let constant = left.node.constant().is_some();
    let (first_type, mut last_type) = (left.ty.clone(), Type::Never);
    // The operand before the first operation that is not folded.
    let mut start = None;
    let mut links = Vec::with_capacity(rest.len());
    for link in rest {
        let right = checker.expression(&link.operand);
        last_type.clone_from(&right.ty);
        let Some(operator) = operator(link.operator) else {
            continue;
        };
        let ty = operation_type(
            checker,
            operator,
            (&left, left_span),
            (&right, link.operand.span),
            link.operator_span,
        );
        left_span = first.span.to(link.operand.span);
        let folded = if links.is_empty() {
            folded(operator, &left.node, &right.node)
        } else {
            None
        };
        let op = folded.map(Op::Constant);
        if op.is_none() {
            links.push((combine::exact(operator, &left.ty, &right.ty), right.node));
        }
        let so_far = Typed::new(
            op.unwrap_or_else(|| Op::Fail("a part of a chain".into())),
            ty,
            left_span,
        );
        let before = std::mem::replace(&mut left, so_far);
        if links.len() == 1 {
            start.get_or_insert(before.node);
        }
    }
    // A chain with errors has been reported already.
    if let ([link], false) = (rest, checker.diagnostics.len() > before) {
        if !constant {
            same_operands(checker, first, link, span);
        }
        compared_with_null(checker, (first, &first_type), (link, &last_type), span);
    }
    let Some(first) = start.map(Box::new) else {
        left.node.span = span;
        return left;
    };
    Typed::new(Op::Chain { first, rest: links }, left.ty, span)
}

/// Returns the type of one operation, and reports its errors.
fn operation_type(
    checker: &mut Checker<'_>,
    operator: Operator,
    left: (&Typed, Span),
    right: (&Typed, Span),
    sign: Span,
) -> Type {
    if left.0.ty == Type::Invalid || right.0.ty == Type::Invalid {
        return if is_comparison(operator) {
            Type::Bool
        } else {
            Type::Invalid
        };
    }
    match operator {
        Operator::Equal | Operator::NotEqual => {
            check_equality(checker, left, right, sign);
            Type::Bool
        }
        Operator::In => {
            check_membership(checker, left, right, sign);
            Type::Bool
        }
        Operator::Less | Operator::LessEqual | Operator::Greater | Operator::GreaterEqual => {
            pair_type(checker, operator, left, right, sign, combine::ordered);
            Type::Bool
        }
        Operator::Add
        | Operator::Subtract
        | Operator::Multiply
        | Operator::Divide
        | Operator::DivideNonzero
        | Operator::Remainder
        | Operator::RemainderNonzero => pair_type(checker, operator, left, right, sign, |a, b| {
            combine::arithmetic(operator, a, b)
        }),
    }
}

/// Returns the type of an operation that must be possible for every pair of alternatives. Absence is only reported if
/// there is no other error.
fn pair_type(
    checker: &mut Checker<'_>,
    operator: Operator,
    left: (&Typed, Span),
    right: (&Typed, Span),
    sign: Span,
    one: impl Fn(&Type, &Type) -> Option<Type>,
) -> Type {
    let types = (left.0.ty.without_null(), right.0.ty.without_null());
    // Null is not an operand of any operator.
    let null = [&left.0.ty, &right.0.ty].contains(&&Type::Null);
    if let Some(result) = combine::every_pair(&types.0, &types.1, one).filter(|_| !null) {
        report_lossy(checker, left, right);
        require_present(checker, left.0, left.1);
        require_present(checker, right.0, right.1);
        return result;
    }
    let finding = report::no_binary(operator, &left.0.ty, &right.0.ty, sign);
    if let Some(finding) = report::as_time(operator, &finding, left, right) {
        checker.report(finding);
        return if operator == Operator::Add {
            Type::Timestamp
        } else {
            Type::Invalid
        };
    }
    if operator == Operator::Add
        && let Some(finding) = report::as_text(&finding, (&types.0, left), (&types.1, right))
    {
        checker.report(finding);
        return Type::String;
    }
    checker.report(finding);
    Type::Invalid
}

fn check_equality(
    checker: &mut Checker<'_>,
    left: (&Typed, Span),
    right: (&Typed, Span),
    sign: Span,
) {
    report_lossy(checker, left, right);
    // The comparison of two constants is unusual, but its result is well defined.
    let constants = left.0.node.constant().is_some() && right.0.node.constant().is_some();
    let widen = |ty: &Type| {
        if constants {
            literal::widened(ty)
        } else {
            ty.clone()
        }
    };
    let (first, second) = (widen(&left.0.ty), widen(&right.0.ty));
    if !combine::may_equal(&first, &second) {
        let finding = report::never_equal(&first, &second, (left.1, right.1), sign);
        let operator = Operator::Equal;
        let finding = report::as_time(operator, &finding, left, right).unwrap_or(finding);
        checker.report(finding);
    }
}

/// Returns true if an expression reads a name that is only defined under a condition, even if the condition holds here.
fn is_conditional(checker: &Checker<'_>, value: &ast::Expr) -> bool {
    let root = match &value.kind {
        ast::ExprKind::Path { base, .. } => base,
        _ => value,
    };
    let ast::ExprKind::Name(name) = &root.kind else {
        return false;
    };
    let Lookup::Found(binding) = checker.env.scope.lookup(name) else {
        return false;
    };
    let mut definitions = binding.definitions.iter();
    definitions.any(|definition| !definition.guard.is_empty())
}

/// Reports a comparison with null of a value that is never null. A test that is only repeated is not reported.
fn compared_with_null(
    checker: &mut Checker<'_>,
    (first, first_type): (&ast::Expr, &Type),
    (link, last_type): (&ast::ChainLink, &Type),
    span: Span,
) {
    let (value, ty) = match (first_type, last_type) {
        (Type::Null, ty) => (&link.operand, ty),
        (ty, Type::Null) => (first, ty),
        _ => return,
    };
    let result = match link.operator {
        ast::BinaryOp::Equal => false,
        ast::BinaryOp::NotEqual => true,
        _ => return,
    };
    // `?.` says that the value may be absent, and a condition around it may have excluded that already.
    let is_optional = matches!(&value.kind, ast::ExprKind::Path { links, .. } if links.iter().any(ast::Link::is_safe));
    if is_optional || is_conditional(checker, value) {
        return;
    }
    let unknown = |member: &Type| matches!(member, Type::Any | Type::Invalid | Type::Never);
    if !is_never_null(ty) || ty.members().iter().any(unknown) || checker.env.is_in_arm() {
        return;
    }
    if !checker.env.is_present(&path_text(value, &[]), true) {
        checker.report(report::never_null(result, span));
    }
}

fn check_membership(
    checker: &mut Checker<'_>,
    left: (&Typed, Span),
    right: (&Typed, Span),
    sign: Span,
) {
    let container = require_present(checker, right.0, right.1);
    for member in container.members() {
        let sought = match member {
            Type::List(element) => (**element).clone(),
            Type::Map(map) => map.key.clone(),
            Type::Object(_) | Type::Result(_) | Type::Error => Type::String,
            Type::Any | Type::Invalid | Type::Never => continue,
            other => {
                return checker.report(report::no_binary(Operator::In, &left.0.ty, other, sign));
            }
        };
        if !combine::may_equal(&left.0.ty, &sought) {
            return checker.report(report::never_in(&left.0.ty, member, sign));
        }
    }
}

/// Returns the type of an operand that must be present; reports that it may be absent.
pub(super) fn require_present(checker: &mut Checker<'_>, typed: &Typed, span: Span) -> Type {
    if typed.ty.is_optional() {
        checker.report(report::absent_operand(&typed.ty, span, true));
        return typed.ty.without_null();
    }
    typed.ty.clone()
}

/// Reports a value that is not a bool where one is required. Unknown types are checked at run time.
pub(super) fn require_bool(
    checker: &mut Checker<'_>,
    what: fmt::Arguments<'_>,
    typed: &Typed,
    span: Span,
) {
    let fits = |member: &Type| {
        matches!(
            literal::widened(member),
            Type::Bool | Type::Any | Type::Invalid | Type::Never
        )
    };
    if !typed.ty.members().iter().all(fits) {
        let what = what.to_string();
        checker.report(report::not_a_bool(&what, &typed.ty, span, &typed.node));
    }
}

/// Reports an integer without an exact double next to a double.
fn report_lossy(checker: &mut Checker<'_>, left: (&Typed, Span), right: (&Typed, Span)) {
    for ((constant, span), (other, _)) in [(left, right), (right, left)] {
        if let Some(number) = constant.node.constant().and_then(Value::as_int)
            && literal::widened(&other.ty) == Type::Double
        {
            lossy_number(checker, number, span);
        }
    }
}

/// Reports an integer literal that is converted to a double inexactly.
pub(super) fn lossy_number(checker: &mut Checker<'_>, number: i64, span: Span) {
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "the conversion tests for a loss"
    )]
    let survives = (number as f64) as i128 == i128::from(number);
    if number.unsigned_abs() > LOSSY && !survives {
        checker.report(report::lossy_number(number, span));
    }
}

fn is_comparison(operator: Operator) -> bool {
    combine::arithmetic_of(operator).is_none()
}

fn operator(operator: ast::BinaryOp) -> Option<Operator> {
    Some(match operator {
        ast::BinaryOp::Or | ast::BinaryOp::And => return None,
        ast::BinaryOp::Equal => Operator::Equal,
        ast::BinaryOp::NotEqual => Operator::NotEqual,
        ast::BinaryOp::Less => Operator::Less,
        ast::BinaryOp::LessEqual => Operator::LessEqual,
        ast::BinaryOp::Greater => Operator::Greater,
        ast::BinaryOp::GreaterEqual => Operator::GreaterEqual,
        ast::BinaryOp::In => Operator::In,
        ast::BinaryOp::Add => Operator::Add,
        ast::BinaryOp::Subtract => Operator::Subtract,
        ast::BinaryOp::Multiply => Operator::Multiply,
        ast::BinaryOp::Divide => Operator::Divide,
        ast::BinaryOp::Remainder => Operator::Remainder,
    })
}

/// Folds arithmetic over constants. Only small values: texts and lists are concatenated at run time.
fn folded(operator: Operator, left: &Node, right: &Node) -> Option<Value> {
    let operator: Arithmetic = combine::arithmetic_of(operator)?;
    let (left, right) = (left.constant()?, right.constant()?);
    let small = |value: &Value| value.as_number().is_some() || value.as_duration().is_some();
    if !small(left) || !small(right) {
        return None;
    }
    operators::arithmetic(operator, left.clone(), right).ok()
}
