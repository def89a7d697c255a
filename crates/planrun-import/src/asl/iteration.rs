//! `Map` and `Parallel`: machines inside a state.

use planrun_lang::syntax::ast::{BinaryOp, Block, Expr, Statement, StatementKind, StepBody};

use super::fields::report_machine;
use super::flow::{At, Translator, demand};
use super::machine::{Machine, State};
use super::task::Run;
use crate::control_flow::{Continued, Element, Flow, Region, Walk as _};
use crate::document::Refused;
use crate::draft::{Draft, expressions};
use crate::expression::quote::plan;
use crate::expression::reads;
use crate::expression::value::Value;
use crate::tree;

/// The most elements of a list; every loop of a plan has a bound.
const MAX_ELEMENTS: i64 = 10_000;
/// The concurrency of a loop whose machine sets no limit.
const PARALLEL: i64 = 40;

impl Translator<'_, '_> {
    pub fn map<'d>(&mut self, at: At<'_, 'd>, out: &mut Vec<Statement>) -> Continued<'d> {
        let At { state, flow, .. } = at;
        let processor = state.get("ItemProcessor").or(state.get("Iterator"));
        let Some(processor) = processor else {
            return Err(Refused::new(
                state.entry.span,
                format!("the `Map` state `{}` has no `ItemProcessor`", state.name),
                "add an `ItemProcessor`",
            ));
        };
        let inner = Machine::read(processor, state.is_jsonata)?;
        report_machine(processor, &inner, true, self.draft);
        let input = self.through(state, "InputPath", flow.value.clone(), flow);
        let list = self.items(state, &input, flow);
        let (element, index) = (self.draft.name("item"), self.draft.name("number"));
        let within = Element {
            value: tree::variable(&element),
            index: tree::variable(&index),
        };
        let body = self.of_element(state, &inner, within, input, flow)?;
        let mut is_read = false;
        expressions(&body, &mut |one| is_read |= reads(one, &index));
        let what = format!("the list of state `{}`", state.name);
        let why =
            format!("may have at most {MAX_ELEMENTS} elements: every loop of a plan has a bound");
        self.draft.changed(state.entry.span, what, why);
        report_retry(state, self.draft);
        let tolerances = self.tolerances(state, flow, out);
        let name = self.draft.name_of(state.name, state.entry.span, "state");
        let body = StepBody::Each {
            element: tree::name(&element),
            index: is_read.then(|| tree::name(&index)),
            list: Box::new(list),
            max: Some(Box::new(tree::int(MAX_ELEMENTS))),
            parallel: Some(Box::new(self.width(state, flow))),
            by: None,
            settle: !tolerances.is_empty(),
            body,
        };
        let clauses = Vec::new();
        let run = if tolerances.is_empty() {
            Run {
                name,
                body,
                clauses,
            }
        } else {
            self.tolerant(state, name, body, tolerances)
        };
        self.run(at, run, out)
    }

    /// Writes the block that runs for each element.
    fn of_element<'d>(
        &mut self,
        state: &State<'d>,
        inner: &Machine<'d>,
        element: Element,
        input: Value,
        flow: &Flow,
    ) -> Result<Block, Refused> {
        let item = Value::Opaque(element.value.clone());
        let mut within = Flow {
            element: Some(element),
            ..flow.clone()
        };
        let mut body = Vec::new();
        within.value = match state.get("ItemSelector").or(state.get("Parameters")) {
            Some(node) => {
                let value = self.templated(state, node, input, None, &within);
                self.name_if_large(&format!("{}_item", state.name), value, &mut body)
            }
            None => item,
        };
        self.walk(inner, inner.start, within, &Region::block(), &mut body)?;
        Ok(tree::block(body))
    }

    /// Returns the list to iterate over.
    fn items(&mut self, state: &State<'_>, input: &Value, flow: &Flow) -> Expr {
        let mut hole = None;
        for field in ["ItemReader", "ItemBatcher", "ResultWriter"] {
            if let Some(node) = state.get(field) {
                let what = format!("`{field}` of state `{}`", state.name);
                let why = "a plan reads and writes lists with tool calls";
                if hole.is_some() {
                    self.draft.lost(node.span, what, why);
                } else {
                    hole = Some(self.draft.hole(node.span, what, why));
                }
            }
        }
        if let Some(hole) = hole {
            return hole;
        }
        match (state.get("Items"), state.get("ItemsPath")) {
            (Some(node), _) => self
                .templated(state, node, input.clone(), None, flow)
                .expr(),
            (None, Some(_)) => self.through(state, "ItemsPath", input.clone(), flow).expr(),
            (None, None) => input.expr(),
        }
    }

    fn width(&mut self, state: &State<'_>, flow: &Flow) -> Expr {
        for field in ["MaxConcurrency", "MaxConcurrencyPath"] {
            let Some(node) = state.get(field) else {
                continue;
            };
            let value = node.scalar().and_then(|text| text.parse::<i64>().ok());
            return match value {
                Some(0) => tree::int(PARALLEL),
                Some(width) => tree::int(width.max(1)),
                None => self.computed(state, field, node, flow),
            };
        }
        tree::int(PARALLEL)
    }

    /// Returns how many elements may fail, each preceded by whether it is a percentage; empty if none may fail.
    fn tolerances(
        &mut self,
        state: &State<'_>,
        flow: &Flow,
        out: &mut Vec<Statement>,
    ) -> Vec<(bool, Expr)> {
        let fields = [
            ("ToleratedFailurePercentage", true),
            ("ToleratedFailurePercentagePath", true),
            ("ToleratedFailureCount", false),
            ("ToleratedFailureCountPath", false),
        ];
        let mut tolerances = Vec::new();
        for (field, is_share) in fields {
            let Some(node) = state.get(field) else {
                continue;
            };
            if node.scalar().as_deref() == Some("0") {
                return Vec::new();
            }
            let most = self.computed(state, field, node, flow);
            if node.text().is_some() {
                let possible = if is_share {
                    plan!("most >= 0 && most <= 100", most)
                } else {
                    plan!("most >= 0", most)
                };
                out.push(demand(state, field, possible));
            }
            tolerances.push((is_share, most));
        }
        tolerances
    }

    /// Returns a step that succeeds if no more elements fail than all tolerances allow.
    fn tolerant(
        &mut self,
        state: &State<'_>,
        name: String,
        each: StepBody,
        tolerances: Vec<(bool, Expr)>,
    ) -> Run {
        let what = format!("the tolerated failures of state `{}`", state.name);
        let why = "are counted after all elements; the machine stops at the first failure above the limit";
        self.draft.changed(state.entry.span, what, why);
        let results = self.draft.name(&format!("{}_results", state.name));
        let list = tree::variable(&results);
        let failed = plan!("double(size(list.filter(one, !one.ok)))", list);
        let conditions = tolerances.into_iter().map(|(is_share, most)| {
            if is_share {
                plan!(
                    "failed <= (most * double(size(list))) / 100.0",
                    failed,
                    most,
                    list
                )
            } else {
                plan!("failed <= most", failed, most)
            }
        });
        let condition = tree::joined(conditions.collect(), BinaryOp::And);
        let message = format!("too many elements of `{}` failed", super::short(state.name));
        let statements = vec![
            tree::step(&results, each, Vec::new()),
            tree::statement(StatementKind::Ensure {
                condition: condition.unwrap_or_else(|| tree::boolean(true)),
                message: Box::new(tree::text(&message)),
            }),
            tree::yields(plan!("list.map(one, one.ok ? one.value : null)", list)),
        ];
        Run {
            name,
            body: StepBody::Do(tree::block(statements)),
            clauses: Vec::new(),
        }
    }

    pub fn branches<'d>(&mut self, at: At<'_, 'd>, out: &mut Vec<Statement>) -> Continued<'d> {
        let At { state, flow, .. } = at;
        let branches = state.items("Branches");
        if branches.is_empty() {
            let message = format!(
                "the `Parallel` state `{}` has no `Branches`",
                super::short(state.name)
            );
            let help = "list its machines under `Branches`";
            return Err(Refused::new(state.entry.span, message, help));
        }
        let input = self.through(state, "InputPath", flow.value.clone(), flow);
        let template = state.get(if state.is_jsonata {
            "Arguments"
        } else {
            "Parameters"
        });
        let input = match template {
            Some(node) => {
                let value = self.templated(state, node, input, None, flow);
                self.name_if_large(&format!("{}_input", state.name), value, out)
            }
            None => input,
        };
        report_retry(state, self.draft);
        let (mut steps, mut results) = (Vec::new(), Vec::new());
        for (number, branch) in branches.iter().enumerate() {
            let inner = Machine::read(branch, state.is_jsonata)?;
            report_machine(branch, &inner, true, self.draft);
            let name = self.draft.name(&format!("{}_{}", state.name, number + 1));
            let mut body = Vec::new();
            let within = Flow {
                value: input.clone(),
                ..flow.clone()
            };
            self.walk(&inner, inner.start, within, &Region::block(), &mut body)?;
            steps.push(tree::step(
                &name,
                StepBody::Do(tree::block(body)),
                Vec::new(),
            ));
            results.push(tree::variable(&name));
        }
        let parallel = tree::statement(StatementKind::Parallel(tree::block(steps)));
        let body = vec![parallel, tree::yields(tree::list(results))];
        let run = Run {
            name: self.draft.name_of(state.name, state.entry.span, "state"),
            body: StepBody::Do(tree::block(body)),
            clauses: Vec::new(),
        };
        self.run(at, run, out)
    }
}

fn report_retry(state: &State<'_>, draft: &mut Draft<'_>) {
    if let Some(node) = state
        .get("Retry")
        .filter(|_| !state.items("Retry").is_empty())
    {
        let what = format!("`Retry` of state `{}`", state.name);
        let why = "only calls can have a `retry`: restarting a block would repeat its effects";
        draft.lost(node.span, what, why);
    }
}
