//! Prints types and patterns.

use super::document::Break;
use super::expressions::Operand;
use super::printer::{Brackets, Printer};
use crate::source::Span;
use crate::syntax::ast::{
    FieldType, Name, Pattern, PatternKind, TypeExpr, TypeExprKind, TypeSuffix,
};

impl<'a> Printer<'a> {
    pub fn ty(&mut self, ty: &'a TypeExpr) {
        match &ty.kind {
            TypeExprKind::Name(name) => self.variable(name),
            TypeExprKind::Literal(literal) => self.literal(literal, ty.span),
            TypeExprKind::Union(members) => {
                self.chain(
                    members
                        .iter()
                        .enumerate()
                        .map(|(index, ty)| (if index == 0 { "" } else { "| " }, Operand::Type(ty))),
                );
            }
            TypeExprKind::Suffixed { base, suffixes } => {
                self.inner_type(base);
                for suffix in suffixes {
                    self.word(match suffix {
                        TypeSuffix::List => "[]",
                        TypeSuffix::Optional => "?",
                    });
                }
            }
            TypeExprKind::Map { key, value } => {
                self.word("map<");
                self.ty(key);
                self.word(", ");
                self.ty(value);
                self.word(">");
            }
            TypeExprKind::Object(fields) => {
                self.list(
                    Brackets::OBJECT,
                    ty.span,
                    fields,
                    |field| field.span,
                    Self::field_type,
                );
            }
            TypeExprKind::Result(value) => {
                self.word("Result<");
                self.ty(value);
                self.word(">");
            }
            TypeExprKind::Error => {}
        }
    }

    /// A type that is a member of a union or has a suffix.
    pub fn inner_type(&mut self, ty: &'a TypeExpr) {
        if matches!(
            ty.kind,
            TypeExprKind::Union(_) | TypeExprKind::Suffixed { .. }
        ) {
            self.parenthesised(|this| this.ty(ty));
        } else {
            self.ty(ty);
        }
    }

    /// A type between the bars of a union.
    pub fn member_type(&mut self, ty: &'a TypeExpr) {
        if matches!(ty.kind, TypeExprKind::Union(_)) {
            self.inner_type(ty);
        } else {
            self.ty(ty);
        }
    }

    pub fn parenthesised(&mut self, print: impl FnOnce(&mut Self)) {
        self.grouped(|this| {
            this.word("(");
            this.indented(|this| {
                this.line(Break::Soft);
                print(this);
            });
            this.line(Break::Soft);
            this.word(")");
        });
    }

    fn field_type(&mut self, field: &'a FieldType) {
        self.name(&field.name);
        self.word(if field.optional { "?: " } else { ": " });
        self.ty(&field.ty);
    }

    pub fn pattern(&mut self, pattern: &'a Pattern) {
        match &pattern.kind {
            PatternKind::Any => self.word("_"),
            PatternKind::Literal(literal) => self.literal(literal, pattern.span),
            PatternKind::Or(alternatives) => {
                self.chain(alternatives.iter().enumerate().map(|(index, pattern)| {
                    (
                        if index == 0 { "" } else { "| " },
                        Operand::Pattern(pattern),
                    )
                }));
            }
            PatternKind::Object(fields) => {
                self.list(
                    Brackets::OBJECT,
                    pattern.span,
                    fields,
                    field_span,
                    |this, (name, pattern)| {
                        this.name(name);
                        this.word(": ");
                        this.pattern(pattern);
                    },
                );
            }
        }
    }
}

fn field_span((name, pattern): &(Name, Pattern)) -> Span {
    name.span.to(pattern.span)
}
