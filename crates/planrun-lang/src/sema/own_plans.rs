//! Plans of a file that call each other by their names: in which order they are checked, and that none calls itself.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::plan::Plan;
use crate::diag::{Diagnostic, closest, codes};
use crate::source::Span;
use crate::syntax::ast;

/// The plans of a file that have been checked so far, by name; nothing for those that cannot be called.
pub(super) type OwnPlans = BTreeMap<Arc<str>, Option<Arc<Plan>>>;

/// How deep plans of a file may call each other.
const MAX_ROWS: usize = 32;
/// How many plans a call may start in all, each counted as often as it is called.
const MAX_PLANS: usize = 10_000;

/// A call of another plan of the file.
struct Onward {
    /// The index of the plan that is called.
    callee: usize,
    span: Span,
    /// Whether a call is only meant: the name is misspelt, or a value is wanted at its place.
    meant: bool,
}

/// Which plans are checked after which.
pub(super) struct CallOrder {
    /// Indices of plans: each calls only plans of rows before its own.
    pub rows: Vec<Vec<usize>>,
    /// The places of calls that lead back to the plan in which they stand, or too deep. They have been reported.
    pub circular: BTreeSet<Span>,
}

impl CallOrder {
    pub(super) fn of(plans: &[&ast::Plan], diagnostics: &mut Vec<Diagnostic>) -> Self {
        let names = (0..)
            .zip(plans)
            .map(|(index, plan)| (&*plan.name.text, index))
            .collect::<BTreeMap<_, _>>();
        let calls = plans
            .iter()
            .map(|plan| calls_of(&plan.body, &names))
            .collect::<Vec<_>>();
        let mut walk = Walk {
            plans,
            calls: &calls,
            done: vec![None; plans.len()],
            circular: BTreeSet::new(),
            diagnostics,
        };
        for index in 0..plans.len() {
            walk.visit(index);
        }
        let mut rows: Vec<Vec<usize>> = Vec::new();
        for (index, done) in walk.done.iter().enumerate() {
            let row = done.map_or(0, |done| done.row);
            rows.resize_with(rows.len().max(row + 1), Vec::new);
            if let Some(row) = rows.get_mut(row) {
                row.push(index);
            }
        }
        Self {
            rows,
            circular: walk.circular,
        }
    }
}

/// A plan whose calls are known.
#[derive(Clone, Copy)]
struct Done {
    /// One more than the highest of the plans that it calls.
    row: usize,
    /// How many plans it starts in all, itself included.
    plans: usize,
}

/// A walk along the calls, from each plan in source order.
struct Walk<'a> {
    plans: &'a [&'a ast::Plan],
    calls: &'a [Vec<Onward>],
    done: Vec<Option<Done>>,
    circular: BTreeSet<Span>,
    diagnostics: &'a mut Vec<Diagnostic>,
}

impl Walk<'_> {
    /// Finds the rows of a plan and of those that it calls. A stack of its own: a file may have any number of plans.
    fn visit(&mut self, start: usize) {
        // Plans under way with the number of the call that is looked at, outermost first.
        let mut open: Vec<(usize, usize)> = Vec::new();
        let mut next = Some(start).filter(|start| self.done(*start).is_none());
        loop {
            if let Some(plan) = next.take() {
                open.push((plan, 0));
            }
            let Some((plan, position)) = open.last_mut() else {
                return;
            };
            let Some(call) = self.calls.get(*plan).and_then(|calls| calls.get(*position)) else {
                let plan = *plan;
                self.finish(plan);
                open.pop();
                continue;
            };
            *position += 1;
            if let Some(first) = open.iter().position(|(plan, _)| *plan == call.callee) {
                let circle = open.get(first..).unwrap_or_default().to_vec();
                let (_, inner) = circle.split_last().unwrap_or((&(0, 0), &[]));
                if !call.meant
                    && !inner
                        .iter()
                        .any(|open| self.under_way(open).is_some_and(|call| call.meant))
                {
                    self.report(call, &circle);
                }
            } else if self.done(call.callee).is_none() {
                next = Some(call.callee);
            }
        }
    }

    /// The call that is followed from a plan.
    fn under_way(&self, (plan, position): &(usize, usize)) -> Option<&Onward> {
        self.calls.get(*plan)?.get(position.checked_sub(1)?)
    }

    fn done(&self, plan: usize) -> Option<Done> {
        self.done.get(plan).copied().flatten()
    }

    /// Everything that a plan calls is known: what that comes to. The calls that make it too much are reported.
    fn finish(&mut self, plan: usize) {
        let mut own = Done { row: 0, plans: 1 };
        for call in self.calls.get(plan).map_or(&[][..], Vec::as_slice) {
            let Some(callee) = self.done(call.callee) else {
                continue;
            };
            let with = Done {
                row: own.row.max(callee.row + 1),
                plans: own.plans.saturating_add(callee.plans),
            };
            if with.row < MAX_ROWS && with.plans <= MAX_PLANS {
                own = with;
                continue;
            }
            if call.meant {
                continue;
            }
            let message = if with.row < MAX_ROWS {
                format!("the calls of this plan start more than {MAX_PLANS} plans in all")
            } else {
                format!("plans call each other more than {MAX_ROWS} levels deep")
            };
            self.circular.insert(call.span);
            let diagnostic = Diagnostic::new(&codes::text::TOO_DEEP, call.span, message);
            self.diagnostics.push(
                diagnostic
                    .help("call fewer plans from plans, or let one of them do more by itself"),
            );
        }
        if let Some(place) = self.done.get_mut(plan) {
            *place = Some(own);
        }
    }

    /// A call that leads back to a plan under way.
    fn report(&mut self, call: &Onward, circle: &[(usize, usize)]) {
        self.circular.insert(call.span);
        let name = |plan: usize| self.plans.get(plan).map_or("", |plan| &plan.name.text);
        let names = circle
            .iter()
            .map(|(plan, _)| name(*plan))
            .chain([name(call.callee)])
            .collect::<Vec<_>>();
        let message = match circle {
            [_] => format!("`{}` calls itself", name(call.callee)),
            _ => format!("plans call each other in a circle: {}", names.join(" → ")),
        };
        let mut diagnostic = Diagnostic::new(&codes::names::RECURSIVE_PLAN, call.span, message)
            .note("this call closes the circle")
            .help(
                "a plan may not call itself, not even by way of others; `repeat` goes round a bounded number of times",
            );
        let inner = circle.split_last().map_or(&[][..], |(_, before)| before);
        for open in inner {
            if let Some(on_the_way) = self.under_way(open) {
                diagnostic = diagnostic.label(on_the_way.span, "it goes on from here");
            }
        }
        self.diagnostics.push(diagnostic);
    }
}

/// The calls of plans of the file in a body, in source order.
fn calls_of(body: &ast::Block, names: &BTreeMap<&str, usize>) -> Vec<Onward> {
    let mut finder = Finder {
        names,
        calls: Vec::new(),
    };
    finder.block(body);
    finder.calls
}

struct Finder<'a> {
    names: &'a BTreeMap<&'a str, usize>,
    calls: Vec<Onward>,
}

impl Finder<'_> {
    fn block(&mut self, block: &ast::Block) {
        for statement in &block.statements {
            if let ast::StatementKind::Let { value, .. } = &statement.kind {
                self.call(value, true);
            }
            statement.inner(&mut |inner| match inner {
                ast::Inner::Block(block) => self.block(block),
                ast::Inner::Call(call) => self.call(call, false),
            });
        }
    }

    fn call(&mut self, expression: &ast::Expr, meant: bool) {
        let Some(OwnCall { name, misspelt, .. }) = own_call(expression, self.names) else {
            return;
        };
        let near = || closest(&name.text, self.names.keys().copied());
        let plan = if misspelt { near() } else { Some(&*name.text) };
        if let Some(callee) = plan.and_then(|plan| self.names.get(plan)) {
            self.calls.push(Onward {
                callee: *callee,
                span: expression.span,
                meant: meant || misspelt,
            });
        }
    }
}

/// An expression that calls a plan of the file.
pub(super) struct OwnCall<'a> {
    pub name: &'a ast::Name,
    pub arguments: &'a [ast::Argument],
    /// Whether there is no plan of this name.
    pub misspelt: bool,
}

/// Reads a call of a plan of the file. A function of that name is meant where values are given by their place, and a plan
/// whose name is misspelt where all arguments have names.
pub(super) fn own_call<'a, K: Borrow<str> + Ord, T>(
    expression: &'a ast::Expr,
    plans: &BTreeMap<K, T>,
) -> Option<OwnCall<'a>> {
    let ast::ExprKind::Call {
        function: name,
        arguments,
    } = &expression.kind
    else {
        return None;
    };
    let by_place = arguments.iter().any(|argument| argument.name.is_none());
    let is_function = crate::builtins::global(&name.text).is_some();
    let misspelt = !plans.contains_key(&*name.text);
    let is_call = if misspelt {
        !arguments.is_empty() && !by_place && !is_function
    } else {
        !(by_place && is_function)
    };
    is_call.then_some(OwnCall {
        name,
        arguments,
        misspelt,
    })
}
