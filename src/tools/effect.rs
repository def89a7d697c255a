//! The effect class of one call, where constant arguments say more than the tool's contract.

use super::http::method_effect;
use crate::types::{Effect, Signature};
use crate::value::Value;

/// What is known of an argument before the run.
#[derive(Clone, Copy, Debug)]
pub enum Given<'a> {
    /// The call does not name it.
    Absent,
    Constant(&'a Value),
    /// Only the run will tell.
    Dynamic,
}

/// The class of a call with these arguments: that of the tool, but for `http.fetch` that of its method.
pub fn effect_of<'a>(signature: &Signature, argument: impl Fn(&str) -> Given<'a>) -> Effect {
    if (&*signature.namespace, &*signature.name) != ("http", "fetch") {
        return signature.effect;
    }
    match argument("method") {
        Given::Absent | Given::Constant(Value::Null) => Effect::Read,
        Given::Constant(value) => value.as_str().map_or(signature.effect, method_effect),
        Given::Dynamic => signature.effect,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::http::fetch_signature;

    #[test]
    fn a_constant_method_decides() {
        let signature = fetch_signature();
        let class = |method: &str| {
            let value = Value::from(method);
            effect_of(&signature, |_| Given::Constant(&value))
        };
        assert_eq!(effect_of(&signature, |_| Given::Absent), Effect::Read);
        assert_eq!(effect_of(&signature, |_| Given::Dynamic), Effect::Effect);
        assert_eq!(class("HEAD"), Effect::Read);
        assert_eq!(class("PUT"), Effect::Idempotent);
        assert_eq!(class("POST"), Effect::Effect);
    }
}
