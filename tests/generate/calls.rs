//! Calls of tools and plans: their arguments and their clauses.

use std::fmt::Write as _;

use super::catalog::{Limit, Parameter};
use super::plan::{OTHER, Writer};
use super::readable::Readable;
use super::ty::Ty;
use super::words;

/// A call as text, and what is known of it.
pub struct Called {
    pub text: String,
    pub returns: Ty,
    /// The number of its tool; nothing for a plan.
    pub tool: Option<usize>,
}

impl Writer<'_> {
    /// A call of anything that may be called here.
    pub fn call(&mut self) -> Called {
        if !self.only_reads && self.other.is_some() && self.dice.one_in(8) {
            return self.plan_call();
        }
        let only_reads = self.only_reads;
        let tools: Vec<usize> =
            (0..self.catalog.tools.len()).filter(|tool| !only_reads || self.catalog.tools[*tool].floats()).collect();
        let tool = *self.dice.pick(&tools);
        self.tool_call(tool)
    }

    /// A call of this tool.
    pub fn tool_call(&mut self, tool: usize) -> Called {
        self.note_call(tool);
        let catalog = self.catalog;
        let called = &catalog.tools[tool];
        let mut arguments = Vec::new();
        for parameter in &called.parameters {
            if parameter.required || self.dice.one_in(2) {
                arguments.push(format!("{}: {}", parameter.name, self.argument(parameter)));
            }
        }
        Called { text: self.broken(&called.path(), &arguments), returns: called.returns.clone(), tool: Some(tool) }
    }

    pub fn plan_call(&mut self) -> Called {
        self.note_other();
        let Some(other) = self.other else { return self.tool_call(0) };
        let mut arguments = Vec::new();
        for input in &other.parameters {
            if input.required || self.dice.one_in(2) {
                let value = self.value(&input.ty, 1).text;
                arguments.push(format!("{}: {value}", input.name));
            }
        }
        let text = self.broken(&format!("{OTHER}.{}", other.name), &arguments);
        Called { text, returns: other.returns.clone(), tool: None }
    }

    /// A call on one line, or with a line for each argument.
    fn broken(&self, path: &str, arguments: &[String]) -> String {
        let line = format!("{path}({})", arguments.join(", "));
        if line.len() < 90 {
            return line;
        }
        let margin = self.margin();
        format!("{path}(\n{margin}    {},\n{margin})", arguments.join(&format!(",\n{margin}    ")))
    }

    fn argument(&mut self, parameter: &Parameter) -> String {
        let constant = match parameter.limit {
            Limit::None if parameter.required => return self.value(&parameter.ty, 2).text,
            Limit::None => return self.value(&parameter.ty.clone().optional(), 2).text,
            Limit::Range => self.dice.between(1, 100).to_string(),
            Limit::NotEmpty => format!("\"{}\"", self.dice.pick(&["someone", "某人", "x"])),
            Limit::Pattern => format!("\"WZ{:03}\"", self.dice.below(1000)),
        };
        // Only the run can tell whether what is read keeps the rest of the contract.
        let paths = self.readables();
        let may = |path: &&Readable| path.exact && !path.constant && fits(&path.ty, parameter);
        let fitting: Vec<&Readable> = paths.iter().filter(may).collect();
        if fitting.is_empty() || !self.dice.one_in(4) {
            return constant;
        }
        let path = (*self.dice.pick(&fitting)).clone();
        self.read(&path).text
    }

    /// The clauses of a step that calls a tool, `when`, `after` and `recover` aside.
    pub fn call_clauses(&mut self, name: &str, called: &Called) -> String {
        let Some(tool) = called.tool else { return String::new() };
        let margin = format!("{}    ", self.margin());
        let mut text = String::new();
        let tool = &self.catalog.tools[tool];
        let (floats, idempotent) = (tool.floats(), tool.effect == "idempotent");
        if !floats {
            text.push_str(&self.gate());
        }
        if self.dice.one_in(6) {
            writeln!(text, "{margin}timeout {}", self.dice.pick(&["2s", "10s", "30s"])).unwrap();
        }
        let polls = floats && self.dice.one_in(12);
        let until = if polls { self.element_condition(name, &called.returns, 0) } else { None };
        if until.is_some() || self.dice.one_in(10) {
            writeln!(text, "{margin}within {}", self.dice.pick(&["1m", "10m", "1h"])).unwrap();
        }
        if let Some(condition) = until {
            writeln!(text, "{margin}until {condition} every {}", self.dice.pick(&["1s", "5s", "20s"])).unwrap();
        }
        if (floats || idempotent) && self.dice.one_in(6) {
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

    /// Arms for failures of a step whose value has this type; they give values of it.
    pub fn recover(&mut self, tool: Option<usize>, calls: bool, returns: &Ty) -> String {
        let margin = format!("{}    ", self.margin());
        let catalog = self.catalog;
        let mut classes: Vec<String> = vec!["validation.expression".into()];
        if calls {
            classes.extend(["transient", "auth", "validation.result"].map(str::to_owned));
        }
        let (mut floats, mut raises) = (false, Vec::new());
        if let Some(tool) = tool.map(|tool| &catalog.tools[tool]) {
            raises.clone_from(&tool.fails);
            floats = tool.floats();
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
                write!(pattern, ", {}", classes.swap_remove(self.dice.below(classes.len()))).unwrap();
            }
            let arm = self.arm(returns, true);
            writeln!(text, "{margin}recover {pattern}{arm}").unwrap();
        }
        if self.dice.one_in(5) {
            let pattern = *self.dice.pick(&["", " _"]);
            // What may have changed the world is not to be forgotten.
            let arm = self.arm(returns, floats);
            writeln!(text, "{margin}recover{pattern}{arm}").unwrap();
        }
        text
    }

    /// Whether a text calls a tool of the catalog.
    pub fn calls_tool(&self, text: &str) -> bool {
        self.catalog.tools.iter().any(|tool| text.contains(&format!("{}.{}(", tool.namespace, tool.name)))
    }

    /// What one arm of `recover` does, its error included.
    fn arm(&mut self, returns: &Ty, may_be_constant: bool) -> String {
        let may_be_constant = may_be_constant && returns.can_be_made();
        let known = self.scope.mark();
        let error = self.dice.one_in(2).then(|| self.names.value(self.dice));
        if let Some(error) = &error {
            self.scope.add(error, Ty::Error, super::scope::Kind::Local);
        }
        let as_error = error.map(|error| format!(" as {error}")).unwrap_or_default();
        self.indent += 1;
        let body = match self.dice.below(6) {
            0 | 1 if may_be_constant => self.value(returns, 1).text,
            2 if self.can_call(returns).is_some() => {
                let tool = self.can_call(returns).unwrap();
                self.tool_call(tool).text
            }
            3 => {
                format!("fail {} \"{}\"", self.dice.pick(&["denied.policy", "tool.failed"]), words::sentence(self.dice))
            }
            4 if may_be_constant => self.do_arm(returns),
            _ => format!("fail transient.unavailable {}", self.template(1).text),
        };
        self.indent -= 1;
        self.scope.close(known);
        format!("{as_error} => {body}")
    }

    /// A tool that gives values of this type, and may be called here.
    pub fn can_call(&self, returns: &Ty) -> Option<usize> {
        let only_reads = self.only_reads;
        let fits = |tool: &super::catalog::Callable| tool.returns.fits(returns) && (!only_reads || tool.floats());
        self.catalog.tools.iter().position(fits)
    }
}

/// Whether what is read can keep the contract: of words the check knows that none matches the pattern.
fn fits(ty: &Ty, parameter: &Parameter) -> bool {
    ty.fits(&parameter.ty) && (parameter.limit != Limit::Pattern || !matches!(ty, Ty::Words(_)))
}
