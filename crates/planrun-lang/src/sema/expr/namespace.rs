//! Checks paths that begin with a namespace: functions, types, and phrases of other languages.

use std::sync::Arc;

use super::call::{check_namespaced_call, misplaced_call};
use super::foreign::{Root, find_foreign, note_argument_reads};
use super::macros::check_bind;
use super::names::{check_binding, report_no_value};
use super::path::follow_links;
use super::walk::Absence;
use super::{Checker, Node, Op, Typed, report};
use crate::diag::foreign::{self, Shape};
use crate::sema::Lookup;
use crate::source::Span;
use crate::syntax::ast;
use crate::types::Type;
use crate::value::Value;

/// Checks a path that begins with a namespace: a function call, or an error. Returns `None` for other paths.
pub(super) fn check_namespace_path(
    checker: &mut Checker<'_>,
    base: &ast::Expr,
    links: &[ast::Link],
    span: Span,
) -> Option<Typed> {
    let ast::ExprKind::Name(name) = &base.kind else {
        return None;
    };
    if checker.env.local(name).is_some() {
        return None;
    }
    let lookup = checker.env.scope.lookup(name);
    match lookup {
        Lookup::Found(_) | Lookup::Later(_) => None,
        Lookup::Namespace => Some(
            check_tool_path(checker, base, links, span)
                .unwrap_or_else(|| report_no_value(checker, name, &lookup, base.span)),
        ),
        Lookup::Missing => check_function_path(checker, name, links, span)
            .or_else(|| type_path(name, links, span))
            .or_else(|| check_unused_namespace(checker, base, links, span))
            .or_else(|| check_foreign_path(checker, base, name, links, span)),
    }
}

/// Reports `ns.tool(…)` where a value is required, and checks the links after it.
fn check_tool_path(
    checker: &mut Checker<'_>,
    base: &ast::Expr,
    links: &[ast::Link],
    span: Span,
) -> Option<Typed> {
    let ast::ExprKind::Name(namespace) = &base.kind else {
        return None;
    };
    let (first, rest) = links.split_first()?;
    let ast::LinkKind::Call {
        name, arguments, ..
    } = &first.kind
    else {
        return None;
    };
    let call = base.span.to(first.span);
    let typed = misplaced_call(checker, Some(namespace), name, arguments, call);
    Some(follow_rest(checker, typed, rest, span))
}

/// Reports the call of a tool of the project whose namespace the file does not use.
fn check_unused_namespace(
    checker: &mut Checker<'_>,
    base: &ast::Expr,
    links: &[ast::Link],
    span: Span,
) -> Option<Typed> {
    let ast::ExprKind::Name(namespace) = &base.kind else {
        return None;
    };
    let ast::LinkKind::Call { name, .. } = &links.first()?.kind else {
        return None;
    };
    checker.callees?.find(Some(namespace), &name.text)?;
    check_tool_path(checker, base, links, span)
}

/// Checks `math.greatest(…)` and the links after it.
fn check_function_path(
    checker: &mut Checker<'_>,
    namespace: &Arc<str>,
    links: &[ast::Link],
    span: Span,
) -> Option<Typed> {
    let namespace = crate::builtins::NAMESPACES
        .iter()
        .find(|known| ***known == **namespace)?;
    let (first, rest) = links.split_first()?;
    let ast::LinkKind::Call {
        name, arguments, ..
    } = &first.kind
    else {
        return None;
    };
    let typed = if *namespace == "cel" && &*name.text == "bind" {
        check_bind(checker, arguments, span)
    } else {
        check_namespaced_call(checker, namespace, name, arguments, span)
    };
    Some(follow_rest(checker, typed, rest, span))
}

/// Follows links from a value without text: only its type is known.
fn follow_rest(checker: &mut Checker<'_>, typed: Typed, rest: &[ast::Link], span: Span) -> Typed {
    if rest.is_empty() {
        return typed;
    }
    let base = ast::Expr {
        span: typed.node.span,
        kind: ast::ExprKind::Error,
    };
    follow_links(checker, typed, &base, rest, span, Absence::Reported)
}

/// Reports `Math.max(…)` or `steps.x.name`: a path that begins with a name of another language.
fn check_foreign_path(
    checker: &mut Checker<'_>,
    base: &ast::Expr,
    root: &Arc<str>,
    links: &[ast::Link],
    span: Span,
) -> Option<Typed> {
    let (first, rest) = links.split_first()?;
    let (shape, name, arguments) = match &first.kind {
        ast::LinkKind::Call {
            name, arguments, ..
        } => (Shape::Call, name, arguments.as_slice()),
        ast::LinkKind::Field { name, .. } => (Shape::Field, name, &[][..]),
        ast::LinkKind::Index { .. } => return None,
    };
    let failed = Typed::fail(&format!("undeclared reference to `{root}`"), span);
    let whole = base.span.to(first.span);
    if let Some(remedy) = find_foreign(
        checker,
        shape,
        &Root::Named(root),
        &name.text,
        arguments,
        whole,
    ) {
        note_argument_reads(checker, arguments);
        let ty = remedy.ty.clone();
        let finding = remedy.apply(report::foreign_root(root, base.span));
        checker.report(finding);
        return Some(follow_rest(checker, Typed { ty, ..failed }, rest, span));
    }
    if foreign::CONTEXTS.contains(&&**root)
        && shape == Shape::Field
        && let Lookup::Found(binding) = checker.env.scope.lookup(&name.text)
    {
        checker.report(report::no_context(root, base.span, name));
        let typed = check_binding(checker, &name.text, &binding, name.span);
        return Some(follow_rest(checker, typed, rest, span));
    }
    if foreign::is_root(root) && !checker.trying {
        checker.report(report::foreign_root(root, base.span));
        return Some(failed);
    }
    None
}

/// Checks `google.protobuf.Timestamp` and `google.protobuf.Duration`, the CEL names of two types.
fn type_path(name: &str, links: &[ast::Link], span: Span) -> Option<Typed> {
    let mut path = name.to_owned();
    for link in links {
        let ast::LinkKind::Field { name, safe: false } = &link.kind else {
            return None;
        };
        path.push('.');
        path.push_str(&name.text);
    }
    let known = ["google.protobuf.Timestamp", "google.protobuf.Duration"].contains(&path.as_str());
    let node = Node {
        span,
        op: Op::Constant(Value::Type(path.into())),
    };
    known.then_some(Typed {
        node,
        ty: Type::Type,
    })
}
