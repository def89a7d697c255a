//! Limits the size of types, which named types can double again and again. Counting stops at the limit.

use super::{Rest, Type};

/// Maximum number of parts of a type that can still be displayed, compared and drawn at once.
const MAX_PARTS: usize = 20_000;

impl Type {
    /// Returns true if the type has too many parts. Shared parts can make a type small in memory but too large to
    /// traverse.
    #[must_use]
    pub fn is_too_large(&self) -> bool {
        let mut left = MAX_PARTS;
        !self.fits_in(&mut left)
    }

    /// Returns this type, or [`Type::Any`] if it is too large.
    #[must_use]
    pub fn bounded(self) -> Self {
        if self.is_too_large() { Self::Any } else { self }
    }

    fn fits_in(&self, left: &mut usize) -> bool {
        let Some(rest) = left.checked_sub(1) else {
            return false;
        };
        *left = rest;
        match self {
            Self::List(inner) | Self::Result(inner) => inner.fits_in(left),
            Self::Map(map) => map.key.fits_in(left) && map.value.fits_in(left),
            Self::Object(object) => {
                object.fields.iter().all(|field| field.ty.fits_in(left))
                    && match &object.rest {
                        Rest::Closed | Rest::Open => true,
                        Rest::Typed(ty) => ty.fits_in(left),
                    }
            }
            Self::Union(members) => members.iter().all(|member| member.fits_in(left)),
            Self::Never
            | Self::Any
            | Self::Invalid
            | Self::Null
            | Self::Bool
            | Self::Int
            | Self::Uint
            | Self::Double
            | Self::String
            | Self::Bytes
            | Self::Timestamp
            | Self::Duration
            | Self::Type
            | Self::Literal(_)
            | Self::Error => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Field;

    #[test]
    fn what_doubles_is_noticed_at_once() {
        let mut ty = Type::Int;
        for _ in 0..60 {
            let field = |name: &str| Field {
                name: name.into(),
                ty: ty.clone(),
                required: true,
            };
            ty = Type::object(vec![field("x"), field("y")], Rest::Closed);
        }
        assert!(ty.is_too_large());
        assert_eq!(ty.bounded(), Type::Any);
        assert_eq!(Type::Int.list().bounded(), Type::Int.list());
    }
}
