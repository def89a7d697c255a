//! Writes the states of a machine as nodes of its control-flow graph.

use std::collections::{BTreeMap, BTreeSet};

use planrun_lang::source::Span;

use planrun_lang::syntax::ast::{Expr, Statement, StepBody, WaitFor};
use planrun_lang::yaml::Node;

use super::data::{Scope, jsonata_of};
use super::machine::{Machine, State};
use super::{choice, fields};
use crate::control_flow::graph::Graph;
use crate::control_flow::{
    Branch, Continuation, Continued, Flow, Region, Target, Walk, Written, end,
};
use crate::draft::Draft;
use crate::expression::Caveats;
use crate::expression::quote::plan;
use crate::expression::value::Value;
use crate::tree;

pub struct Translator<'x, 't> {
    pub draft: &'x mut Draft<'t>,
    /// The input of the machine.
    pub input: Value,
    /// The name of an error in the arms that catch it.
    pub error: String,
    /// The resource of each tool, as far as it gives the tool its name.
    pub resources: BTreeMap<String, String>,
    written: Written,
    /// The parts whose change the report describes only once for the whole machine.
    told: BTreeSet<&'static str>,
}

/// A state that is entered: with its machine, the data, and the region of the plan.
#[derive(Clone, Copy)]
pub struct At<'p, 'd> {
    pub machine: &'p Machine<'d>,
    pub state: &'p State<'d>,
    pub flow: &'p Flow,
    pub region: &'p Region<'d>,
}

impl<'x, 't> Translator<'x, 't> {
    pub fn new(draft: &'x mut Draft<'t>, input: Value) -> Self {
        let error = draft.name("e");
        Self {
            draft,
            input,
            error,
            resources: BTreeMap::new(),
            written: Written::default(),
            told: BTreeSet::new(),
        }
    }

    /// Reports a change that concerns many states, at the first of them.
    pub fn changed_once(&mut self, span: Span, what: &'static str, why: &str) {
        if self.told.insert(what) {
            self.draft.changed(span, what, why);
        }
    }
}

impl<'d, 't> Walk<'d, 't> for Translator<'_, 't> {
    type Scope = Machine<'d>;
    const NODE_WORD: &'static str = "state";

    fn draft(&mut self) -> &mut Draft<'t> {
        self.draft
    }

    fn written(&mut self) -> &mut Written {
        &mut self.written
    }

    fn graph<'s>(machine: &'s Machine<'d>) -> &'s Graph<'d> {
        &machine.graph
    }

    fn write_node(
        &mut self,
        machine: &Machine<'d>,
        name: &'d str,
        flow: &Flow,
        region: &Region<'d>,
        out: &mut Vec<Statement>,
    ) -> Continued<'d> {
        let Some(state) = machine.states.get(name) else {
            return Ok(Continuation::Finished(None));
        };
        let at = At {
            machine,
            state,
            flow,
            region,
        };
        self.state(at, out)
    }
}

impl Translator<'_, '_> {
    fn state<'d>(&mut self, at: At<'_, 'd>, out: &mut Vec<Statement>) -> Continued<'d> {
        let At { state, flow, .. } = at;
        fields::report_state(state, self.draft);
        match state.kind {
            "Pass" => {
                let flow = self.pass(state, flow, out);
                Ok(proceed(state, flow, at.region, out))
            }
            "Succeed" => {
                let flow = self.after(state, None, flow, out);
                out.push(end(&flow.value, at.region));
                Ok(Continuation::Finished(None))
            }
            "Fail" => {
                let (class, message) = self.failure(state, flow);
                out.push(tree::fail(&class, message));
                Ok(Continuation::Finished(None))
            }
            "Wait" => {
                let mut within = flow.clone();
                within.value = self.through(state, "InputPath", flow.value.clone(), flow);
                self.wait(state, &within, out);
                let flow = self.after(state, None, flow, out);
                Ok(proceed(state, flow, at.region, out))
            }
            "Choice" => self.choice(at, out),
            "Task" => self.task(at, out),
            "Map" => self.map(at, out),
            "Parallel" => self.branches(at, out),
            other => {
                let what = format!("state `{}`", state.name);
                let why = format!("`{}` is not a state type", super::short(other));
                let hole = self.draft.hole(state.entry.span, what, why);
                out.push(tree::fail("tool.not_carried", hole));
                Ok(Continuation::Finished(None))
            }
        }
    }

    fn wait(&mut self, state: &State<'_>, flow: &Flow, out: &mut Vec<Statement>) {
        let fields = ["Seconds", "SecondsPath", "Timestamp", "TimestampPath"];
        let found = fields
            .into_iter()
            .find_map(|field| Some((field, state.get(field)?)));
        let Some((field, node)) = found else {
            let what = format!("state `{}`", super::short(state.name));
            let why = "is omitted: it does not say how long to wait";
            self.draft.lost(state.entry.span, what, why);
            return;
        };
        let value = self.computed(state, field, node, flow);
        let wait = if field.starts_with("Seconds") {
            if let Some(seconds) = node.scalar().and_then(|text| text.parse::<i64>().ok()) {
                WaitFor::Duration(tree::seconds(seconds))
            } else {
                let is_possible = plan!("value >= 0 && value == int(value)", value);
                out.push(demand(state, field, is_possible));
                WaitFor::Duration(duration(&value))
            }
        } else {
            WaitFor::Until(plan!("timestamp(value)", value))
        };
        let name = self.draft.name_of(state.name, state.entry.span, "state");
        let step = tree::step(&name, StepBody::Wait(wait), Vec::new());
        out.push(fields::documented(step, state));
    }

    /// Translates a field of a state that may be computed, by a path (if its name ends in `Path`) or by JSONata.
    pub fn computed(&mut self, state: &State<'_>, field: &str, node: &Node, flow: &Flow) -> Expr {
        let scope = scope_of(&self.input, state, flow.value.clone(), flow);
        match node.text() {
            Some(path) if field.ends_with("Path") => scope.value(path, node, self.draft).expr(),
            Some(text) if state.is_jsonata && jsonata_of(text).is_some() => scope
                .value(jsonata_of(text).unwrap_or(text), node, self.draft)
                .expr(),
            _ => tree::constant(node),
        }
    }

    fn choice<'d>(&mut self, at: At<'_, 'd>, out: &mut Vec<Statement>) -> Continued<'d> {
        let At { state, flow, .. } = at;
        let mut branches = Vec::new();
        let input = self.through(state, "InputPath", flow.value.clone(), flow);
        let rules = state.items("Choices");
        for rule in rules {
            let Some(next) = rule.get("Next").and_then(Node::text) else {
                continue;
            };
            let condition = self.condition(state, rule, &input, flow);
            let after = self.chosen(state, rule, flow, out);
            let is_last = condition.is_none();
            branches.push(Branch::new(condition, Target::Node(next), after));
            if is_last {
                return self.write_branches(at.machine, state.name, branches, at.region, out);
            }
        }
        let after = self.chosen(state, &state.entry.value, flow, out);
        let nowhere = || {
            let message = format!("no rule of `{}` matches", super::short(state.name));
            tree::fail("validation.expression", tree::text(&message))
        };
        let (prelude, to) = match state.text("Default") {
            Some(next) => (Vec::new(), Target::Node(next)),
            None => (vec![nowhere()], Target::Finished),
        };
        branches.push(Branch {
            condition: None,
            prelude,
            to,
            flow: after,
        });
        self.write_branches(at.machine, state.name, branches, at.region, out)
    }

    /// Translates the condition of a rule; `None` for a rule that always holds.
    fn condition(
        &mut self,
        state: &State<'_>,
        rule: &Node,
        input: &Value,
        flow: &Flow,
    ) -> Option<Expr> {
        let scope = scope_of(&self.input, state, input.clone(), flow);
        let condition = match rule.get("Condition").and_then(Node::text) {
            Some(text) => {
                let code = jsonata_of(text).unwrap_or(text);
                super::jsonata::read(code, &scope).map(|value| Some(tree::truth(value.expr())))
            }
            None => choice::condition(rule, &scope),
        };
        let what = format!("a rule of state `{}`", state.name);
        scope.report_caveats(rule, &what, self.draft);
        condition.unwrap_or_else(|why| Some(self.draft.hole(rule.span, what, why)))
    }

    /// Returns the data after a rule, or after the default of the choice.
    fn chosen(
        &mut self,
        state: &State<'_>,
        node: &Node,
        flow: &Flow,
        out: &mut Vec<Statement>,
    ) -> Flow {
        let mut after = flow.clone();
        if let Some(assign) = node.get("Assign") {
            self.assign(
                state,
                assign,
                flow.value.clone(),
                None,
                flow,
                &mut after,
                out,
            );
        }
        if let Some(output) = node.get("Output").filter(|_| state.is_jsonata) {
            let value = self.templated(state, output, flow.value.clone(), None, flow);
            after.value = self.name_if_large(state.name, value, out);
        } else if !state.is_jsonata {
            let value = self.through(state, "InputPath", flow.value.clone(), flow);
            after.value = self.through(state, "OutputPath", value, flow);
        }
        after
    }
}

/// Continues with the next state, or ends.
pub fn proceed<'d>(
    state: &State<'d>,
    flow: Flow,
    region: &Region<'d>,
    out: &mut Vec<Statement>,
) -> Continuation<'d> {
    if let Some(next) = state.text("Next") {
        return Continuation::Next(next, flow);
    }
    out.push(end(&flow.value, region));
    Continuation::Finished(None)
}

/// Returns a `fail` for a computed field whose value is invalid.
pub fn demand(state: &State<'_>, field: &str, is_possible: Expr) -> Statement {
    let message = format!(
        "`{field}` of `{}` has an invalid value",
        super::short(state.name)
    );
    let message = tree::text(&message);
    tree::fail_when("validation.expression", message, tree::not(is_possible))
}

/// Converts a number of seconds to a duration.
pub fn duration(seconds: &Expr) -> Expr {
    plan!(r#"duration("${seconds}s")"#, seconds)
}

/// Returns the values that a state can read, with `root` as `$`.
pub fn scope_of<'s>(
    input: &'s Value,
    state: &'s State<'_>,
    root: Value,
    flow: &'s Flow,
) -> Scope<'s> {
    Scope {
        root,
        variables: &flow.variables,
        element: flow.element.as_ref(),
        input,
        state: state.name,
        result: None,
        error: None,
        is_jsonata: state.is_jsonata,
        caveats: Caveats::default(),
    }
}
