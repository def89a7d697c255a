//! What is known of a value while the plan is made.

use planrun_lang::syntax::ast::{Expr, ExprKind};
use planrun_lang::yaml::{Content, Node};

use crate::tree;

/// A larger expression gets a name of its own, so that plans do not grow with every use.
const LARGE: usize = 10;

/// What is known of a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// There is none.
    Nothing,
    Opaque(Expr),
    /// An object with these fields, over those of `base` where there is one.
    Object {
        base: Option<Expr>,
        fields: Vec<(String, Value)>,
        /// The name under which the plan has it already.
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

    /// Whether the field is surely there or surely not; `None` where only a run can tell.
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

    /// The same with another value at a path of keys.
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

    /// Whether it should get a name before it is used.
    pub fn is_large(&self) -> bool {
        tree::size(&self.expr(), LARGE + 1) > LARGE
    }

    /// The same value, read from a name that it has got.
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

/// What has the fields of a value that an empty object stands in for where it is missing.
fn holder(value: &Expr) -> &Expr {
    match &value.kind {
        ExprKind::Coalesce(parts) => match parts.as_slice() {
            [first, last] if last.kind == ExprKind::Object(Vec::new()) => first,
            _ => value,
        },
        _ => value,
    }
}
