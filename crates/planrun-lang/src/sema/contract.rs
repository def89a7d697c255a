//! Checks calls against the JSON Schema of their tool's arguments, as far as the arguments are known before the run.

use std::sync::Arc;

use super::checker::PlanChecker;
use super::expr::{Code, MapKey, Node, Op};
use crate::diag::{Diagnostic, codes};
use crate::source::Span;
use crate::syntax::ast;
use crate::types::{Known, KnownField, Signature, Type, Verdict, Violation, encode, placed_field};
use crate::value::Key;

/// A checked call of a tool.
pub(super) struct Given<'a> {
    pub signature: &'a Signature,
    pub written: &'a [ast::Argument],
    pub arguments: &'a [(Arc<str>, Code)],
    /// Span of the tool's name.
    pub span: Span,
}

/// Reports arguments that break the contract in every run. Returns true if only the run can check them.
pub(super) fn check_contract(checker: &mut PlanChecker<'_>, given: &Given<'_>) -> bool {
    let Some(contract) = &given.signature.input_schema else {
        return false;
    };
    if given.arguments.iter().any(|(_, code)| code.is_invalid()) {
        return false;
    }
    let known = arguments(given);
    match contract.judge(&known) {
        Verdict::Fits => false,
        Verdict::Unknown => true,
        Verdict::Cannot(violation) => {
            let constant = known.exactly().is_some();
            checker.report(broken(given, violation, constant));
            false
        }
    }
}

fn broken(given: &Given<'_>, violation: Violation, constant: bool) -> Diagnostic {
    let path = given.signature.path();
    let part = violation
        .pointer
        .trim_start_matches('/')
        .split('/')
        .next()
        .unwrap_or_default();
    let name = part.replace("~1", "/").replace("~0", "~");
    let argument = given.written.iter().find(|argument| {
        !name.is_empty() && argument.name.as_ref().is_some_and(|own| *own.text == *name)
    });
    let help = if constant {
        "change the value to one that the contract allows"
    } else {
        "change the argument: no value that it can have satisfies the contract"
    };
    let code = &codes::types::SCHEMA_VIOLATION;
    if let Some(argument) = argument {
        let rest = violation
            .pointer
            .get(part.len() + 1..)
            .unwrap_or_default()
            .to_owned();
        let violation = Violation {
            pointer: rest,
            ..violation
        };
        let message =
            format!("the argument `{name}` of `{path}` breaks the tool's contract: {violation}");
        Diagnostic::new(code, argument.value.span, message).help(help)
    } else {
        let message =
            format!("the arguments of `{path}` break the tool's contract: the call {violation}");
        Diagnostic::new(code, given.span, message).help(help)
    }
}

/// Returns all arguments as the tool receives them.
fn arguments(given: &Given<'_>) -> Known {
    let signature = given.signature;
    let mut fields: Vec<KnownField> = Vec::with_capacity(given.arguments.len());
    for (name, code) in given.arguments {
        let field = KnownField {
            name: name.clone(),
            value: known(&code.root, &code.ty),
            sure: true,
        };
        fields.extend(match signature.parameter(name) {
            Some(parameter) => placed_field(field, &parameter.ty, parameter.required),
            None => Some(field),
        });
    }
    for parameter in &signature.parameters {
        let Some(default) = &parameter.default else {
            continue;
        };
        let default = Known::Exactly(encode(default, &parameter.ty));
        match fields.iter_mut().find(|field| field.name == parameter.name) {
            Some(field) if field.sure => {}
            Some(field) => {
                let given = std::mem::replace(&mut field.value, Known::Of(Type::Any));
                field.value = Known::Either(vec![given, default]);
                field.sure = true;
            }
            None => fields.push(KnownField {
                name: parameter.name.clone(),
                value: default,
                sure: true,
            }),
        }
    }
    if let Some(name) = &signature.key_argument
        && fields.iter().all(|field| field.name != *name)
    {
        fields.push(KnownField {
            name: name.clone(),
            value: Known::Of(Type::String),
            sure: true,
        });
    }
    Known::closed(fields)
}

/// Returns what is known of the value of an expression with this type.
fn known(node: &Node, ty: &Type) -> Known {
    match &node.op {
        Op::Constant(value) => Known::Exactly(value.to_json()),
        Op::List(elements) => {
            Known::List(elements.iter().map(|(one, ty)| known(one, ty)).collect())
        }
        Op::Map(entries) => object(entries, ty).unwrap_or_else(|| Known::Of(ty.clone())),
        Op::Conditional { arms, otherwise } => {
            let results = arms.iter().map(|(_, result)| result).chain([&**otherwise]);
            Known::Either(results.map(|result| known(result, ty)).collect())
        }
        Op::Match { arms, .. } => {
            Known::Either(arms.iter().map(|(_, result)| known(result, ty)).collect())
        }
        Op::Template(_) => Known::Of(Type::String),
        Op::Place(_)
        | Op::Register(_)
        | Op::Path { .. }
        | Op::Not(_)
        | Op::Negate(_)
        | Op::And(_)
        | Op::Or(_)
        | Op::Chain { .. }
        | Op::Coalesce(_)
        | Op::Call { .. }
        | Op::Matches { .. }
        | Op::Has(_)
        | Op::Let { .. }
        | Op::Is { .. }
        | Op::Winner(_)
        | Op::Fail(_) => Known::Of(ty.clone()),
    }
}

/// Returns the fields of an object literal; `None` if a key is computed.
fn object(entries: &[(MapKey, Node)], ty: &Type) -> Option<Known> {
    let mut fields: Vec<KnownField> = Vec::with_capacity(entries.len());
    let ty = written_as(entries, ty);
    for (key, node) in entries {
        let MapKey::Constant(Key::String(name)) = key else {
            return None;
        };
        let ty = match ty {
            Type::Object(object) => object.field(name).map_or(&Type::Any, |field| &field.ty),
            _ => &Type::Any,
        };
        fields.retain(|field| field.name != *name);
        fields.push(KnownField {
            name: name.clone(),
            value: known(node, ty),
            sure: true,
        });
    }
    Some(Known::closed(fields))
}

/// Returns the alternative of a type that has exactly the written fields; the whole type unless there is exactly one.
fn written_as<'t>(entries: &[(MapKey, Node)], ty: &'t Type) -> &'t Type {
    let same = |member: &&Type| match member {
        Type::Object(object) => {
            let declared = |key: &MapKey| matches!(key, MapKey::Constant(Key::String(name)) if object.field(name).is_some());
            object.fields.len() == entries.len() && entries.iter().all(|(key, _)| declared(key))
        }
        _ => false,
    };
    let mut fitting = ty.members().iter().filter(same);
    match (fitting.next(), fitting.next()) {
        (Some(one), None) => one,
        _ => ty,
    }
}
