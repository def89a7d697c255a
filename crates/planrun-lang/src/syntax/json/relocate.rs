//! Moves the spans of a tree parsed from a JSON string to their positions in the file.

use super::strings::Extract;
use crate::diag::Diagnostic;
use crate::source::Span;
use crate::syntax::ast::{
    Argument, Entry, EntryKey, Expr, ExprKind, Link, LinkKind, Name, Pattern, PatternKind,
    TemplatePart, TypeExpr, TypeExprKind,
};

/// A tree whose spans can be moved to positions in the file.
pub(super) trait Relocate {
    fn relocate(&mut self, to: &Extract);
}

impl Relocate for Span {
    fn relocate(&mut self, to: &Extract) {
        *self = to.span(*self);
    }
}

impl Relocate for Name {
    fn relocate(&mut self, to: &Extract) {
        self.span.relocate(to);
    }
}

impl Relocate for Diagnostic {
    fn relocate(&mut self, to: &Extract) {
        self.span.relocate(to);
        self.labels
            .iter_mut()
            .for_each(|label| label.span.relocate(to));
        let edits = self.fix.iter_mut().flat_map(|fix| fix.edits.iter_mut());
        edits.for_each(|edit| edit.span.relocate(to));
    }
}

impl Relocate for Expr {
    fn relocate(&mut self, to: &Extract) {
        self.span.relocate(to);
        match &mut self.kind {
            ExprKind::Literal(_) | ExprKind::Name(_) | ExprKind::Error => {}
            ExprKind::Template(parts) => parts.iter_mut().for_each(|part| match part {
                TemplatePart::Text(_) => {}
                TemplatePart::Expr(value) => value.relocate(to),
            }),
            ExprKind::Call {
                function,
                arguments,
            } => {
                function.relocate(to);
                arguments.relocate(to);
            }
            ExprKind::Path { base, links } => {
                base.relocate(to);
                links.relocate(to);
            }
            ExprKind::List(elements) => elements.relocate(to),
            ExprKind::Coalesce(operands) => operands.relocate(to),
            ExprKind::Object(entries) => entries.relocate(to),
            ExprKind::Unary { operators, operand } => {
                for (_, span) in operators {
                    span.relocate(to);
                }
                operand.relocate(to);
            }
            ExprKind::Chain { first, rest } => {
                first.relocate(to);
                for link in rest {
                    link.operator_span.relocate(to);
                    link.operand.relocate(to);
                }
            }
            ExprKind::Conditional { arms, otherwise } => {
                for (condition, value) in arms {
                    condition.relocate(to);
                    value.relocate(to);
                }
                otherwise.relocate(to);
            }
            ExprKind::Match { subject, arms } => {
                subject.relocate(to);
                for arm in arms {
                    arm.span.relocate(to);
                    arm.pattern.relocate(to);
                    arm.value.relocate(to);
                }
            }
            ExprKind::Is { subject, state } => {
                subject.relocate(to);
                state.relocate(to);
            }
            ExprKind::Signal(text) => text.span.relocate(to),
        }
    }
}

impl Relocate for Entry {
    fn relocate(&mut self, to: &Extract) {
        self.span.relocate(to);
        match &mut self.key {
            EntryKey::Name(name) => name.relocate(to),
            EntryKey::Expr(key) => key.relocate(to),
        }
        self.value.relocate(to);
    }
}

impl Relocate for Link {
    fn relocate(&mut self, to: &Extract) {
        self.span.relocate(to);
        match &mut self.kind {
            LinkKind::Field { name, .. } => name.relocate(to),
            LinkKind::Index { index, .. } => index.relocate(to),
            LinkKind::Call {
                name, arguments, ..
            } => {
                name.relocate(to);
                arguments.relocate(to);
            }
        }
    }
}

impl Relocate for Argument {
    fn relocate(&mut self, to: &Extract) {
        self.span.relocate(to);
        self.name.iter_mut().for_each(|name| name.relocate(to));
        self.value.relocate(to);
    }
}

impl Relocate for TypeExpr {
    fn relocate(&mut self, to: &Extract) {
        self.span.relocate(to);
        match &mut self.kind {
            TypeExprKind::Name(_) | TypeExprKind::Literal(_) | TypeExprKind::Error => {}
            TypeExprKind::Union(members) => members.relocate(to),
            TypeExprKind::Suffixed { base, .. } | TypeExprKind::Result(base) => base.relocate(to),
            TypeExprKind::Map { key, value } => {
                key.relocate(to);
                value.relocate(to);
            }
            TypeExprKind::Object(fields) => {
                for field in fields {
                    field.span.relocate(to);
                    field.name.relocate(to);
                    field.ty.relocate(to);
                }
            }
        }
    }
}

impl Relocate for Pattern {
    fn relocate(&mut self, to: &Extract) {
        self.span.relocate(to);
        match &mut self.kind {
            PatternKind::Any | PatternKind::Literal(_) | PatternKind::Error => {}
            PatternKind::Or(alternatives) => alternatives.relocate(to),
            PatternKind::Object(fields) => {
                for (name, pattern) in fields {
                    name.relocate(to);
                    pattern.relocate(to);
                }
            }
        }
    }
}

impl<T: Relocate> Relocate for Vec<T> {
    fn relocate(&mut self, to: &Extract) {
        for element in self {
            element.relocate(to);
        }
    }
}
