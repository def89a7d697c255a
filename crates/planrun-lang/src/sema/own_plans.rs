//! Orders the plans of a file by their calls of each other, and rejects recursion.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::plan::Plan;
use crate::diag::{Diagnostic, closest, codes};
use crate::source::Span;
use crate::syntax::ast;

/// The plans of a file that have been checked so far, by name; `None` for those that cannot be called.
pub(super) type OwnPlans = BTreeMap<Arc<str>, Option<Arc<Plan>>>;

/// Maximum depth of calls between plans of a file.
const MAX_ROWS: usize = 32;
/// Maximum number of plans that a call may start in total, each counted as often as it is called.
const MAX_PLANS: usize = 10_000;

/// A call of another plan of the file.
struct PlanCall {
    /// Index of the called plan.
    callee: usize,
    span: Span,
    /// Whether the call is only presumed: the name is misspelled, or the place requires a value.
    presumed: bool,
}

/// The order in which plans are checked.
pub(super) struct CallOrder {
    /// Indices of plans: each plan only calls plans of earlier rows.
    pub rows: Vec<Vec<usize>>,
    /// Spans of calls that close a cycle or are nested too deep. They have been reported.
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

/// A plan whose calls have been processed.
#[derive(Clone, Copy)]
struct Done {
    /// One more than the highest row of the plans that it calls.
    row: usize,
    /// Number of plans that it starts in total, including itself.
    plans: usize,
}

/// A walk along the calls, from each plan in source order.
struct Walk<'a> {
    plans: &'a [&'a ast::Plan],
    calls: &'a [Vec<PlanCall>],
    done: Vec<Option<Done>>,
    circular: BTreeSet<Span>,
    diagnostics: &'a mut Vec<Diagnostic>,
}

impl Walk<'_> {
    /// Computes the rows of a plan and of those that it calls. It uses its own stack, since a file may have any number
    /// of plans.
    fn visit(&mut self, start: usize) {
        // Plans being visited with the index of their next call, outermost first.
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
                let cycle = open.get(first..).unwrap_or_default().to_vec();
                let (_, inner) = cycle.split_last().unwrap_or((&(0, 0), &[]));
                if !call.presumed
                    && !inner
                        .iter()
                        .any(|open| self.current_call(open).is_some_and(|call| call.presumed))
                {
                    self.report(call, &cycle);
                }
            } else if self.done(call.callee).is_none() {
                next = Some(call.callee);
            }
        }
    }

    /// Returns the call of a plan that is being followed.
    fn current_call(&self, (plan, position): &(usize, usize)) -> Option<&PlanCall> {
        self.calls.get(*plan)?.get(position.checked_sub(1)?)
    }

    fn done(&self, plan: usize) -> Option<Done> {
        self.done.get(plan).copied().flatten()
    }

    /// Computes the row of a plan whose calls are all known, and reports the calls that exceed a limit.
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
            if call.presumed {
                continue;
            }
            let message = if with.row < MAX_ROWS {
                format!("the calls of this plan start more than {MAX_PLANS} plans in total")
            } else {
                format!("plans call each other more than {MAX_ROWS} levels deep")
            };
            self.circular.insert(call.span);
            let diagnostic = codes::text::TOO_DEEP.at(call.span, message);
            self.diagnostics
                .push(diagnostic.help("call fewer plans, or merge some of them"));
        }
        if let Some(place) = self.done.get_mut(plan) {
            *place = Some(own);
        }
    }

    /// Reports a call that closes a cycle.
    fn report(&mut self, call: &PlanCall, cycle: &[(usize, usize)]) {
        self.circular.insert(call.span);
        let name = |plan: usize| self.plans.get(plan).map_or("", |plan| &plan.name.text);
        let names = cycle
            .iter()
            .map(|(plan, _)| name(*plan))
            .chain([name(call.callee)])
            .collect::<Vec<_>>();
        let message = match cycle {
            [_] => format!("`{}` calls itself", name(call.callee)),
            _ => format!("plans call each other in a cycle: {}", names.join(" → ")),
        };
        let mut diagnostic = codes::names::RECURSIVE_PLAN.at(call.span, message)
            .note("this call closes the cycle")
            .help(
                "use `repeat` for a bounded loop: a plan may not call itself, directly or through others",
            );
        let inner = cycle.split_last().map_or(&[][..], |(_, before)| before);
        for open in inner {
            if let Some(on_the_way) = self.current_call(open) {
                diagnostic = diagnostic.label(on_the_way.span, "the cycle continues here");
            }
        }
        self.diagnostics.push(diagnostic);
    }
}

/// Returns the calls of plans of the file in a body, in source order.
fn calls_of(body: &ast::Block, names: &BTreeMap<&str, usize>) -> Vec<PlanCall> {
    let mut finder = Finder {
        names,
        calls: Vec::new(),
    };
    finder.block(body);
    finder.calls
}

struct Finder<'a> {
    names: &'a BTreeMap<&'a str, usize>,
    calls: Vec<PlanCall>,
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

    fn call(&mut self, expression: &ast::Expr, presumed: bool) {
        let Some(OwnCall { name, misspelt, .. }) = own_call(expression, self.names) else {
            return;
        };
        let near = || closest(&name.text, self.names.keys().copied());
        let plan = if misspelt { near() } else { Some(&*name.text) };
        if let Some(callee) = plan.and_then(|plan| self.names.get(plan)) {
            self.calls.push(PlanCall {
                callee: *callee,
                span: expression.span,
                presumed: presumed || misspelt,
            });
        }
    }
}

/// An expression that calls a plan of the file.
pub(super) struct OwnCall<'a> {
    pub name: &'a ast::Name,
    pub arguments: &'a [ast::Argument],
    /// Whether no plan has this name.
    pub misspelt: bool,
}

/// Reads a call of a plan of the file; `None` for other expressions. Positional arguments mean a function of that name,
/// and an unknown name with only named arguments means a misspelled plan.
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
