//! Checks calls against the JSON Schema of their tool's arguments, as far as the arguments are known before the run.

use std::sync::Arc;

use super::checker::PlanChecker;
use super::expr::{CheckedExpr, MapKey, Node, Op};
use crate::diag::{Diagnostic, codes};
use crate::source::Span;
use crate::types::{Known, KnownField, Signature, Type, Verdict, Violation, encode, placed_field};
use crate::value::{Key, Value};

/// The arguments of a call of a tool.
pub struct CallArguments<'a> {
    pub signature: &'a Signature,
    pub arguments: &'a [(Arc<str>, CheckedExpr)],
    /// Span to report what concerns no single argument.
    pub span: Span,
}

/// Arguments that break the contract of a tool in every run.
pub struct Broken {
    pub message: String,
    pub span: Span,
    /// Whether all arguments are known, so that others may satisfy the contract.
    constant: bool,
}

impl Broken {
    fn into_diagnostic(self) -> Diagnostic {
        let help = if self.constant {
            "change the value to one that the contract allows"
        } else {
            "change the argument: no value that it can have satisfies the contract"
        };
        codes::types::SCHEMA_VIOLATION
            .at(self.span, self.message)
            .help(help)
    }
}

/// Reports arguments that break the contract in every run. Returns true if only the run can check them.
pub(super) fn check_contract(checker: &mut PlanChecker<'_>, given: &CallArguments<'_>) -> bool {
    match given.judge(&mut |_| None) {
        Ok(certain) => !certain,
        Err(broken) => {
            checker.report(broken.into_diagnostic());
            false
        }
    }
}

impl CallArguments<'_> {
    /// Compares the arguments with the contract; `value` returns the values of those that are known. Returns whether they
    /// certainly satisfy it.
    ///
    /// # Errors
    ///
    /// Returns the violation if the value breaks the contract in every run.
    pub fn judge(
        &self,
        value: &mut dyn FnMut(&CheckedExpr) -> Option<Value>,
    ) -> Result<bool, Broken> {
        let Some(contract) = &self.signature.input_schema else {
            return Ok(true);
        };
        if self.arguments.iter().any(|(_, code)| code.is_invalid()) {
            return Ok(true);
        }
        let known = self.known(value);
        match contract.judge(&known) {
            Verdict::Fits => Ok(true),
            Verdict::Unknown => Ok(false),
            Verdict::Cannot(violation) => Err(self.broken(violation, known.exactly().is_some())),
        }
    }

    fn broken(&self, violation: Violation, constant: bool) -> Broken {
        let path = self.signature.path();
        let pointer = violation.pointer.trim_start_matches('/');
        let part = pointer.split('/').next().unwrap_or_default();
        let name = part.replace("~1", "/").replace("~0", "~");
        let mut arguments = self.arguments.iter();
        let argument = arguments.find(|(own, _)| !name.is_empty() && **own == *name);
        let (message, span) = if let Some((_, code)) = argument {
            let rest = violation.pointer.get(part.len() + 1..);
            let violation = Violation {
                pointer: rest.unwrap_or_default().to_owned(),
                ..violation
            };
            let argument = format!("the argument `{name}` of `{path}`");
            let message = format!("{argument} breaks the tool's contract: {violation}");
            (message, code.span)
        } else {
            let call = format!("the arguments of `{path}`");
            let message = format!("{call} break the tool's contract: the call {violation}");
            (message, self.span)
        };
        Broken {
            message,
            span,
            constant,
        }
    }

    /// Returns what is known of all arguments as the tool receives them.
    fn known(&self, value: &mut dyn FnMut(&CheckedExpr) -> Option<Value>) -> Known {
        let signature = self.signature;
        let mut fields: Vec<KnownField> = Vec::with_capacity(self.arguments.len());
        for (name, code) in self.arguments {
            let given = match value(code) {
                Some(value) => Known::Exactly(value.to_json()),
                None => known(&code.root, &code.ty),
            };
            let field = KnownField {
                name: name.clone(),
                value: given,
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
