//! Values as far as they are known during the import.

use planrun_lang::syntax::ast::{Expr, ExprKind};
use planrun_lang::yaml::{Content, Node};

use crate::tree;

/// Expressions with more nodes than this are bound to names, so that they are not duplicated at every use.
const LARGE: usize = 10;

/// A value as far as it is known.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// There is no value.
    Nothing,
    Opaque(Expr),
    /// An object with these fields, merged over those of `base` if there is one.
    Object {
        base: Option<Expr>,
        fields: Vec<(String, Value)>,
        /// The expression of the object if the plan has already bound it.
        bound: Option<Expr>,
    },
}

impl Value {
    pub fn object(fields: Vec<(String, Self)>) -> Self {
        Self::Object {
            base: None,
            fields,
            bound: None,
        }
    }

    pub fn constant(node: &Node) -> Self {
        match &node.content {
            Content::Map(entries) => Self::object(
                entries
                    .iter()
                    .map(|entry| (entry.name.clone(), Self::constant(&entry.value)))
                    .collect(),
            ),
            _ => Self::Opaque(tree::constant(node)),
        }
    }

    pub fn expr(&self) -> Expr {
        match self {
            Self::Nothing => tree::null(),
            Self::Opaque(expr)
            | Self::Object {
                bound: Some(expr), ..
            } => expr.clone(),
            Self::Object { base, fields, .. } => {
                let fields = fields
                    .iter()
                    .map(|(key, value)| (key.clone(), value.expr()));
                let object = tree::object(fields.collect());
                match base {
                    Some(base) => tree::function("merge", vec![base.clone(), object]),
                    None => object,
                }
            }
        }
    }

    pub fn get(&self, key: &str) -> Self {
        if let Self::Object { base, fields, .. } = self {
            if let Some((_, value)) = fields.iter().find(|(name, _)| name == key) {
                return value.clone();
            }
            if let Some(base) = base {
                return Self::Opaque(tree::field(holder(base).clone(), key));
            }
        }
        Self::Opaque(tree::field(self.expr(), key))
    }

    /// Returns whether the field is certainly present or certainly absent; `None` if only a run can tell.
    pub fn has(&self, key: &str) -> Option<bool> {
        let Self::Object { base, fields, .. } = self else {
            return None;
        };
        match (fields.iter().any(|(name, _)| name == key), base) {
            (true, _) => Some(true),
            (false, None) => Some(false),
            (false, Some(_)) => None,
        }
    }

    /// Returns the value with another value at a path of keys.
    pub fn with(&self, path: &[String], value: Self) -> Self {
        let Some((key, rest)) = path.split_first() else {
            return value;
        };
        let (base, mut fields) = match self {
            Self::Object {
                base: Some(_),
                bound: Some(place),
                ..
            } => (Some(place.clone()), Vec::new()),
            Self::Object { base, fields, .. } => (base.clone(), fields.clone()),
            Self::Opaque(expr) => (Some(expr.clone()), Vec::new()),
            Self::Nothing => (None, Vec::new()),
        };
        let value = match (rest, self.has(key)) {
            ([], _) => value,
            (_, Some(true)) => self.get(key).with(rest, value),
            (_, Some(false)) => Self::object(Vec::new()).with(rest, value),
            (_, None) => {
                let before = tree::coalesce(self.get(key).expr(), tree::object(Vec::new()));
                Self::Opaque(before).with(rest, value)
            }
        };
        match fields.iter_mut().find(|(name, _)| name == key) {
            Some((_, there)) => *there = value,
            None => fields.push((key.clone(), value)),
        }
        Self::Object {
            base,
            fields,
            bound: None,
        }
    }

    /// Returns true if it should be bound to a name before it is used.
    pub fn is_large(&self) -> bool {
        tree::size(&self.expr(), LARGE + 1) > LARGE
    }

    /// Returns the same value, read from the expression to which it was bound.
    pub fn at(&self, place: Expr) -> Self {
        let Self::Object { base, fields, .. } = self else {
            return Self::Opaque(place);
        };
        let fields = fields.iter().map(|(key, value)| {
            let short = tree::size(&value.expr(), 4) < 4;
            let field = || tree::field(place.clone(), key);
            let value = if short {
                value.clone()
            } else {
                value.at(field())
            };
            (key.clone(), value)
        });
        Self::Object {
            base: base.clone().map(|_| place.clone()),
            fields: fields.collect(),
            bound: Some(place.clone()),
        }
    }
}

/// Returns the value whose fields are read: if an empty object is the fallback for a missing value, the value without
/// the fallback.
fn holder(value: &Expr) -> &Expr {
    match &value.kind {
        ExprKind::Coalesce(parts) => match parts.as_slice() {
            [first, last] if last.kind == ExprKind::Object(Vec::new()) => first,
            _ => value,
        },
        _ => value,
    }
}
