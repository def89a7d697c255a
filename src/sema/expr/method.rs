//! Methods and macros behind a value: `x.startsWith(y)`, `xs.filter(x, …)`.

use super::call::constant_pattern;
use super::path::Walk;
use super::{Checker, LinkOp, Node, Op, Typed, macros, report};
use crate::builtins;
use crate::syntax::ast;
use crate::types::Type;

impl Checker<'_> {
    pub(super) fn method_link(&mut self, walk: &mut Walk, name: &ast::Name, arguments: &[ast::Argument]) -> LinkOp {
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
        let typed = self.arguments(arguments);
        let Some(function) = builtins::method(&name.text) else {
            self.report(report::unknown_method(name, &walk.ty));
            walk.ty = Type::Invalid;
            return LinkOp::Fail(format!("unbound function `{}`", name.text).into());
        };
        // The receiver takes part in the choice of the overload; its own node stays in front of the link.
        let receiver = Typed::new(Op::Fail("the receiver".into()), walk.ty.clone(), walk.span_before());
        let mut spans = vec![walk.span_before()];
        spans.extend(arguments.iter().map(|argument| argument.value.span));
        let mut all = vec![receiver];
        all.extend(typed);
        walk.ty = self.result(function, name, &all, &spans, true);
        let nodes: Vec<Node> = all.into_iter().skip(1).map(|typed| typed.node).collect();
        if let Some(pattern) = constant_pattern(function, nodes.first()) {
            return LinkOp::Matches(pattern);
        }
        LinkOp::Call { function, arguments: nodes }
    }
}
