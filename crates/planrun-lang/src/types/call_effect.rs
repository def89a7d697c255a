//! The effect class of one call, where constant arguments say more than the tool's contract.

use super::{Effect, Signature};
use crate::value::Value;

/// What is known of an argument before the run.
#[derive(Clone, Debug)]
pub enum GivenArgument {
    /// The call does not name it.
    Absent,
    /// It is one of these.
    OneOf(Vec<Value>),
    /// Only the run will tell.
    Dynamic,
}

/// The class of a call with these arguments: that of the tool, but for `http.fetch` that of its method, or the highest of
/// those that it may have.
pub fn effect_of(signature: &Signature, argument: impl Fn(&str) -> GivenArgument) -> Effect {
    if (&*signature.namespace, &*signature.name) != ("http", "fetch") {
        return signature.effect;
    }
    match argument("method") {
        GivenArgument::Absent => Effect::Read,
        GivenArgument::OneOf(values) => {
            let classes = values.iter().map(|value| match value {
                Value::Null => Effect::Read,
                value => value.as_str().map_or(signature.effect, method_effect),
            });
            classes.max().unwrap_or(signature.effect)
        }
        GivenArgument::Dynamic => signature.effect,
    }
}

/// The class of a request with this method.
#[must_use]
pub fn method_effect(method: &str) -> Effect {
    match method {
        "GET" | "HEAD" | "OPTIONS" => Effect::Read,
        "PUT" | "DELETE" => Effect::Idempotent,
        _ => Effect::Effect,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_method_decides() {
        let signature = Signature::unknown("http".into(), "fetch".into());
        let among = |methods: &[&str]| {
            effect_of(&signature, |_| {
                GivenArgument::OneOf(methods.iter().map(|method| Value::from(*method)).collect())
            })
        };
        let class = |method: &str| among(&[method]);
        assert_eq!(
            effect_of(&signature, |_| GivenArgument::Absent),
            Effect::Read
        );
        assert_eq!(
            effect_of(&signature, |_| GivenArgument::Dynamic),
            Effect::Effect
        );
        assert_eq!(class("HEAD"), Effect::Read);
        assert_eq!(class("PUT"), Effect::Idempotent);
        assert_eq!(class("POST"), Effect::Effect);
        assert_eq!(among(&["GET", "HEAD"]), Effect::Read);
        assert_eq!(among(&["GET", "DELETE", "PUT"]), Effect::Idempotent);
    }
}
