//! What conditions say about names: atoms, and which paths they show to be there.

use std::sync::Arc;

use super::canonical::canonical;
use super::report::written;
use super::{Checker, Local};
use crate::sema::Atom;
use crate::source::Span;
use crate::syntax::ast;

/// The parts of a condition that all have to hold: `a && !b` is the atoms `a` and not `b`.
///
/// `x != null` is the negation of `x == null`, and `has(x)` of a name is the same, however it was written.
#[must_use]
pub fn atoms(condition: &ast::Expr) -> Vec<Atom> {
    let mut atoms = Vec::new();
    collect(condition, false, &mut atoms);
    atoms
}

/// What holds where the condition is known to be false.
#[must_use]
pub fn negated_atoms(condition: &ast::Expr) -> Vec<Atom> {
    let mut atoms = Vec::new();
    collect(condition, true, &mut atoms);
    atoms
}

fn collect(condition: &ast::Expr, negated: bool, atoms: &mut Vec<Atom>) {
    match &condition.kind {
        ast::ExprKind::Unary { operators, operand }
            if operators.iter().all(|(operator, _)| *operator == ast::UnaryOp::Not) =>
        {
            collect(operand, negated ^ (operators.len() % 2 == 1), atoms);
        }
        ast::ExprKind::Chain { first, rest } => match rest.first().map(|link| link.operator) {
            Some(ast::BinaryOp::And) if !negated => each(first, rest, negated, atoms),
            Some(ast::BinaryOp::Or) if negated => each(first, rest, negated, atoms),
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
        ast::ExprKind::Call { function, arguments } if &*function.text == "has" => match arguments.as_slice() {
            [ast::Argument { value: ast::Expr { kind: ast::ExprKind::Name(name), .. }, .. }] => {
                atoms.push(Atom { text: null_test(name).into(), negated: !negated });
            }
            _ => atoms.push(atom(condition, negated)),
        },
        _ => atoms.push(atom(condition, negated)),
    }
}

fn each(first: &ast::Expr, rest: &[ast::ChainLink], negated: bool, atoms: &mut Vec<Atom>) {
    collect(first, negated, atoms);
    for link in rest {
        collect(&link.operand, negated, atoms);
    }
}

fn atom(condition: &ast::Expr, negated: bool) -> Atom {
    Atom { text: canonical(condition).into(), negated }
}

/// The condition that a name is null, in canonical text.
pub(super) fn null_test(name: &str) -> String {
    format!("{} == null", written(name))
}

/// The path that an atom shows to be there, in canonical text.
fn shown(atom: &Atom) -> Option<&str> {
    if atom.negated {
        let text = &*atom.text;
        return text.strip_suffix(" == null").or_else(|| text.strip_prefix("null == "));
    }
    atom.text.strip_prefix("has(")?.strip_suffix(')')
}

/// Whether a path that is there shows that a shorter one is there as well.
fn covers(shown: &str, path: &str) -> bool {
    match shown.strip_prefix(path) {
        Some("") => true,
        Some(rest) => rest.starts_with(['.', '[', '?']),
        None => false,
    }
}

/// `a?.b` and `a.b` are the same place. Paths with text in them are left alone, since the text could look like a link.
fn plain(path: &str) -> String {
    if path.contains('"') { path.to_owned() } else { path.replace("?.[", "[").replace("?.", ".") }
}

/// The canonical text of a path's first links.
pub(super) fn path_text(base: &ast::Expr, links: &[ast::Link]) -> String {
    if links.is_empty() {
        return plain(&canonical(base));
    }
    let kind = ast::ExprKind::Path { base: Box::new(base.clone()), links: links.to_vec() };
    plain(&canonical(&ast::Expr { span: Span::default(), kind }))
}

impl Checker<'_> {
    /// Checks something where further conditions hold.
    pub(super) fn with_facts<T>(&mut self, facts: Vec<Atom>, check: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.facts.len();
        self.facts.extend(facts);
        let result = check(self);
        self.facts.truncate(before);
        result
    }

    /// Whether a condition shows that the value at this path is there. `has` of a field only shows that it is not
    /// missing: that counts where the field, once it is there, is not null (`by_has`).
    pub(super) fn is_shown(&self, root: Option<&str>, path: &str, by_has: bool) -> bool {
        self.known(root).any(|atom| {
            let Some(shown) = shown(atom).map(plain) else { return false };
            covers(&shown, path) && (by_has || atom.negated || shown != path)
        })
    }

    /// Whether exactly this is known, such as `r.ok` or its negation.
    pub(super) fn is_known(&self, root: Option<&str>, text: &str, negated: bool) -> bool {
        self.known(root).any(|atom| atom.negated == negated && plain(&atom.text) == text)
    }

    /// Whether every part of a guard holds here.
    pub(super) fn holds(&self, guard: &[Atom]) -> bool {
        guard.iter().all(|atom| self.facts.contains(atom) || self.scope.facts().contains(atom))
    }

    /// The one part of a guard that is not known to hold, where it is just one.
    pub(super) fn open_part<'g>(&self, guard: &'g [Atom]) -> Option<&'g Atom> {
        let mut open = guard.iter().filter(|atom| !self.holds(std::slice::from_ref(*atom)));
        let first = open.next()?;
        open.next().is_none().then_some(first)
    }

    /// The facts that may speak of a path that begins with this name.
    fn known(&self, root: Option<&str>) -> impl Iterator<Item = &Atom> {
        let local = root.and_then(|name| self.local(name));
        let outer: &[Atom] = if local.is_some() { &[] } else { self.scope.facts() };
        let inner = self.facts.get(local.map_or(0, |local| local.facts)..).unwrap_or(&[]);
        outer.iter().chain(inner)
    }

    /// The innermost variable of a macro with this name.
    pub(super) fn local(&self, name: &str) -> Option<&Local> {
        self.locals.iter().rev().find(|local| &*local.name == name)
    }

    /// What a `match` around this says about its subject, where this is it.
    pub(super) fn narrowed_type(&self, path: &str) -> Option<&crate::types::Type> {
        self.narrowed.iter().rev().find(|(subject, _)| subject == path).map(|(_, ty)| ty)
    }

    /// A name that stands for one value, as the text of an atom.
    pub(super) fn known_text(text: impl Into<Arc<str>>, negated: bool) -> Atom {
        Atom { text: text.into(), negated }
    }
}
