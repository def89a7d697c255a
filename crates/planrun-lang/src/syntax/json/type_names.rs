//! Names that stand for the types of a file and change with their definitions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::syntax::ast::{FieldType, File, ItemKind, TypeExpr, TypeExprKind};
use crate::syntax::canonical_type;

/// What is written in place of the names of types, by name.
pub(super) type TypeNames = BTreeMap<Arc<str>, Arc<str>>;

/// Returns a name for each type of a file that changes with its definition, and with those of the types that it names.
pub(super) fn defined_names(file: &File) -> TypeNames {
    let items = file.items.iter().filter_map(|item| match &item.kind {
        ItemKind::Type(item) => Some((&item.name.text, &item.definition)),
        ItemKind::Use(_)
        | ItemKind::Tool(_)
        | ItemKind::Plan(_)
        | ItemKind::Test(_)
        | ItemKind::Error => None,
    });
    let definitions: BTreeMap<&Arc<str>, &TypeExpr> = items.collect();
    let (mut found, mut begun) = (TypeNames::new(), BTreeSet::new());
    // Its own stack keeps the length of a chain of types from mattering.
    let mut open: Vec<&Arc<str>> = definitions.keys().copied().collect();
    while let Some(name) = open.last().copied() {
        let Some(definition) = definitions.get(name).filter(|_| !found.contains_key(name)) else {
            open.pop();
            continue;
        };
        // A type that contains itself, which is an error, has begun before it is named.
        if begun.insert(name) {
            with_names(definition, &mut |inner| {
                open.extend(definitions.get_key_value(inner).map(|(name, _)| *name));
                inner.clone()
            });
        } else {
            let hash = blake3::hash(type_text(definition, &found).as_bytes());
            found.insert(name.clone(), format!("{name} {hash}").into());
        }
    }
    found
}

/// Returns the canonical text of a type, with these names in place of its own.
pub(super) fn type_text(ty: &TypeExpr, types: &TypeNames) -> String {
    if types.is_empty() {
        return canonical_type(ty);
    }
    canonical_type(&with_names(ty, &mut |name| {
        types.get(name).unwrap_or(name).clone()
    }))
}

fn with_names(ty: &TypeExpr, named: &mut dyn FnMut(&Arc<str>) -> Arc<str>) -> TypeExpr {
    let kind = match &ty.kind {
        TypeExprKind::Name(name) => TypeExprKind::Name(named(name)),
        TypeExprKind::Literal(_) | TypeExprKind::Error => ty.kind.clone(),
        TypeExprKind::Union(members) => {
            let members = members.iter().map(|member| with_names(member, named));
            TypeExprKind::Union(members.collect())
        }
        TypeExprKind::Suffixed { base, suffixes } => TypeExprKind::Suffixed {
            base: Box::new(with_names(base, named)),
            suffixes: suffixes.clone(),
        },
        TypeExprKind::Map { key, value } => TypeExprKind::Map {
            key: Box::new(with_names(key, named)),
            value: Box::new(with_names(value, named)),
        },
        TypeExprKind::Object(fields) => {
            let fields = fields.iter().map(|field| FieldType {
                ty: with_names(&field.ty, named),
                ..field.clone()
            });
            TypeExprKind::Object(fields.collect())
        }
        TypeExprKind::Result(inner) => TypeExprKind::Result(Box::new(with_names(inner, named))),
    };
    TypeExpr {
        span: ty.span,
        kind,
    }
}
