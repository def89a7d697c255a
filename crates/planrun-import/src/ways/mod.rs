//! The ways through a document as statements in order: what follows what, and where ways part and meet.

pub mod graph;
pub mod inputs;
pub mod repetition;
pub mod retry;
pub mod status;
pub mod telling;

use std::collections::{BTreeMap, BTreeSet};

use planrun_lang::source::Span;
use planrun_lang::syntax::ast::{Expr, Statement, StatementKind};

use crate::document::Refused;
use crate::draft::{Draft, excerpt};
use crate::expression::value::Value;
use crate::tree;
use graph::{Graph, Place};
use repetition::finish;

/// More places are not written down, those counted again that stand in several branches.
const MAX_PLACES: usize = 3000;
/// Branches inside of each other.
const MAX_DEPTH: usize = 60;

/// The element of a list that is gone through, and its number.
#[derive(Clone, Debug, PartialEq)]
pub struct Element {
    pub value: Expr,
    pub index: Expr,
}

/// What a place is entered with.
#[derive(Clone, Debug)]
pub struct Flow {
    pub value: Value,
    pub variables: BTreeMap<String, Value>,
    pub element: Option<Element>,
}

impl Flow {
    pub fn of(value: Value) -> Self {
        Self {
            value,
            variables: BTreeMap::new(),
            element: None,
        }
    }
}

/// What the end of the whole is in the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Reply,
    Yield,
}

/// What it means to come to a place at which a part of the plan ends.
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
    /// The plan itself.
    pub fn plan() -> Self {
        Self {
            stops: BTreeMap::new(),
            end: End::Reply,
        }
    }

    /// A block inside of a step.
    pub fn block() -> Self {
        Self {
            end: End::Yield,
            ..Self::plan()
        }
    }
}

/// Where it goes on behind a place.
pub enum Going<'d> {
    On(&'d str, Flow),
    /// This part of the plan is over; with the place that it has come to, unless all ways ended.
    Over(Option<(&'d str, Flow)>),
}

/// One way out of a place.
pub struct Way<'d> {
    /// `None` for the last one, which is taken where no other is.
    pub condition: Option<Expr>,
    /// What happens on it before the next place.
    pub begun: Vec<Statement>,
    pub to: Target<'d>,
    pub flow: Flow,
}

/// Where a way leads.
#[derive(Clone, Copy)]
pub enum Target<'d> {
    Place(&'d str),
    End,
    /// What has begun on it is all.
    Over,
}

/// A way that was written down: its condition, its statements, and the place at which it ended unless it ended for good.
type Arm<'d> = (Option<Expr>, Vec<Statement>, Option<(&'d str, Flow)>);

/// How much was written down, within its bounds.
#[derive(Debug)]
pub struct Written {
    left: usize,
    depth: usize,
    seen: BTreeSet<(u32, String)>,
}

impl Default for Written {
    fn default() -> Self {
        Self {
            left: MAX_PLACES,
            depth: 0,
            seen: BTreeSet::new(),
        }
    }
}

impl Written {
    /// Whether a place was written down.
    pub fn has(&self, span: Span, name: &str) -> bool {
        self.seen.contains(&(span.start, name.to_owned()))
    }
}

/// Writes a document down as a plan, place by place. What a place does is the document's own; how ways part, meet and
/// lead back is the same for all.
pub trait Walk<'d, 't> {
    /// What the places of a graph belong to: a machine, a list of tasks.
    type Scope;
    /// The word for a place in the report.
    const PLACE: &'static str;

    fn draft(&mut self) -> &mut Draft<'t>;

    fn written(&mut self) -> &mut Written;

    fn graph(scope: &Self::Scope) -> &Graph<'d>;

    /// Writes down one place.
    ///
    /// # Errors
    /// Where a part of the document is none.
    fn place(
        &mut self,
        scope: &Self::Scope,
        name: &'d str,
        flow: &Flow,
        region: &Region<'d>,
        out: &mut Vec<Statement>,
    ) -> Result<Going<'d>, Refused>;

    /// Writes down what happens from a place on. Tells the place at which this part ended, unless all ways ended before.
    ///
    /// # Errors
    /// Where a part of the document is none.
    fn walk(
        &mut self,
        scope: &Self::Scope,
        start: &'d str,
        flow: Flow,
        region: &Region<'d>,
        out: &mut Vec<Statement>,
    ) -> Result<Option<(&'d str, Flow)>, Refused> {
        if region.stops.contains_key(start) {
            return Ok(Some((start, flow)));
        }
        self.walk_from(scope, start, flow, region, out)
    }

    /// The same, where the first place may be one at which the part ends when it comes there again.
    ///
    /// # Errors
    /// Where a part of the document is none.
    fn walk_from(
        &mut self,
        scope: &Self::Scope,
        start: &'d str,
        mut flow: Flow,
        region: &Region<'d>,
        out: &mut Vec<Statement>,
    ) -> Result<Option<(&'d str, Flow)>, Refused> {
        let mut name = start;
        let stops: BTreeSet<&str> = region.stops.keys().copied().collect();
        loop {
            let Some(place) = Self::graph(scope).get(name) else {
                return Ok(None);
            };
            let going = if self.is_too_much(place, out) {
                Going::Over(None)
            } else if !stops.contains(name)
                && let Some(cycle) = Self::graph(scope).cycle(name, &stops)
            {
                repetition::repeat(self, scope, place, &cycle, &flow, out)?
            } else {
                self.tell(place);
                self.place(scope, name, &flow, region, out)?
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
    fn is_too_much(&mut self, place: &Place<'d>, out: &mut Vec<Statement>) -> bool {
        let written = self.written();
        if written.left > 0 && written.depth < MAX_DEPTH {
            written.left -= 1;
            return false;
        }
        let why = "its ways part and meet so often that a plan of blocks would be too large";
        let what = format!("{} `{}`", Self::PLACE, excerpt(place.name));
        let hole = self.draft().hole(place.span, what, why);
        out.push(tree::fail("tool.not_carried", hole));
        true
    }

    fn tell(&mut self, place: &Place<'d>) {
        let what = format!("{} `{}`", Self::PLACE, excerpt(place.name));
        let key = (place.span.start, place.name.to_owned());
        if self.written().seen.insert(key) {
            let why = format!("`{}`", place.kind);
            self.draft().carried(place.span, what, why);
        } else {
            let why = "stands in the plan once for each way that leads to it";
            self.draft().changed(place.span, what, why);
        }
    }

    /// Gives a value one name in branches that meet.
    fn bind(name: &str, value: Expr) -> Statement {
        tree::bind(name, value)
    }

    /// Gives a large value a name.
    fn settle(&mut self, name: &str, value: Value, out: &mut Vec<Statement>) -> Value {
        let is_bound = matches!(&value, Value::Object { bound: Some(_), .. });
        if is_bound || !value.is_large() {
            return value;
        }
        let name = self.draft().name(name);
        out.push(tree::bind(&name, value.expr()));
        value.at(tree::variable(&name))
    }

    /// Writes down ways that part, up to where they meet.
    ///
    /// # Errors
    /// Where a part of the document is none.
    fn part(
        &mut self,
        scope: &Self::Scope,
        place: &'d str,
        ways: Vec<Way<'d>>,
        region: &Region<'d>,
        out: &mut Vec<Statement>,
    ) -> Result<Going<'d>, Refused> {
        let stops: BTreeSet<&str> = region.stops.keys().copied().collect();
        let mut inner = region.clone();
        if let Some(meeting) = Self::graph(scope).meeting(place, &stops) {
            inner.stops.entry(meeting).or_insert(Stop::Join);
        }
        self.written().depth += 1;
        let mut arms = Vec::new();
        for way in ways {
            let mut block = way.begun;
            let reached = match way.to {
                Target::Place(next) => self.walk(scope, next, way.flow, &inner, &mut block)?,
                Target::End => {
                    block.push(end(&way.flow.value, region));
                    None
                }
                Target::Over => None,
            };
            arms.push((way.condition, block, reached));
        }
        self.written().depth -= 1;
        let reached = self.joined(arms, &inner, out);
        Ok(match reached {
            Some((at, flow)) if !region.stops.contains_key(at) => Going::On(at, flow),
            reached => Going::Over(reached),
        })
    }

    /// Writes the arms as an `if`. Tells where they meet.
    fn joined(
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
    fn meet(&mut self, arms: &mut [Arm<'d>]) -> Option<(&'d str, Flow)> {
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
            // Behind the last place nothing has an input.
            let name = if at.is_empty() {
                "output".to_owned()
            } else {
                format!("{at}_input")
            };
            let name = self.draft().name(&name);
            for (_, block, reached) in arms.iter_mut() {
                if let Some((_, flow)) = reached {
                    block.push(Self::bind(&name, flow.value.expr()));
                }
            }
            flow.value = Value::Opaque(tree::variable(&name));
        }
        for variable in differing {
            let name = self.draft().name(&variable);
            for (_, block, reached) in arms.iter_mut() {
                if let Some((_, flow)) = reached {
                    let value = flow
                        .variables
                        .get(&variable)
                        .map_or_else(tree::null, Value::expr);
                    block.push(Self::bind(&name, value));
                }
            }
            flow.variables
                .insert(variable, Value::Opaque(tree::variable(&name)));
        }
        Some((at, flow))
    }
}

/// What the end of the whole is here.
pub fn end(value: &Value, region: &Region<'_>) -> Statement {
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
