//! Methods and macros behind a value: `x.startsWith(y)`, `xs.filter(x, …)`.

use super::call::constant_pattern;
use super::foreign::Root;
use super::path::Walk;
use super::{Checker, LinkOp, Node, Op, Typed, macros, report};
use crate::builtins;
use crate::diag::codes::types::NO_OVERLOAD;
use crate::diag::foreign::Shape;
use crate::diag::misspelt;
use crate::source::Span;
use crate::syntax::ast;
use crate::types::Type;

impl Checker<'_> {
    pub(super) fn method_link(
        &mut self,
        walk: &mut Walk,
        name: &ast::Name,
        arguments: &[ast::Argument],
        span: Span,
    ) -> LinkOp {
        if let Some(form) = macros::form(&name.text, arguments.len()) {
            let range = (walk.ty.clone(), walk.span_before());
            return match self.comprehension(&form, name, range, arguments) {
                Ok((comprehension, ty)) => {
                    walk.ty = ty;
                    LinkOp::Macro(Box::new(comprehension))
                }
                Err(reason) => {
                    walk.ty = Type::Invalid;
                    LinkOp::Fail(reason.into())
                }
            };
        }
        let Some(function) = builtins::method(&name.text) else {
            return self.no_method(walk, name, arguments, span);
        };
        let typed = self.arguments(arguments);
        // The receiver takes part in the choice of the overload; its own node stays in front of the link.
        let receiver = Typed::new(
            Op::Fail("the receiver".into()),
            walk.ty.clone(),
            walk.span_before(),
        );
        let mut spans = vec![walk.span_before()];
        spans.extend(arguments.iter().map(|argument| argument.value.span));
        let mut all = vec![receiver];
        all.extend(typed);
        let before = self.diagnostics.len();
        let ty = self.result(function, name, &all, &spans, true);
        if self
            .diagnostics
            .get(before)
            .is_some_and(|found| found.code == &NO_OVERLOAD)
        {
            // `contains` of a list, `join` of a text: methods that are others elsewhere.
            let refused = self.diagnostics.split_off(before);
            if let Some(link) = self.foreign_method(walk, name, arguments, span) {
                return link;
            }
            self.diagnostics.extend(refused);
        }
        walk.ty = ty;
        let nodes: Vec<Node> = all.into_iter().skip(1).map(|typed| typed.node).collect();
        if let Some(pattern) = constant_pattern(function, nodes.first()) {
            return LinkOp::Matches(pattern);
        }
        LinkOp::Call {
            function,
            arguments: nodes,
        }
    }

    /// A method that does not exist.
    fn no_method(
        &mut self,
        walk: &mut Walk,
        name: &ast::Name,
        arguments: &[ast::Argument],
        span: Span,
    ) -> LinkOp {
        if let Some(link) = self.foreign_method(walk, name, arguments, span) {
            return link;
        }
        let is_macro = misspelt(&name.text, macros::NAMES.iter().copied()).is_some();
        if is_macro || walk.ty == Type::Invalid {
            self.passed_over(arguments);
        } else {
            self.arguments(arguments);
        }
        // Nothing is known of a value that has been reported.
        if walk.ty != Type::Invalid {
            self.report(report::unknown_method(name, &walk.ty));
        }
        walk.ty = Type::Invalid;
        LinkOp::Fail(format!("unbound function `{}`", name.text).into())
    }

    /// A method of another language, with what it is here.
    fn foreign_method(
        &mut self,
        walk: &mut Walk,
        name: &ast::Name,
        arguments: &[ast::Argument],
        span: Span,
    ) -> Option<LinkOp> {
        let root = Root::Value {
            ty: &walk.ty,
            simple: walk.stands_bare(),
        };
        let said = self.foreign(
            Shape::Call,
            &root,
            &name.text,
            arguments,
            walk.span_before().to(span),
        )?;
        self.passed_over(arguments);
        let ty = said.ty.clone();
        self.report(said.of(report::unknown_method(name, &walk.ty)));
        walk.ty = ty;
        Some(LinkOp::Fail(
            format!("unbound function `{}`", name.text).into(),
        ))
    }
}
