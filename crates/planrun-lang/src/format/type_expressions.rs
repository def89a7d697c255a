//! Prints types and patterns.

use super::expressions::{Operand, print_chain};
use super::printer::{Brackets, Printer};
use super::texts::print_literal;
use crate::source::Span;
use crate::syntax::ast::{
    FieldType, Name, Pattern, PatternKind, TypeExpr, TypeExprKind, TypeSuffix,
};

pub(super) fn print_type<'a>(out: &mut Printer<'a>, ty: &'a TypeExpr) {
    match &ty.kind {
        TypeExprKind::Name(name) => out.variable(name),
        TypeExprKind::Literal(literal) => print_literal(out, literal, ty.span),
        TypeExprKind::Union(members) => {
            print_chain(
                out,
                members
                    .iter()
                    .enumerate()
                    .map(|(index, ty)| (if index == 0 { "" } else { "| " }, Operand::Type(ty))),
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
                Brackets::OBJECT,
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
        TypeExprKind::Error => {}
    }
}

/// A type that is a member of a union or has a suffix.
pub(super) fn print_inner_type<'a>(out: &mut Printer<'a>, ty: &'a TypeExpr) {
    if matches!(
        ty.kind,
        TypeExprKind::Union(_) | TypeExprKind::Suffixed { .. }
    ) {
        out.parenthesised(|out| print_type(out, ty));
    } else {
        print_type(out, ty);
    }
}

/// A type between the bars of a union.
pub(super) fn print_member_type<'a>(out: &mut Printer<'a>, ty: &'a TypeExpr) {
    if matches!(ty.kind, TypeExprKind::Union(_)) {
        print_inner_type(out, ty);
    } else {
        print_type(out, ty);
    }
}

fn print_field_type<'a>(out: &mut Printer<'a>, field: &'a FieldType) {
    out.name(&field.name);
    out.word(if field.optional { "?: " } else { ": " });
    print_type(out, &field.ty);
}

pub(super) fn print_pattern<'a>(out: &mut Printer<'a>, pattern: &'a Pattern) {
    match &pattern.kind {
        PatternKind::Any => out.word("_"),
        PatternKind::Literal(literal) => print_literal(out, literal, pattern.span),
        PatternKind::Or(alternatives) => {
            print_chain(
                out,
                alternatives.iter().enumerate().map(|(index, pattern)| {
                    (
                        if index == 0 { "" } else { "| " },
                        Operand::Pattern(pattern),
                    )
                }),
            );
        }
        PatternKind::Object(fields) => {
            out.list(
                Brackets::OBJECT,
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
