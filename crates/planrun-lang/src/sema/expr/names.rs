//! Checks names, and reports the ones that cannot be resolved.

use std::sync::Arc;

use super::foreign::{Root, find_foreign};
use super::{Checker, Op, Read, ReadKind, StateTest, Typed, report};
use crate::diag::foreign::{self, Shape};
use crate::protocol::StepState;
use crate::sema::{Binding, Lookup, NameKind};
use crate::source::Span;
use crate::syntax::{ast, canonical_name};
use crate::types::{Type, field_names};
use crate::value::Value;

/// Names of types, which are values unless another name hides them.
const TYPE_NAMES: &[&str] = &[
    "bool",
    "bytes",
    "double",
    "duration",
    "int",
    "list",
    "map",
    "null_type",
    "string",
    "timestamp",
    "type",
    "uint",
];

impl Checker<'_> {
    /// Records that the expression reads a name.
    fn read(&mut self, name: &Arc<str>, binding: &Binding, kind: ReadKind, span: Span) {
        if self
            .reads
            .iter()
            .any(|read| read.place == binding.place && read.kind == kind)
        {
            return;
        }
        self.reads.push(Read {
            place: binding.place,
            kind,
            binding: binding.kind,
            name: name.clone(),
            span,
        });
    }
}

pub(super) fn check_name(checker: &mut Checker<'_>, name: &Arc<str>, span: Span) -> Typed {
    if let Some(local) = checker.env.local(name) {
        let (register, ty) = (local.register, local.ty.clone());
        return Typed::new(Op::Register(register), checker.env.seen(name, ty), span);
    }
    match checker.env.scope.lookup(name) {
        Lookup::Found(binding) => check_binding(checker, name, &binding, span),
        Lookup::Missing if TYPE_NAMES.contains(&&**name) => Typed::new(
            Op::Constant(Value::Type(type_name(name).into())),
            Type::Type,
            span,
        ),
        lookup => report_no_value(checker, name, &lookup, span),
    }
}

pub(super) fn check_binding(
    checker: &mut Checker<'_>,
    name: &Arc<str>,
    binding: &Binding,
    span: Span,
) -> Typed {
    if binding.kind == NameKind::Plan {
        checker.report(report::plan_as_value(name, span));
        return Typed::fail("the plan itself is not a value", span);
    }
    checker.read(name, binding, ReadKind::Value, span);
    let (ty, open) = checker.env.given(binding);
    let ty = if open { ty.optional() } else { ty };
    Typed::new(Op::Place(binding.place), checker.env.seen(name, ty), span)
}

/// Reports a name that cannot be read here.
pub(super) fn report_no_value(
    checker: &mut Checker<'_>,
    name: &str,
    lookup: &Lookup,
    span: Span,
) -> Typed {
    if matches!(lookup, Lookup::Missing)
        && let Some(remedy) = find_foreign(checker, Shape::Name, &Root::Nothing, name, &[], span)
    {
        let ty = remedy.ty.clone();
        checker.report(remedy.apply(report::unknown_name(name, span, &[])));
        return Typed {
            ty,
            ..Typed::fail(&format!("undeclared reference to `{name}`"), span)
        };
    }
    let diagnostic = match lookup {
        Lookup::Later(definition) => report::later(name, span, *definition),
        Lookup::Namespace => report::namespace_as_value(name, span),
        Lookup::Missing | Lookup::Found(_) => {
            let locals = checker.env.locals.iter().map(|local| local.name.clone());
            let mut names: Vec<Arc<str>> = locals.chain(checker.env.scope.visible()).collect();
            names.sort();
            names.dedup();
            report::unknown_name(name, span, &names)
        }
    };
    checker.report(diagnostic);
    Typed::fail(&format!("undeclared reference to `{name}`"), span)
}

/// Checks `x is failed`.
pub(super) fn check_is_state(
    checker: &mut Checker<'_>,
    subject: &ast::Expr,
    state: &ast::Name,
    span: Span,
) -> Typed {
    let test = match &*state.text {
        "settled" => Some(StateTest::Settled),
        word => StepState::find(word).map(StateTest::State),
    };
    if test.is_none() && foreign::is_null(&state.text) {
        checker.expression(subject);
        checker.report(report::is_null(subject.span, state.span));
        return Typed {
            ty: Type::Bool,
            ..Typed::fail("`is` does not test for null", span)
        };
    }
    let ast::ExprKind::Name(name) = &subject.kind else {
        checker.report(report::state_of_no_step(subject.span));
        return Typed::fail("only a step has a state", span);
    };
    if let Some(ty) = checker.env.local(name).map(|local| local.ty.clone()) {
        let finding = report::state_of_no_step(subject.span);
        checker.report(match ty {
            Type::Result(_) => {
                finding.help(format!("use `{name}.ok` to test whether it succeeded"))
            }
            _ => finding,
        });
        return Typed {
            ty: Type::Bool,
            ..Typed::fail("only a step has a state", span)
        };
    }
    match checker.env.scope.lookup(name) {
        Lookup::Found(binding) if binding.kind == NameKind::Step => {
            checker.read(name, &binding, ReadKind::State, subject.span);
            if test.is_none() {
                checker.report(report::unknown_status(state));
            }
            let none = || Op::Fail("there is no such state".into());
            let place = binding.place;
            Typed::new(
                test.map_or_else(none, |test| Op::Is { place, test }),
                Type::Bool,
                span,
            )
        }
        Lookup::Found(binding) if binding.kind == NameKind::Task => {
            report_status_of_task(checker, name, &binding, span)
        }
        Lookup::Found(_) => {
            checker.report(report::state_of_no_step(subject.span));
            Typed::fail("only a step has a state", span)
        }
        lookup => report_no_value(checker, name, &lookup, subject.span),
    }
}

fn report_status_of_task(
    checker: &mut Checker<'_>,
    name: &str,
    binding: &Binding,
    span: Span,
) -> Typed {
    let (context, _) = checker.env.given(binding);
    checker.report(report::status_of_task(name, &field_names(&context), span));
    Typed {
        ty: Type::Bool,
        ..Typed::fail("the status of a task is not a value", span)
    }
}

pub(super) fn check_signal(checker: &mut Checker<'_>, name: &ast::Text, span: Span) -> Typed {
    checker.report(report::misplaced_signal(&name.text, span));
    Typed::fail("a signal is not a value", span)
}

/// Checks `winner(x)`, the branch of a race that succeeded first.
pub(super) fn check_winner(
    checker: &mut Checker<'_>,
    arguments: &[ast::Argument],
    span: Span,
) -> Typed {
    if let [
        ast::Argument {
            value:
                ast::Expr {
                    kind: ast::ExprKind::Name(name),
                    span: place,
                },
            ..
        },
    ] = arguments
    {
        match checker.env.scope.lookup(name) {
            Lookup::Found(binding) => {
                if let Some(winner) = checker.env.winner_type(&binding) {
                    checker.read(name, &binding, ReadKind::Value, *place);
                    let there = !checker.env.given(&binding).1
                        || checker.env.is_present(&canonical_name(name), true);
                    let ty = if there { winner } else { winner.optional() };
                    return Typed::new(Op::Winner(binding.place), ty, span);
                }
            }
            lookup => return report_no_value(checker, name, &lookup, *place),
        }
    }
    checker.report(report::winner_of_no_race(span));
    Typed::fail("`winner` names the branch of a race", span)
}

/// Returns the name that `type(x)` gives for values of this type.
fn type_name(name: &str) -> &str {
    match name {
        "timestamp" => "google.protobuf.Timestamp",
        "duration" => "google.protobuf.Duration",
        other => other,
    }
}
