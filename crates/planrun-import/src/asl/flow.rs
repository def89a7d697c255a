//! The ways through a machine as statements in order: what follows what, and where ways part and meet.

use std::collections::{BTreeMap, BTreeSet};

use planrun_lang::syntax::ast::{Expr, Statement, StatementKind, StepBody, WaitFor};
use planrun_lang::yaml::Node;

use super::choice;
use super::data::{Element, Scope, jsonata_of};
use super::machine::{Machine, State};
use super::repetition::finish;
use super::value::Value;
use crate::document::Refused;
use crate::draft::Draft;
use crate::tree;

/// More states are not written down, those counted again that stand in several branches.
const MAX_STATES: usize = 3000;
/// Branches inside of each other.
const MAX_DEPTH: usize = 60;

/// What a state is entered with.
#[derive(Clone, Debug)]
pub struct Flow {
    pub value: Value,
    pub variables: BTreeMap<String, Value>,
    pub element: Option<Element>,
}

/// What the end of a machine is in the plan.
#[derive(Clone, Debug)]
pub enum End {
    Reply,
    Yield,
}

/// What it means to come to a state at which a part of the plan ends.
#[derive(Clone, Debug)]
pub enum Stop {
    /// Branches meet there.
    Join,
    /// The loop begins again, with these variables.
    Again(Vec<String>),
    /// The loop is left, with these variables.
    Out(Vec<String>),
}

/// A part of the plan.
#[derive(Clone, Debug)]
pub struct Region<'d> {
    pub stops: BTreeMap<&'d str, Stop>,
    pub end: End,
}

impl Region<'_> {
    pub fn whole(end: End) -> Self {
        Self {
            stops: BTreeMap::new(),
            end,
        }
    }
}

/// Where it goes on behind a state.
pub enum Going<'d> {
    On(&'d str, Flow),
    /// This part of the plan is over; with the state that it has come to, unless all ways ended.
    Over(Option<(&'d str, Flow)>),
}

/// One way out of a state.
pub struct Way<'d> {
    /// `None` for the last one, which is taken where no other is.
    pub condition: Option<Expr>,
    pub to: Target<'d>,
    pub flow: Flow,
}

/// Where a way leads.
#[derive(Clone, Copy)]
pub enum Target<'d> {
    State(&'d str),
    End,
    /// No rule of a choice holds.
    Nowhere,
}

/// A way that was written down: its condition, its statements, and the state at which it ended unless it ended for good.
type Arm<'d> = (Option<Expr>, Vec<Statement>, Option<(&'d str, Flow)>);

pub struct Translator<'x, 't> {
    pub draft: &'x mut Draft<'t>,
    /// What the machine was given.
    pub input: Value,
    /// The name of an error in the arms that catch it.
    pub error: String,
    left: usize,
    depth: usize,
    seen: BTreeSet<String>,
}

impl<'x, 't> Translator<'x, 't> {
    pub fn new(draft: &'x mut Draft<'t>, input: Value) -> Self {
        let error = draft.name("e");
        Self {
            draft,
            input,
            error,
            left: MAX_STATES,
            depth: 0,
            seen: BTreeSet::new(),
        }
    }

    /// Writes down what happens from a state on. Tells the state at which this part ended, unless all ways ended before.
    ///
    /// # Errors
    /// Where a machine inside of a state is none.
    pub fn walk<'d>(
        &mut self,
        machine: &Machine<'d>,
        start: &'d str,
        flow: Flow,
        region: &Region<'d>,
        out: &mut Vec<Statement>,
    ) -> Result<Option<(&'d str, Flow)>, Refused> {
        if region.stops.contains_key(start) {
            return Ok(Some((start, flow)));
        }
        self.walk_from(machine, start, flow, region, out)
    }

    /// The same, where the first state may be one at which the part ends when it comes there again.
    pub fn walk_from<'d>(
        &mut self,
        machine: &Machine<'d>,
        start: &'d str,
        mut flow: Flow,
        region: &Region<'d>,
        out: &mut Vec<Statement>,
    ) -> Result<Option<(&'d str, Flow)>, Refused> {
        let mut name = start;
        loop {
            let Some(state) = machine.states.get(name) else {
                return Ok(None);
            };
            let stops: BTreeSet<&str> = region.stops.keys().copied().collect();
            let going = if self.is_too_much(state, out) {
                Going::Over(None)
            } else if !stops.contains(name)
                && let Some(cycle) = machine.cycle(name, &stops)
            {
                self.repeat(machine, state, &cycle, &flow, out)?
            } else {
                self.tell(state);
                self.state(machine, state, &flow, region, out)?
            };
            match going {
                Going::Over(reached) => return Ok(reached),
                Going::On(next, after) if region.stops.contains_key(next) => {
                    return Ok(Some((next, after)));
                }
                Going::On(next, after) => (name, flow) = (next, after),
            }
        }
    }

    /// Whether the plan would become too large.
    fn is_too_much(&mut self, state: &State<'_>, out: &mut Vec<Statement>) -> bool {
        if self.left > 0 && self.depth < MAX_DEPTH {
            self.left -= 1;
            return false;
        }
        let why = "its ways part and meet so often that a plan of blocks would be too large";
        let hole = self
            .draft
            .hole(state.entry.span, format!("state `{}`", state.name), why);
        out.push(tree::fail("tool.not_carried", hole));
        true
    }

    fn tell(&mut self, state: &State<'_>) {
        let what = format!("state `{}`", super::short(state.name));
        if self.seen.insert(state.name.to_owned()) {
            self.draft
                .carried(state.entry.span, what, format!("`{}`", state.kind));
        } else {
            let why = "stands in the plan once for each way that leads to it";
            self.draft.changed(state.entry.span, what, why);
        }
    }

    fn state<'d>(
        &mut self,
        machine: &Machine<'d>,
        state: &State<'d>,
        flow: &Flow,
        region: &Region<'d>,
        out: &mut Vec<Statement>,
    ) -> Result<Going<'d>, Refused> {
        match state.kind {
            "Pass" => {
                let flow = self.pass(state, flow, out);
                Ok(proceed(state, flow, region, out))
            }
            "Succeed" => {
                let flow = self.after(state, None, flow, out);
                out.push(end(&flow.value, region));
                Ok(Going::Over(None))
            }
            "Fail" => {
                let (class, message) = self.failure(state, flow);
                out.push(tree::fail(&class, message));
                Ok(Going::Over(None))
            }
            "Wait" => {
                self.wait(state, flow, out);
                let flow = self.after(state, None, flow, out);
                Ok(proceed(state, flow, region, out))
            }
            "Choice" => self.choice(machine, state, flow, region, out),
            "Task" => self.task(machine, state, flow, region, out),
            "Map" => self.map(machine, state, flow, region, out),
            "Parallel" => self.branches(machine, state, flow, region, out),
            other => {
                let what = format!("state `{}`", state.name);
                let why = format!("`{}` is no kind of state", super::short(other));
                let hole = self.draft.hole(state.entry.span, what, why);
                out.push(tree::fail("tool.not_carried", hole));
                Ok(Going::Over(None))
            }
        }
    }

    /// Gives a large value a name.
    pub fn settle(&mut self, name: &str, value: Value, out: &mut Vec<Statement>) -> Value {
        let is_bound = matches!(&value, Value::Object { bound: Some(_), .. });
        if is_bound || !value.is_large() {
            return value;
        }
        let name = self.draft.name(name);
        out.push(tree::bind(&name, value.expr()));
        value.at(tree::variable(&name))
    }

    fn wait(&mut self, state: &State<'_>, flow: &Flow, out: &mut Vec<Statement>) {
        let fields = ["Seconds", "SecondsPath", "Timestamp", "TimestampPath"];
        let found = fields
            .into_iter()
            .find_map(|field| Some((field, state.get(field)?)));
        let Some((field, node)) = found else { return };
        let value = self.computed(state, field, node, flow);
        let wait = if field.starts_with("Seconds") {
            match node.scalar().and_then(|text| text.parse::<i64>().ok()) {
                Some(seconds) => WaitFor::Duration(tree::seconds(seconds)),
                None => WaitFor::Duration(duration(value)),
            }
        } else {
            WaitFor::Until(tree::function("timestamp", vec![value]))
        };
        let name = self.draft.name_of(state.name, state.entry.span, "state");
        out.push(tree::step(&name, StepBody::Wait(wait), Vec::new()));
    }

    /// A field of a state that may be computed: by a path where it is called so, by JSONata, or written down.
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

    fn choice<'d>(
        &mut self,
        machine: &Machine<'d>,
        state: &State<'d>,
        flow: &Flow,
        region: &Region<'d>,
        out: &mut Vec<Statement>,
    ) -> Result<Going<'d>, Refused> {
        let mut ways = Vec::new();
        let input = self.through(state, "InputPath", flow.value.clone(), flow);
        let rules = state.items("Choices");
        for rule in rules {
            let Some(next) = rule.get("Next").and_then(Node::text) else {
                continue;
            };
            let condition = self.condition(state, rule, &input, flow);
            let after = self.chosen(state, rule, flow, out);
            let is_last = condition.is_none();
            ways.push(Way {
                condition,
                to: Target::State(next),
                flow: after,
            });
            if is_last {
                return self.part(machine, state, ways, region, out);
            }
        }
        let to = state.text("Default").map_or(Target::Nowhere, Target::State);
        let after = self.chosen(state, &state.entry.value, flow, out);
        ways.push(Way {
            condition: None,
            to,
            flow: after,
        });
        self.part(machine, state, ways, region, out)
    }

    /// `None` for a rule that always holds.
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
        condition.unwrap_or_else(|why| {
            let what = format!("a rule of state `{}`", state.name);
            Some(self.draft.hole(rule.span, what, why))
        })
    }

    /// What a rule, or the choice as a whole, makes of the data.
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
            after.value = self.settle(state.name, value, out);
        } else if !state.is_jsonata {
            let value = self.through(state, "InputPath", flow.value.clone(), flow);
            after.value = self.through(state, "OutputPath", value, flow);
        }
        after
    }

    /// Writes down ways that part, up to where they meet.
    pub fn part<'d>(
        &mut self,
        machine: &Machine<'d>,
        state: &State<'d>,
        ways: Vec<Way<'d>>,
        region: &Region<'d>,
        out: &mut Vec<Statement>,
    ) -> Result<Going<'d>, Refused> {
        let stops: BTreeSet<&str> = region.stops.keys().copied().collect();
        let mut inner = region.clone();
        if let Some(meeting) = machine.meeting(state.name, &stops) {
            inner.stops.entry(meeting).or_insert(Stop::Join);
        }
        self.depth += 1;
        let mut arms = Vec::new();
        for way in ways {
            let mut block = Vec::new();
            let reached = match way.to {
                Target::State(next) => self.walk(machine, next, way.flow, &inner, &mut block)?,
                Target::End => {
                    block.push(end(&way.flow.value, region));
                    None
                }
                Target::Nowhere => {
                    let message =
                        tree::text(&format!("no rule of `{}` holds", super::short(state.name)));
                    block.push(tree::fail("validation.expression", message));
                    None
                }
            };
            arms.push((way.condition, block, reached));
        }
        self.depth -= 1;
        let reached = self.joined(arms, &inner, out);
        Ok(match reached {
            Some((at, flow)) if !region.stops.contains_key(at) => Going::On(at, flow),
            reached => Going::Over(reached),
        })
    }

    /// Writes the arms as an `if`. Tells where they meet.
    fn joined<'d>(
        &mut self,
        mut arms: Vec<Arm<'d>>,
        region: &Region<'d>,
        out: &mut Vec<Statement>,
    ) -> Option<(&'d str, Flow)> {
        let (_, mut last, last_reached) = arms.pop()?;
        if arms.iter().all(|(_, _, reached)| reached.is_none()) {
            // What follows the last way stands behind the others, which all end.
            out.extend(branching(arms, Vec::new()));
            out.append(&mut last);
            return last_reached;
        }
        arms.push((None, last, last_reached));
        let places: BTreeSet<&str> = arms
            .iter()
            .filter_map(|arm| Some(arm.2.as_ref()?.0))
            .collect();
        let meeting = if places.len() == 1 {
            self.meet(&mut arms)
        } else {
            for (_, block, reached) in &mut arms {
                if let Some((at, flow)) = reached.take() {
                    finish(region.stops.get(at), &flow, block);
                }
            }
            None
        };
        let last = arms.pop().map(|arm| arm.1).unwrap_or_default();
        out.extend(branching(arms, last));
        meeting
    }

    /// Gives what differs between branches one name in all of them.
    fn meet<'d>(&mut self, arms: &mut [Arm<'d>]) -> Option<(&'d str, Flow)> {
        let (at, mut flow) = arms.iter().find_map(|arm| arm.2.clone())?;
        let others = || arms.iter().filter_map(|arm| arm.2.as_ref());
        let names: BTreeSet<String> = others()
            .flat_map(|(_, flow)| flow.variables.keys().cloned())
            .collect();
        let is_same = others().all(|(_, other)| other.value == flow.value);
        let differing: Vec<String> = names
            .into_iter()
            .filter(|name| {
                others().any(|(_, other)| other.variables.get(name) != flow.variables.get(name))
            })
            .collect();
        if !is_same {
            let name = self.draft.name(&format!("{at}_input"));
            for (_, block, reached) in arms.iter_mut() {
                if let Some((_, flow)) = reached {
                    block.push(tree::bind(&name, flow.value.expr()));
                }
            }
            flow.value = Value::Opaque(tree::variable(&name));
        }
        for variable in differing {
            let name = self.draft.name(&variable);
            for (_, block, reached) in arms.iter_mut() {
                if let Some((_, flow)) = reached {
                    let value = flow
                        .variables
                        .get(&variable)
                        .map_or_else(tree::null, Value::expr);
                    block.push(tree::bind(&name, value));
                }
            }
            flow.variables
                .insert(variable, Value::Opaque(tree::variable(&name)));
        }
        Some((at, flow))
    }
}

/// Goes on to the next state, or ends.
pub fn proceed<'d>(
    state: &State<'d>,
    flow: Flow,
    region: &Region<'d>,
    out: &mut Vec<Statement>,
) -> Going<'d> {
    if let Some(next) = state.text("Next") {
        return Going::On(next, flow);
    }
    out.push(end(&flow.value, region));
    Going::Over(None)
}

/// What the end of a machine is here.
fn end(value: &Value, region: &Region<'_>) -> Statement {
    match region.end {
        End::Reply => tree::reply(value.expr()),
        End::Yield => tree::yields(value.expr()),
    }
}

fn branching(arms: Vec<Arm<'_>>, otherwise: Vec<Statement>) -> Option<Statement> {
    let arms = arms.into_iter();
    let arms = arms.filter_map(|(condition, block, _)| Some((condition?, tree::block(block))));
    let mut arms: Vec<_> = arms.collect();
    let mut otherwise = (!otherwise.is_empty()).then(|| tree::block(otherwise));
    if let [(condition, block)] = arms.as_mut_slice()
        && block.statements.is_empty()
    {
        // Nothing happens where it holds.
        *block = otherwise.take()?;
        *condition = tree::not(condition.clone());
    }
    (!arms.is_empty()).then(|| tree::statement(StatementKind::If { arms, otherwise }))
}

/// A number of seconds as a duration.
pub fn duration(seconds: Expr) -> Expr {
    use planrun_lang::syntax::ast::TemplatePart;
    let parts = vec![TemplatePart::Expr(seconds), TemplatePart::Text("s".into())];
    tree::function("duration", vec![tree::template(parts)])
}

/// What a state can read, with `root` as what `$` is.
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
    }
}
