//! Resolves overloads: which signature of a function takes given types, and the type of its result.

use super::{combine, literal};
use crate::builtins::{Function, Overload, Shape};
use crate::types::{Field, Rest, Type};

/// Result of overload resolution.
pub(super) enum Verdict {
    Gives(Type),
    /// The only error is that the argument at this position may be absent.
    Absent(usize),
    NoOverload,
}

/// Maximum number of type variables of one overload.
const VARIABLES: usize = 4;

/// Types bound by one call of an overload.
#[derive(Default)]
struct Bound {
    variables: [Option<Type>; VARIABLES],
    /// Types of the arguments that may be any number.
    numbers: Vec<Type>,
}

/// Returns the result of a function for arguments of these types.
pub(super) fn resolve(function: &Function, arguments: &[Type]) -> Verdict {
    if arguments.iter().any(is_reported) {
        return Verdict::Gives(fallback_result(function));
    }
    if let Some(result) = result(function, arguments) {
        return Verdict::Gives(result);
    }
    for (position, argument) in arguments.iter().enumerate() {
        if argument.is_optional() {
            let mut present = arguments.to_vec();
            if let Some(slot) = present.get_mut(position) {
                *slot = argument.without_null();
            }
            if result(function, &present).is_some() {
                return Verdict::Absent(position);
            }
        }
    }
    Verdict::NoOverload
}

/// Returns true if an error has been reported for the value, or for everything in it.
fn is_reported(ty: &Type) -> bool {
    match ty {
        Type::Invalid => true,
        Type::List(element) => is_reported(element),
        Type::Map(map) => is_reported(&map.value),
        _ => false,
    }
}

/// Returns the result if some overload takes every alternative of every argument.
fn result(function: &Function, arguments: &[Type]) -> Option<Type> {
    if let Some(result) = direct(function, arguments) {
        return Some(result);
    }
    let position = arguments
        .iter()
        .position(|argument| argument.members().len() > 1)?;
    let alternatives = arguments.get(position)?.members().to_vec();
    let mut results = Vec::new();
    for alternative in alternatives {
        let mut narrowed = arguments.to_vec();
        if let Some(slot) = narrowed.get_mut(position) {
            *slot = alternative;
        }
        results.push(result_of_alternative(function, &narrowed, position)?);
    }
    Some(Type::union(results))
}

/// Returns the result for one alternative of the union at `position`. At most one further union is split, which bounds
/// the work.
fn result_of_alternative(function: &Function, arguments: &[Type], position: usize) -> Option<Type> {
    direct(function, arguments).or_else(|| {
        let next = arguments
            .iter()
            .enumerate()
            .find(|(at, ty)| *at > position && ty.members().len() > 1)?;
        let mut results = Vec::new();
        for alternative in next.1.members() {
            let mut narrowed = arguments.to_vec();
            if let Some(slot) = narrowed.get_mut(next.0) {
                *slot = alternative.clone();
            }
            results.push(direct(function, &narrowed)?);
        }
        Some(Type::union(results))
    })
}

/// Returns the result if some overload takes the arguments as they are.
fn direct(function: &Function, arguments: &[Type]) -> Option<Type> {
    // If an argument leaves open which overload applies, the first match is not the only one.
    let unknown = arguments.iter().any(|ty| has_unknown(ty, &Type::Any));
    let nothing = arguments.iter().any(|ty| has_unknown(ty, &Type::Never));
    let mut results = Vec::new();
    for overload in function.overloads {
        let mut bound = Bound::default();
        if overload_takes(overload, arguments, &mut bound) {
            let ty = instance(&overload.result, &bound);
            if !unknown && !nothing {
                return Some(ty);
            }
            results.push(ty);
        }
    }
    if nothing && !unknown {
        // An empty list is a list of any element type, and the result stays one.
        let lists = results.len() > 1 && results.iter().all(|ty| matches!(ty, Type::List(_)));
        // And an element of an empty list is null.
        let picked = results.len() > 1 && results.iter().all(Type::is_optional);
        return match (lists, picked) {
            (true, _) => Some(Type::Never.list()),
            (false, true) => Some(Type::Null),
            (false, false) => results.into_iter().next(),
        };
    }
    (!results.is_empty()).then(|| Type::union(results))
}

/// Returns true if the element type of a list is `target`, or if a type that is not a list and `target` are both `any`.
fn has_unknown(ty: &Type, target: &Type) -> bool {
    match ty {
        Type::List(element) => *target == **element,
        other => target == other && *target == Type::Any,
    }
}

/// Returns true if some overload takes an alternative of the type as its first argument.
pub(super) fn takes_receiver(function: &Function, receiver: &Type) -> bool {
    let members = receiver.without_null();
    let takes = |overload: &Overload, ty: &Type| {
        let first = overload.parameters.first();
        first.is_some_and(|shape| takes(shape, ty, &mut Bound::default()))
    };
    members.members().iter().any(|ty| {
        let mut overloads = function.overloads.iter();
        overloads.any(|overload| takes(overload, ty))
    })
}

fn overload_takes(overload: &Overload, arguments: &[Type], bound: &mut Bound) -> bool {
    overload.parameters.len() == arguments.len()
        && overload
            .parameters
            .iter()
            .zip(arguments)
            .all(|(shape, ty)| takes(shape, ty, bound))
}

fn takes(shape: &Shape, ty: &Type, bound: &mut Bound) -> bool {
    if let Shape::Variable(number) = shape {
        // The value itself is returned, so a constant keeps its literal type.
        if let Some(slot) = bound.variables.get_mut(usize::from(*number)) {
            let known = slot.take().unwrap_or(Type::Never);
            *slot = Some(combine::common([known, ty.clone()]));
        }
        return true;
    }
    let ty = &literal::widened(ty);
    if matches!(ty, Type::Any | Type::Invalid | Type::Never) {
        return true;
    }
    if let Type::Union(members) = ty
        && !matches!(shape, Shape::Any)
    {
        return members.iter().all(|member| takes(shape, member, bound));
    }
    match shape {
        Shape::Any | Shape::Variable(_) => true,
        Shape::Null => *ty == Type::Null,
        Shape::Bool => *ty == Type::Bool,
        Shape::Int => *ty == Type::Int,
        Shape::Uint => *ty == Type::Uint,
        Shape::Double => *ty == Type::Double,
        Shape::Number => {
            bound.numbers.push(ty.clone());
            matches!(ty, Type::Int | Type::Uint | Type::Double)
        }
        Shape::String => *ty == Type::String,
        Shape::Bytes => *ty == Type::Bytes,
        Shape::Timestamp => *ty == Type::Timestamp,
        Shape::Duration => *ty == Type::Duration,
        Shape::Type => *ty == Type::Type,
        Shape::List(element) => matches!(ty, Type::List(inner) if takes(element, inner, bound)),
        Shape::Map(key, value) => match ty {
            Type::Map(map) => takes(key, &map.key, bound) && takes(value, &map.value, bound),
            Type::Object(object) => {
                let values = object.value_type();
                takes(key, &Type::String, bound)
                    && values.members().iter().all(|ty| takes(value, ty, bound))
            }
            Type::Result(_) | Type::Error => takes(key, &Type::String, bound),
            _ => false,
        },
        Shape::Entry(_) => matches!(ty, Type::Object(_) | Type::Map(_)),
        Shape::Optional(inner) => *ty == Type::Null || takes(inner, ty, bound),
    }
}

fn instance(shape: &Shape, bound: &Bound) -> Type {
    match shape {
        Shape::Any => Type::Any,
        Shape::Null => Type::Null,
        Shape::Bool => Type::Bool,
        Shape::Int => Type::Int,
        Shape::Uint => Type::Uint,
        Shape::Double => Type::Double,
        Shape::Number if bound.numbers.is_empty() => {
            Type::union([Type::Int, Type::Uint, Type::Double])
        }
        Shape::Number => Type::union(bound.numbers.iter().cloned()),
        Shape::String => Type::String,
        Shape::Bytes => Type::Bytes,
        Shape::Timestamp => Type::Timestamp,
        Shape::Duration => Type::Duration,
        Shape::Type => Type::Type,
        Shape::List(element) => instance(element, bound).list(),
        Shape::Map(key, value) => Type::Map(std::sync::Arc::new(crate::types::MapType {
            key: instance(key, bound),
            value: instance(value, bound),
        })),
        Shape::Entry(value) => {
            let field = |name: &str, ty| Field {
                name: name.into(),
                ty,
                required: true,
            };
            let fields = vec![
                field("key", Type::String),
                field("value", instance(value, bound)),
            ];
            Type::object(fields, Rest::Closed)
        }
        Shape::Optional(inner) => instance(inner, bound).optional(),
        Shape::Variable(number) => bound
            .variables
            .get(usize::from(*number))
            .cloned()
            .flatten()
            .unwrap_or(Type::Any),
    }
}

/// Returns the type of the result if an argument is already invalid: the only possible one, or invalid.
fn fallback_result(function: &Function) -> Type {
    let mut results: Vec<Type> = function
        .overloads
        .iter()
        .map(|overload| instance(&overload.result, &Bound::default()))
        .collect();
    results.dedup();
    match results.as_slice() {
        [Type::Any] => Type::Invalid,
        [one] => one.clone(),
        _ => Type::Invalid,
    }
}
