//! Facts that conditions prove about names: atoms, and the paths whose presence they prove.

use std::sync::Arc;

use super::Checker;
use crate::sema::Atom;
use crate::source::Span;
use crate::syntax::{ast, canonical_name, canonical_place};
use crate::types::{Literal, Refinement, Type, refine};

/// Returns the parts of a condition that must all hold: the atoms `a` and not `b` for `a && !b`.
///
/// `x != null` is the negation of `x == null`, in whatever form it is written, and so is `has(x)` of a name.
#[must_use]
pub fn atoms(condition: &ast::Expr) -> Vec<Atom> {
    let mut atoms = Vec::new();
    collect(condition, false, &mut atoms);
    atoms
}

/// Returns what holds if the condition is known to be false.
#[must_use]
pub fn negated_atoms(condition: &ast::Expr) -> Vec<Atom> {
    let mut atoms = Vec::new();
    collect(condition, true, &mut atoms);
    atoms
}

fn collect(condition: &ast::Expr, negated: bool, atoms: &mut Vec<Atom>) {
    match &condition.kind {
        ast::ExprKind::Unary { operators, operand }
            if operators
                .iter()
                .all(|(operator, _)| *operator == ast::UnaryOp::Not) =>
        {
            collect(operand, negated ^ (operators.len() % 2 == 1), atoms);
        }
        ast::ExprKind::Chain { first, rest } => match rest.first().map(|link| link.operator) {
            Some(ast::BinaryOp::And) if !negated => each(first, rest, negated, atoms),
            Some(ast::BinaryOp::Or) if negated => each(first, rest, negated, atoms),
            Some(ast::BinaryOp::And | ast::BinaryOp::Or) => {
                let mut parts = Vec::new();
                each(first, rest, !negated, &mut parts);
                atoms.push(Atom {
                    not_all: parts.into(),
                    ..atom(condition, negated)
                });
            }
            Some(ast::BinaryOp::NotEqual) if rest.len() == 1 => {
                let mut positive = condition.clone();
                if let ast::ExprKind::Chain { rest, .. } = &mut positive.kind {
                    for link in rest {
                        link.operator = ast::BinaryOp::Equal;
                    }
                }
                atoms.push(atom(&positive, !negated));
            }
            _ => atoms.push(atom(condition, negated)),
        },
        ast::ExprKind::Call {
            function,
            arguments,
        } if &*function.text == "has" => match arguments.as_slice() {
            [
                ast::Argument {
                    value:
                        ast::Expr {
                            kind: ast::ExprKind::Name(name),
                            ..
                        },
                    ..
                },
            ] => {
                atoms.push(null_test(&canonical_name(name), !negated));
            }
            _ => atoms.push(atom(condition, negated)),
        },
        _ => atoms.push(atom(condition, negated)),
    }
}

/// Returns the type of those values of a type for which a condition over `variable` holds.
pub(super) fn refined(ty: &Type, variable: &str, condition: &ast::Expr) -> Type {
    let mut tests = Vec::new();
    tests_of(condition, false, variable, &mut tests);
    tests
        .iter()
        .fold(ty.clone(), |ty, (path, known)| refine(&ty, path, known))
}

/// Collects what a condition proves about a variable and its fields.
fn tests_of(
    condition: &ast::Expr,
    negated: bool,
    variable: &str,
    tests: &mut Vec<(Vec<Arc<str>>, Refinement)>,
) {
    match &condition.kind {
        ast::ExprKind::Unary { operators, operand }
            if operators
                .iter()
                .all(|(operator, _)| *operator == ast::UnaryOp::Not) =>
        {
            tests_of(
                operand,
                negated ^ (operators.len() % 2 == 1),
                variable,
                tests,
            );
        }
        ast::ExprKind::Chain { first, rest } => {
            chain_tests_of(first, rest, negated, variable, tests);
        }
        ast::ExprKind::Call {
            function,
            arguments,
        } if &*function.text == "has" && !negated => {
            let [argument] = arguments.as_slice() else {
                return;
            };
            let Some(path) = fields_of(&argument.value, variable) else {
                return;
            };
            let known = if path.is_empty() {
                Refinement::NotNull
            } else {
                Refinement::NotMissing
            };
            tests.push((path, known));
        }
        _ => tests
            .extend(fields_of(condition, variable).map(|path| (path, Refinement::Is(!negated)))),
    }
}

/// Collects what a chain proves: both operands of `a && b`, nothing for `a || b`, the presence of `a` for `a != null`,
/// and the value of `a` for `a == "x"`.
fn chain_tests_of(
    first: &ast::Expr,
    rest: &[ast::ChainLink],
    negated: bool,
    variable: &str,
    tests: &mut Vec<(Vec<Arc<str>>, Refinement)>,
) {
    match (rest.first().map(|link| link.operator), rest) {
        (Some(ast::BinaryOp::And), _) if !negated => {
            all_tests_of(first, rest, negated, variable, tests);
        }
        (Some(ast::BinaryOp::Or), _) if negated => {
            all_tests_of(first, rest, negated, variable, tests);
        }
        (Some(operator @ (ast::BinaryOp::Equal | ast::BinaryOp::NotEqual)), [link]) => {
            let equal = (operator == ast::BinaryOp::Equal) != negated;
            let sides = [(first, &link.operand), (&link.operand, first)];
            tests.extend(sides.into_iter().find_map(|(tested, other)| {
                let path = fields_of(tested, variable)?;
                Some((path, comparison(tested, other, equal)?))
            }));
        }
        _ => {}
    }
}

/// Returns what a comparison with a constant proves about the value that it tests.
fn comparison(tested: &ast::Expr, other: &ast::Expr, equal: bool) -> Option<Refinement> {
    let literal = match &other.kind {
        ast::ExprKind::Literal(ast::Literal::Null) => {
            return (!equal).then_some(Refinement::NotNull);
        }
        ast::ExprKind::Literal(ast::Literal::Bool(truth)) => Literal::Bool(*truth),
        ast::ExprKind::Literal(ast::Literal::String(text)) => Literal::String(text.clone()),
        _ => return None,
    };
    if equal {
        return Some(Refinement::Equals(literal));
    }
    // Without its safe links, the path is null where a part of it is missing, and null differs from the literal, too.
    let is_safe = match &tested.kind {
        ast::ExprKind::Path { links, .. } => links.iter().any(ast::Link::is_safe),
        _ => false,
    };
    (!is_safe).then_some(Refinement::Differs(literal))
}

fn all_tests_of(
    first: &ast::Expr,
    rest: &[ast::ChainLink],
    negated: bool,
    variable: &str,
    tests: &mut Vec<(Vec<Arc<str>>, Refinement)>,
) {
    for operand in std::iter::once(first).chain(rest.iter().map(|link| &link.operand)) {
        tests_of(operand, negated, variable, tests);
    }
}

fn is_null(expression: &ast::Expr) -> bool {
    matches!(expression.kind, ast::ExprKind::Literal(ast::Literal::Null))
}

/// Returns the fields after a variable if an expression is a path of only these.
fn fields_of(expression: &ast::Expr, variable: &str) -> Option<Vec<Arc<str>>> {
    match &expression.kind {
        ast::ExprKind::Name(name) if **name == *variable => Some(Vec::new()),
        ast::ExprKind::Path { base, links } => {
            let mut path = fields_of(base, variable)?;
            for link in links {
                path.push(link.field_name()?.clone());
            }
            Some(path)
        }
        _ => None,
    }
}

fn each(first: &ast::Expr, rest: &[ast::ChainLink], negated: bool, atoms: &mut Vec<Atom>) {
    collect(first, negated, atoms);
    for link in rest {
        collect(&link.operand, negated, atoms);
    }
}

fn atom(condition: &ast::Expr, negated: bool) -> Atom {
    Atom {
        tested: tested(condition).map(|path| path_text(path, &[]).into()),
        ..simple(canonical_place(condition), negated)
    }
}

/// Returns the path that a condition tests for null, or for existence with `has`.
fn tested(condition: &ast::Expr) -> Option<&ast::Expr> {
    let tested = match &condition.kind {
        ast::ExprKind::Chain { first, rest } => match rest.as_slice() {
            [link] if link.operator == ast::BinaryOp::Equal => {
                let sides = [(&**first, &link.operand), (&link.operand, &**first)];
                let null = sides.into_iter().find(|(_, other)| is_null(other));
                null.map(|(tested, _)| tested)
            }
            _ => None,
        },
        ast::ExprKind::Call {
            function,
            arguments,
        } if &*function.text == "has" => arguments.first().map(|argument| &argument.value),
        _ => None,
    };
    tested.filter(|tested| {
        matches!(
            tested.kind,
            ast::ExprKind::Name(_) | ast::ExprKind::Path { .. }
        )
    })
}

/// Creates an atom without parts that tests no path.
pub(super) fn simple(text: impl Into<Arc<str>>, negated: bool) -> Atom {
    Atom {
        text: text.into(),
        negated,
        ..Atom::default()
    }
}

/// Creates the condition that a path is null, in canonical text, or its negation.
pub(super) fn null_test(path: &str, negated: bool) -> Atom {
    Atom {
        tested: Some(path.into()),
        ..simple(format!("{path} == null"), negated)
    }
}

/// Returns what holds if a condition does not.
pub(in crate::sema) fn opposite(atom: &Atom) -> Vec<Atom> {
    if atom.not_all.is_empty() {
        vec![Atom {
            negated: !atom.negated,
            ..atom.clone()
        }]
    } else {
        atom.not_all.to_vec()
    }
}

/// Returns the path whose presence an atom proves: it is not null, or `has` has found it.
pub(in crate::sema) fn present_path(atom: &Atom) -> Option<&str> {
    let by_has = atom.text.starts_with("has(");
    let proves = atom.contexts == 0 && atom.negated != by_has;
    atom.tested.as_deref().filter(|_| proves)
}

/// Returns true if the presence of the path `present` proves that of `path`, a prefix of it.
pub(super) fn covers(present: &str, path: &str) -> bool {
    match present.strip_prefix(path) {
        Some("") => true,
        Some(rest) => rest.starts_with(['.', '[', '?']),
        None => false,
    }
}

/// Returns the canonical text of a path up to these links: the same for `a.b`, `a?.b` and `a["b"]`, which are one place.
pub(in crate::sema) fn path_text(base: &ast::Expr, links: &[ast::Link]) -> String {
    if links.is_empty() {
        return canonical_place(base);
    }
    let (root, before) = match &base.kind {
        ast::ExprKind::Path { base, links } => (&**base, links.as_slice()),
        _ => (base, [].as_slice()),
    };
    let kind = ast::ExprKind::Path {
        base: Box::new(root.clone()),
        links: before.iter().chain(links).cloned().collect(),
    };
    canonical_place(&ast::Expr {
        span: Span::default(),
        kind,
    })
}

impl Checker<'_> {
    /// Runs a check where additional conditions hold.
    pub(super) fn with_facts<T>(
        &mut self,
        facts: Vec<Atom>,
        check: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let before = self.env.mark();
        for fact in facts {
            self.env.add(fact);
        }
        let result = check(self);
        self.env.reset(before);
        result
    }
}
