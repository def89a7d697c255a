//! The inputs of a plan: the fields that it reads of its input, or the input as a whole.

use std::collections::BTreeMap;

use planrun_lang::source::Span;
use planrun_lang::syntax::ast::{Expr, ExprKind, File, ItemKind, LinkKind, Parameter};

use super::certain;
use crate::document::Refused;
use crate::draft::{Draft, expressions, parameter};
use crate::expression::value::Value;
use crate::tree;

/// The name of the parameter for the whole input.
pub const INPUT: &str = "input";

/// How to treat a field that is read on some paths only, or where it may be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// Use the input as a whole.
    Whole,
    /// Make the field an optional input.
    Optional,
}

/// The inputs of a plan: each field with whether it is optional; `None` for a single input with the whole value.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    fields: Option<BTreeMap<String, bool>>,
}

impl Inputs {
    /// Returns the input of the plan as a value.
    pub fn value(&self) -> Value {
        let Some(fields) = &self.fields else {
            return Value::Opaque(tree::variable(INPUT));
        };
        let fields = fields
            .keys()
            .map(|field| (field.clone(), Value::Opaque(tree::variable(field))));
        Value::object(fields.collect())
    }

    pub fn parameters(&self) -> Vec<Parameter> {
        match &self.fields {
            None => vec![parameter(INPUT, false)],
            Some(fields) => {
                let fields = fields.iter();
                fields
                    .map(|(field, optional)| parameter(field, *optional))
                    .collect()
            }
        }
    }
}

/// Builds a plan: first with its input as a whole, and again with the fields that it reads if it reads nothing else
/// of the input.
pub fn inputs_of<'t>(
    draft: &mut Draft<'t>,
    span: Span,
    what: &str,
    missing: Missing,
    mut attempt: impl FnMut(&mut Draft<'t>, &Inputs) -> Result<File, Refused>,
) -> Result<File, Refused> {
    draft.reserve(INPUT);
    let file = attempt(draft, &Inputs::default())?;
    let Some(fields) = read_fields(&file, draft, missing) else {
        draft.changed(span, what, "is the input `input` of the plan");
        return Ok(file);
    };
    *draft = Draft::new(draft.catalog());
    draft.reserve(INPUT);
    for field in fields.keys() {
        draft.reserve(field);
    }
    let is_read = !fields.is_empty();
    let fields = Some(fields);
    let file = attempt(draft, &Inputs { fields })?;
    if is_read {
        let why = "the fields that the plan reads are inputs of the plan";
        draft.changed(span, what, why);
    }
    Ok(file)
}

/// Returns the input fields that a plan reads, each with whether it is optional; `None` if the plan reads the input
/// as a whole, or a field that cannot be a parameter.
fn read_fields(file: &File, draft: &Draft<'_>, missing: Missing) -> Option<BTreeMap<String, bool>> {
    let mut reads = Reads {
        fields: BTreeMap::new(),
        is_whole: false,
        missing,
    };
    for item in &file.items {
        if let ItemKind::Plan(plan) = &item.kind {
            expressions(&plan.body, &mut |one| reads.visit(one));
            let certain = certain::fields(&plan.body.statements);
            for (field, optional) in &mut reads.fields {
                *optional |= !certain.contains(field);
            }
        }
    }
    reads.is_whole |= missing == Missing::Whole && reads.fields.values().any(|optional| *optional);
    let can_be = |field: &String| tree::is_word(field) && draft.can_be_named(field);
    (!reads.is_whole && reads.fields.keys().all(can_be)).then_some(reads.fields)
}

struct Reads {
    fields: BTreeMap<String, bool>,
    is_whole: bool,
    missing: Missing,
}

impl Reads {
    fn visit(&mut self, expression: &Expr) {
        match &expression.kind {
            ExprKind::Name(name) if &**name == INPUT => self.is_whole = true,
            ExprKind::Coalesce(parts) if parts.iter().any(is_of_input) => {
                if let Some((last, lenient)) = parts.split_last() {
                    for part in lenient {
                        self.visit_optional(part);
                    }
                    self.visit(last);
                }
            }
            ExprKind::Call {
                function,
                arguments,
            } if &*function.text == "has" => {
                for argument in arguments {
                    self.visit_optional(&argument.value);
                }
            }
            ExprKind::Path { base, .. } if base.kind == ExprKind::Name(INPUT.into()) => {
                self.path(expression, false);
            }
            _ => expression.parts(&mut |part| self.visit(part)),
        }
    }

    /// Visits an expression whose value may be missing.
    fn visit_optional(&mut self, expression: &Expr) {
        match (is_of_input(expression), self.missing) {
            (true, Missing::Whole) => self.is_whole = true,
            (true, Missing::Optional) => self.path(expression, true),
            (false, _) => self.visit(expression),
        }
    }

    /// Visits a path into the input.
    fn path(&mut self, path: &Expr, may_be_missing: bool) {
        match field_of_input(path) {
            Some(field) => {
                let optional = self.fields.entry(field.to_owned()).or_insert(true);
                *optional &= may_be_missing;
            }
            None => self.is_whole = true,
        }
        // The links may contain expressions; the base was already handled.
        let mut is_base = true;
        path.parts(&mut |part| {
            if !std::mem::take(&mut is_base) {
                self.visit(part);
            }
        });
    }
}

/// Returns true if it is a path into the input.
fn is_of_input(expression: &Expr) -> bool {
    matches!(&expression.kind, ExprKind::Path { base, .. } if base.kind == ExprKind::Name(INPUT.into()))
}

/// Returns the field of the input at which a path begins.
pub fn field_of_input(path: &Expr) -> Option<&str> {
    let ExprKind::Path { links, .. } = &path.kind else {
        return None;
    };
    match &links.first()?.kind {
        LinkKind::Field { name, safe: false } if is_of_input(path) => Some(&name.text),
        _ => None,
    }
}
