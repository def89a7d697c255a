//! Prints types and patterns.

use super::{Operand, Style};
use crate::source::Span;
use crate::syntax::ast::{
    FieldType, Name, Pattern, PatternKind, TypeExpr, TypeExprKind, TypeSuffix,
};

pub fn print_type<'a, S: Style<'a>>(out: &mut S, ty: &'a TypeExpr) {
    match &ty.kind {
        TypeExprKind::Name(name) => out.variable(name),
        TypeExprKind::Literal(literal) => out.literal(literal, ty.span),
        TypeExprKind::Union(members) => {
            out.chain(
                members
                    .iter()
                    .enumerate()
                    .map(|(index, ty)| (if index == 0 { "" } else { "|" }, Operand::Type(ty))),
            );
        }
        TypeExprKind::Suffixed { base, suffixes } => {
            print_inner_type(out, base);
            for suffix in suffixes {
                out.word(match suffix {
                    TypeSuffix::List => "[]",
                    TypeSuffix::Optional => "?",
                });
            }
        }
        TypeExprKind::Map { key, value } => {
            out.word("map<");
            print_type(out, key);
            out.word(", ");
            print_type(out, value);
            out.word(">");
        }
        TypeExprKind::Object(fields) => {
            out.list(
                S::OBJECT,
                ty.span,
                fields,
                |field| field.span,
                print_field_type,
            );
        }
        TypeExprKind::Result(value) => {
            out.word("Result<");
            print_type(out, value);
            out.word(">");
        }
        TypeExprKind::Error => out.error(),
    }
}

/// Prints a type to which a suffix applies, in parentheses if necessary.
fn print_inner_type<'a, S: Style<'a>>(out: &mut S, ty: &'a TypeExpr) {
    if matches!(
        ty.kind,
        TypeExprKind::Union(_) | TypeExprKind::Suffixed { .. }
    ) {
        out.enclosed("(", ")", |out| print_type(out, ty));
    } else {
        print_type(out, ty);
    }
}

/// Prints a member of a union.
pub(super) fn print_member_type<'a, S: Style<'a>>(out: &mut S, ty: &'a TypeExpr) {
    if matches!(ty.kind, TypeExprKind::Union(_)) {
        print_inner_type(out, ty);
    } else {
        print_type(out, ty);
    }
}

fn print_field_type<'a, S: Style<'a>>(out: &mut S, field: &'a FieldType) {
    out.name(&field.name);
    out.word(if field.optional { "?: " } else { ": " });
    print_type(out, &field.ty);
}

pub fn print_pattern<'a, S: Style<'a>>(out: &mut S, pattern: &'a Pattern) {
    match &pattern.kind {
        PatternKind::Any | PatternKind::Error => out.word("_"),
        PatternKind::Literal(literal) => out.literal(literal, pattern.span),
        PatternKind::Or(alternatives) => {
            out.chain(alternatives.iter().enumerate().map(|(index, pattern)| {
                (if index == 0 { "" } else { "|" }, Operand::Pattern(pattern))
            }));
        }
        PatternKind::Object(fields) => {
            out.list(
                S::OBJECT,
                pattern.span,
                fields,
                field_span,
                |out, (name, pattern)| {
                    out.name(name);
                    out.word(": ");
                    print_pattern(out, pattern);
                },
            );
        }
    }
}

fn field_span((name, pattern): &(Name, Pattern)) -> Span {
    name.span.to(pattern.span)
}
