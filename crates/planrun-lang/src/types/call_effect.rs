//! Determines the effect class of a call, which constant arguments can make more precise than the tool's contract.

use super::{Effect, Signature};
use crate::value::Value;

/// The value of an argument as far as it is known before the run.
#[derive(Clone, Debug)]
pub enum GivenArgument {
    /// The call does not pass it.
    Absent,
    /// It has one of these values.
    OneOf(Vec<Value>),
    /// Its value is known only at run time.
    Dynamic,
}

/// Returns the effect class of a call with these arguments: the class of the tool, except for `http.fetch`, where it is
/// the highest class of the methods that the call may use.
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

/// Returns the effect class of an HTTP request with this method.
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
