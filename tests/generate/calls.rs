//! Calls of tools and plans: their arguments and their clauses.

use std::fmt::Write as _;
use std::rc::Rc;

use super::catalog::{Callable, Pair, Parameter};
use super::contracts::{Given, Row, filled, literal};
use super::expressions::Level;
use super::plan::{OTHER, PlanHead, Writer};
use super::readable::Readable;
use super::scope::Kind;
use super::ty::{self, Ty};
use super::words;

/// The text of a call, and properties of the call.
pub struct Called {
    pub text: String,
    pub returns: Ty,
    /// The index of its tool; `None` for a call of a plan.
    pub tool: Option<usize>,
    pub plan: Option<Rc<PlanHead>>,
}

impl Writer<'_> {
    /// Writes a call of any tool or plan that may be called here.
    pub fn call(&mut self) -> Called {
        if !self.restricted_to_reads
            && self.dice.one_in(8)
            && let Some(called) = self.plan_call(false)
        {
            return called;
        }
        let restricted_to_reads = self.restricted_to_reads;
        let tools: Vec<usize> = (0..self.catalog.tools.len())
            .filter(|tool| !restricted_to_reads || self.catalog.tools[*tool].is_read_only())
            .collect();
        let tool = *self.dice.pick(&tools);
        self.tool_call(tool)
    }

    /// Writes a call of this tool.
    pub fn tool_call(&mut self, tool: usize) -> Called {
        self.note_call(tool);
        let catalog = self.catalog;
        let called = &catalog.tools[tool];
        let given = called
            .related_pair
            .as_ref()
            .map(|pair| *self.dice.pick(pair.rule.keeps));
        let mut arguments = Vec::new();
        for (place, parameter) in called.parameters.iter().enumerate() {
            let value = match given_at(called, place, given) {
                Some(Given::True) => "true".to_owned(),
                Some(Given::False) => "false".to_owned(),
                // A value that may be null would count as possibly absent.
                Some(Given::There) => self.value(&parameter.ty, 2).text,
                None if parameter.required || self.dice.one_in(2) => self.argument(parameter),
                Some(Given::Absent) | None => continue,
            };
            arguments.push(format!("{}: {value}", parameter.name));
        }
        let mut text = self.broken(&called.path(), &arguments);
        if let Some(Pair { rule, .. }) = &called.related_pair {
            let broken = rule.breaks[self.marks.count() % rule.breaks.len()];
            text = self
                .marks
                .around(rule.name, &text, literal_call(called, broken));
        }
        Called {
            text,
            returns: called.returns.clone(),
            tool: Some(tool),
            plan: None,
        }
    }

    /// Writes a call of a plan of this file or of the other one. With `changes`, only of a plan that is not read-only.
    pub fn plan_call(&mut self, changes: bool) -> Option<Called> {
        let may = |plan: &&Rc<PlanHead>| !(changes && plan.read_only);
        let mut plans: Vec<(String, Rc<PlanHead>)> = self
            .own
            .iter()
            .filter(may)
            .map(|plan| (plan.name.clone(), plan.clone()))
            .collect();
        plans.extend(
            self.other
                .as_ref()
                .filter(may)
                .map(|plan| (format!("{OTHER}.{}", plan.name), plan.clone())),
        );
        if plans.is_empty() {
            return None;
        }
        let (path, plan) = self.dice.pick(&plans).clone();
        self.note_plan(&plan, path.len() > plan.name.len());
        let mut arguments = Vec::new();
        for input in &plan.parameters {
            // The default of a limited input may break the contract.
            if input.required || input.limited.is_some() || self.dice.one_in(2) {
                let value = match input.limited {
                    Some(row) => self.limited_input(&input.ty, row),
                    None => self.value(&input.ty, 1).text,
                };
                arguments.push(format!("{}: {value}", input.name));
            }
        }
        let text = self.broken(&path, &arguments);
        Some(Called {
            text,
            returns: plan.returns.clone(),
            tool: None,
            plan: Some(plan),
        })
    }

    /// Formats a call on one line, or with one line per argument.
    fn broken(&self, path: &str, arguments: &[String]) -> String {
        let line = format!("{path}({})", arguments.join(", "));
        if line.len() < 90 {
            return line;
        }
        let margin = self.margin();
        format!(
            "{path}(\n{margin}    {},\n{margin})",
            arguments.join(&format!(",\n{margin}    "))
        )
    }

    fn argument(&mut self, parameter: &Parameter) -> String {
        let Some(row) = parameter.row else {
            let optional = parameter.ty.clone().optional();
            return self
                .value(
                    if parameter.required {
                        &parameter.ty
                    } else {
                        &optional
                    },
                    2,
                )
                .text;
        };
        // Only the run can decide whether the value that is read fulfills the contract.
        let paths = self.readables();
        let fitting: Vec<Readable> = if row.whole {
            self.unlimited(&paths, &parameter.ty, row)
        } else {
            Vec::new()
        };
        if !fitting.is_empty() && self.dice.one_in(4) {
            let path = self.dice.pick(&fitting).clone();
            self.limited.entry(path.text.clone()).or_insert(row);
            return self.read(&path).text;
        }
        let text = if self.dice.one_in(8) {
            self.one_of_two(row)
        } else {
            let number = self.dice.below(row.keeps.len());
            self.keeping(row, number)
        };
        let broken = row.breaks[self.marks.count() % row.breaks.len()];
        self.marks.around(row.name, &text, literal(broken))
    }

    /// Returns the paths that may be read where a contract constrains this type. Literal types, forms, and elements and
    /// states of loops are left out: the checker may know their values, and that one of them breaks the contract. In a
    /// plan that others call, inputs may be known, too: only whole ones are read, all for the same contract.
    fn unlimited(&self, paths: &[Readable], ty: &Ty, row: &Row) -> Vec<Readable> {
        let target = ty::closed(ty);
        let may = |path: &&Readable| {
            let variable = &self.scope.variables[path.variable];
            let known = match variable.kind {
                Kind::Form | Kind::Local => true,
                Kind::Let => !self.is_last,
                Kind::Input if !self.is_last => {
                    let limited = self.limited.get(&path.text);
                    path.text != variable.name
                        || limited.is_some_and(|other| other.name != row.name)
                }
                Kind::Input | Kind::Step | Kind::Race(_) | Kind::Context => false,
            };
            path.exact && !path.constant && !known && ty::closed(&path.ty) == target
        };
        paths.iter().filter(may).cloned().collect()
    }

    /// Writes the value of an input that the plan passes to a constrained argument.
    fn limited_input(&mut self, ty: &Ty, row: &'static Row) -> String {
        let paths = self.readables();
        let fitting = self.unlimited(&paths, ty, row);
        if fitting.is_empty() {
            return literal(row.keeps[0]);
        }
        let path = self.dice.pick(&fitting).clone();
        self.limited.entry(path.text.clone()).or_insert(row);
        self.read(&path).text
    }

    /// Writes a choice between two values, each of which always fulfills the contract.
    fn one_of_two(&mut self, row: &Row) -> String {
        let first = self.dice.below(row.keeps.len());
        let second = (first + 1) % row.keeps.len();
        let condition = if first == second {
            None
        } else {
            self.condition(0)
        };
        let Some(condition) = condition else {
            return self.keeping(row, first);
        };
        let known = self.scope.mark();
        self.scope.hold(&condition.text);
        self.mark_tested(&condition.text, None);
        let one = self.keeping(row, first);
        self.scope.forget(known);
        self.mark_tested(&condition.text, None);
        let other = self.keeping(row, second);
        self.scope.forget(known);
        format!("{} ? {one} : {other}", condition.at(Level::Or))
    }

    fn keeping(&mut self, row: &Row, number: usize) -> String {
        filled(row.keeps[number], |ty| self.value(ty, 1).text)
    }

    /// Writes the clauses of a step that calls a tool, except `when`, `after` and `recover`.
    pub fn call_clauses(&mut self, name: &str, called: &Called) -> String {
        let Some(tool) = called.tool else {
            return String::new();
        };
        let margin = format!("{}    ", self.margin());
        let mut text = String::new();
        let tool = &self.catalog.tools[tool];
        let (read_only, idempotent) = (tool.is_read_only(), tool.effect == "idempotent");
        if !read_only {
            text.push_str(&self.gate());
        }
        if self.dice.one_in(6) {
            writeln!(
                text,
                "{margin}timeout {}",
                self.dice.pick(&["2s", "10s", "30s"])
            )
            .unwrap();
        }
        let polls = read_only && self.dice.one_in(12);
        let until = if polls {
            self.element_condition(name, &called.returns, 0)
        } else {
            None
        };
        if until.is_some() || self.dice.one_in(10) {
            writeln!(
                text,
                "{margin}within {}",
                self.dice.pick(&["1m", "10m", "1h"])
            )
            .unwrap();
        }
        let is_poll = until.is_some();
        if let Some(condition) = until {
            writeln!(
                text,
                "{margin}until {condition} every {}",
                self.dice.pick(&["1s", "5s", "20s"])
            )
            .unwrap();
        }
        if read_only && !is_poll && is_cached(name) {
            writeln!(text, "{margin}cache 1h").unwrap();
        }
        if (read_only || idempotent) && self.dice.one_in(6) {
            let retry = *self.dice.pick(&[
                "{ attempts: 2 }",
                "{ attempts: 5, delay: 100ms, factor: 1.5, max_delay: 2s, jitter: none }",
                "{ attempts: 3, on: [transient.timeout, transient.rate_limited] }",
                "{ delay: 1s, jitter: full }",
                "{ attempts: 2, on_exhausted: pause }",
            ]);
            writeln!(text, "{margin}retry {retry}").unwrap();
        }
        text
    }

    /// Writes `recover` arms for a step. Their values have the type of the step's value.
    pub fn recover(&mut self, tool: Option<usize>, calls: bool, returns: &Ty) -> String {
        let margin = format!("{}    ", self.margin());
        let catalog = self.catalog;
        let mut classes: Vec<String> = vec!["validation.expression".into()];
        if calls {
            classes.extend(["transient", "auth", "validation.result"].map(str::to_owned));
        }
        let (mut read_only, mut raises) = (false, Vec::new());
        if let Some(tool) = tool.map(|tool| &catalog.tools[tool]) {
            raises.clone_from(&tool.fails);
            read_only = tool.is_read_only();
            if tool.effect == "effect" {
                classes.push("unknown_outcome".into());
            }
        }
        classes.extend(raises.iter().map(|name| format!("tool.{name}")));
        let mut text = String::new();
        for _ in 0..self.dice.between(1, 2) {
            if classes.is_empty() {
                break;
            }
            let mut pattern = classes.swap_remove(self.dice.below(classes.len()));
            if classes.len() > 1 && self.dice.one_in(4) {
                write!(
                    pattern,
                    ", {}",
                    classes.swap_remove(self.dice.below(classes.len()))
                )
                .unwrap();
            }
            let arm = self.arm(returns, true);
            writeln!(text, "{margin}recover {pattern}{arm}").unwrap();
        }
        if self.dice.one_in(5) {
            let pattern = *self.dice.pick(&["", " _"]);
            // A step that may have changed something must not be replaced by a constant.
            let arm = self.arm(returns, read_only);
            writeln!(text, "{margin}recover{pattern}{arm}").unwrap();
        }
        text
    }

    /// Returns true if a text calls a tool of the catalog, other than to verify or to undo something.
    pub fn calls_tool(&self, text: &str) -> bool {
        let names = self.catalog.tools.iter();
        let calls = names.map(|tool| format!("{}.{}(", tool.namespace, tool.name));
        let calls: Vec<String> = calls.collect();
        // The margin of the `undo do` that the line is in.
        let mut undo: Option<&str> = None;
        text.lines().any(|line| {
            let (margin, rest) = line.split_at(line.len() - line.trim_start().len());
            if undo.is_some() {
                undo = undo.filter(|undo| *undo != margin);
                return false;
            }
            undo = rest.starts_with("undo do {").then_some(margin);
            !rest.starts_with("verify ")
                && !rest.starts_with("undo ")
                && calls.iter().any(|call| rest.contains(call))
        })
    }

    /// Writes the body of one `recover` arm, including the name of its error.
    fn arm(&mut self, returns: &Ty, may_be_constant: bool) -> String {
        let may_be_constant = may_be_constant && returns.can_be_made();
        let known = self.scope.mark();
        let error = self.dice.one_in(2).then(|| self.names.value(self.dice));
        if let Some(error) = &error {
            self.scope.add(error, Ty::Error, super::scope::Kind::Local);
        }
        let as_error = error
            .map(|error| format!(" as {error}"))
            .unwrap_or_default();
        self.indent += 1;
        let body = match self.dice.below(6) {
            0 | 1 if may_be_constant => self.value(returns, 1).text,
            2 if self.can_call(returns).is_some() => {
                let tool = self.can_call(returns).unwrap();
                self.tool_call(tool).text
            }
            3 => {
                format!(
                    "fail {} \"{}\"",
                    self.dice.pick(&["denied.policy", "tool.failed"]),
                    words::sentence(self.dice)
                )
            }
            4 if may_be_constant => self.do_arm(returns),
            _ => format!("fail transient.unavailable {}", self.template(1).text),
        };
        self.indent -= 1;
        self.scope.close(known);
        format!("{as_error} => {body}")
    }

    /// Returns the index of a tool with results of this type that may be called here.
    pub fn can_call(&self, returns: &Ty) -> Option<usize> {
        let restricted_to_reads = self.restricted_to_reads;
        let fits = |tool: &super::catalog::Callable| {
            tool.returns.fits(returns) && (!restricted_to_reads || tool.is_read_only())
        };
        self.catalog.tools.iter().position(fits)
    }
}

/// Returns how a call passes the parameter at a position, if the contract relates it to another parameter.
fn given_at(called: &Callable, place: usize, given: Option<(Given, Given)>) -> Option<Given> {
    let (pair, (first, second)) = (called.related_pair.as_ref()?, given?);
    match place {
        _ if place == pair.first => Some(first),
        _ if place == pair.second => Some(second),
        _ => None,
    }
}

/// Writes a call that reads nothing, with the required arguments and the pair as given.
fn literal_call(called: &Callable, given: (Given, Given)) -> String {
    let mut arguments = Vec::new();
    for (place, parameter) in called.parameters.iter().enumerate() {
        let value = match given_at(called, place, Some(given)) {
            Some(Given::Absent) => continue,
            Some(Given::False) => "false".to_owned(),
            Some(Given::True) => "true".to_owned(),
            None if !parameter.required => continue,
            None | Some(Given::There) => match parameter.row {
                Some(row) => literal(row.keeps[0]),
                None => parameter.ty.literal(),
            },
        };
        arguments.push(format!("{}: {value}", parameter.name));
    }
    format!("{}({})", called.path(), arguments.join(", "))
}

/// Decides by the name whether a step is cached: about one in eight is.
fn is_cached(name: &str) -> bool {
    let sum: u32 = name.bytes().map(u32::from).sum();
    sum.is_multiple_of(8)
}
