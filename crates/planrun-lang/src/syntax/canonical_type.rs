//! One text for each type as written.

use std::fmt::Write as _;

use super::ast::{FieldType, TypeExpr, TypeExprKind, TypeSuffix};
use super::spelling::{write_literal, write_variable, write_word};

/// The type on one line; it reads back as the same type.
#[must_use]
pub fn canonical_type(ty: &TypeExpr) -> String {
    let mut text = String::new();
    write_type(&mut text, ty);
    text
}

fn write_type(out: &mut String, ty: &TypeExpr) {
    match &ty.kind {
        TypeExprKind::Name(name) => write_variable(out, name),
        TypeExprKind::Literal(literal) => write_literal(out, literal),
        TypeExprKind::Union(members) => {
            for (index, member) in members.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { " | " });
                write_grouped(out, member, matches!(member.kind, TypeExprKind::Union(_)));
            }
        }
        TypeExprKind::Suffixed { base, suffixes } => {
            let parts = matches!(
                base.kind,
                TypeExprKind::Union(_) | TypeExprKind::Suffixed { .. }
            );
            write_grouped(out, base, parts);
            for suffix in suffixes {
                out.push_str(match suffix {
                    TypeSuffix::List => "[]",
                    TypeSuffix::Optional => "?",
                });
            }
        }
        TypeExprKind::Map { key, value } => {
            out.push_str("map<");
            write_type(out, key);
            out.push_str(", ");
            write_type(out, value);
            out.push('>');
        }
        TypeExprKind::Result(value) => {
            out.push_str("Result<");
            write_type(out, value);
            out.push('>');
        }
        TypeExprKind::Object(fields) if fields.is_empty() => out.push_str("{}"),
        TypeExprKind::Object(fields) => {
            out.push_str("{ ");
            for (index, field) in fields.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { ", " });
                write_field(out, field);
            }
            out.push_str(" }");
        }
        TypeExprKind::Error => out.push_str("<error>"),
    }
}

fn write_field(out: &mut String, field: &FieldType) {
    write_word(out, &field.name.text);
    let _ = write!(out, "{}: ", if field.optional { "?" } else { "" });
    write_type(out, &field.ty);
}

/// The type in parentheses where it would else be read as part of what is around it.
fn write_grouped(out: &mut String, ty: &TypeExpr, grouped: bool) {
    if grouped {
        out.push('(');
    }
    write_type(out, ty);
    if grouped {
        out.push(')');
    }
}
