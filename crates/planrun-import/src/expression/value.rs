//! Values as far as they are known during the import.

use planrun_lang::syntax::ast::{Expr, ExprKind};
use planrun_lang::yaml::{Content, Node};

use super::quote::plan;
use crate::tree;

/// Expressions with more nodes than this are bound to names, so that they are not duplicated at every use.
const LARGE: usize = 10;
/// Maximum number of nodes of a value that an expression forms, and of those of a bound value whose fields are known. A
/// document can double a value with a few characters.
const MAX_NODES: usize = 4_000;
const MAX_BOUND_NODES: usize = 400;

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
                let fields = fields.iter();
                let object = tree::object(fields.map(|(key, value)| (key, value.expr())));
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
                let before = plan!("value ?? {}", value = self.get(key).expr());
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
        self.written(LARGE + 1) > LARGE
    }

    /// Returns the value if it has a size that a plan can have. Returns a message if it is too large.
    pub fn bounded(self) -> Result<Self, String> {
        if self.nodes(MAX_NODES + 1) > MAX_NODES {
            return Err("the expression forms a value that is too large".to_owned());
        }
        Ok(self)
    }

    /// Counts the nodes of the expression that it is written as, up to a limit.
    fn written(&self, limit: usize) -> usize {
        match self {
            Self::Object { bound: Some(_), .. } => 1,
            _ => self.counted(limit, &Self::written),
        }
    }

    /// Counts the nodes of all that is known of it, up to a limit.
    fn nodes(&self, limit: usize) -> usize {
        self.counted(limit, &Self::nodes)
    }

    fn counted(&self, limit: usize, count: &dyn Fn(&Self, usize) -> usize) -> usize {
        let (base, fields) = match self {
            Self::Nothing => return 1,
            Self::Opaque(expr) => return tree::size(expr, limit),
            Self::Object { base, fields, .. } => (base, fields),
        };
        // `merge(base, { … })`
        let own = base.as_ref().map_or(1, |base| 2 + tree::size(base, limit));
        fields.iter().fold(own, |all, (_, value)| {
            let left = limit.saturating_sub(all);
            if left == 0 {
                all
            } else {
                all + count(value, left)
            }
        })
    }

    /// Returns the same value, read from the expression to which it was bound.
    pub fn at(&self, place: Expr) -> Self {
        let Self::Object { base, fields, .. } = self else {
            return Self::Opaque(place);
        };
        if self.nodes(MAX_BOUND_NODES + 1) > MAX_BOUND_NODES {
            return Self::Opaque(place);
        }
        let fields = fields.iter().map(|(key, value)| {
            let short = value.written(4) < 4;
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
