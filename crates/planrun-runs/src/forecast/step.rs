//! Forecasts one step: what it calls, with which arguments, and whether it needs an approval.

use std::collections::BTreeMap;
use std::sync::Arc;

use planrun_lang::call::sensitive_arguments;
use planrun_lang::secrets::{Redactor, redact_paths};
use planrun_lang::sema::expr::CheckedExpr;
use planrun_lang::sema::expr::Matcher;
use planrun_lang::sema::{BlockId, Call, Each, Input, Node, Repeat, Step, StepKind, Target, Wait};
use planrun_lang::types::{Signature, Type};
use planrun_lang::value::{Key, Value};
use planrun_tools::tools::{Origin, RequiredPermission};
use serde_json::Map;

use super::walk::Walk;
use super::{Gate, Item, Known, Permission, Runs};

/// Whether a step runs, and why not.
type Decision = (Runs, Option<&'static str>);

impl Walk<'_> {
    /// Lists a step and what it holds. Returns its value, if it is known without calling anything.
    pub(super) fn step(
        &mut self,
        frame: usize,
        node: &Node,
        step: &Step,
        decision: Decision,
    ) -> Option<Value> {
        let name = node.name.as_deref().unwrap_or_default();
        let path = self.path(frame, name);
        let mut item = Item::new(path.clone(), step, decision);
        if decision.0 == Runs::No {
            (item.tool, item.effect) = called(step);
            self.items.push(item);
            return None;
        }
        item.confirm = self.gate(frame, step);
        match &step.kind {
            StepKind::Call(call) => self.call(frame, call, step, item),
            StepKind::Do(body) => {
                self.items.push(item);
                self.body(frame, *body, path, decision.0)
            }
            StepKind::Each(each) => self.each(frame, each, item),
            StepKind::Repeat(repeat) => {
                self.repeat(frame, repeat, item);
                None
            }
            StepKind::Race(branches) => {
                self.items.push(item);
                for (_, body) in branches {
                    self.body(frame, *body, path.clone(), decision.0);
                }
                None
            }
            StepKind::Match { subject, arms } => {
                self.list_value(frame, "value", subject, &mut item);
                self.items.push(item);
                self.arms(frame, (subject, arms), &path, decision.0)
            }
            StepKind::Input(input) => {
                self.form(frame, input, step, item);
                None
            }
            StepKind::Wait(wait) => {
                self.wait(frame, wait, item);
                None
            }
            StepKind::Damaged => {
                self.items.push(item);
                None
            }
        }
    }

    /// Walks through the arm that is taken, or through all arms if that is not known.
    fn arms(
        &mut self,
        frame: usize,
        (subject, arms): (&CheckedExpr, &[(Matcher, BlockId)]),
        path: &str,
        runs: Runs,
    ) -> Option<Value> {
        let value = self.value(frame, subject);
        let matching = |value: &Value| arms.iter().find(|(matcher, _)| matcher.matches(value));
        if let Some((_, body)) = value.as_ref().and_then(matching) {
            return self.body(frame, *body, path.to_owned(), runs);
        }
        for (_, body) in arms {
            self.body(frame, *body, path.to_owned(), Runs::Maybe);
        }
        None
    }

    /// Walks through a block that a step holds. Returns its value, if it is known.
    fn body(&mut self, frame: usize, body: BlockId, path: String, runs: Runs) -> Option<Value> {
        let inner = self.open_block(frame, body, path);
        self.block(inner, runs);
        self.frames[inner].value.clone()
    }

    /// Lists a form with its known and prefilled fields.
    fn form(&mut self, frame: usize, input: &Input, step: &Step, mut item: Item) {
        for field in input
            .fields
            .iter()
            .filter(|field| field.sensitive.is_empty())
        {
            if let Some(code) = field.known.as_ref().or(field.prefill.as_ref()) {
                self.list_value(frame, &field.name, code, &mut item);
            }
        }
        item.confirm = Some(self.question(frame, &input.prompt, input.by.as_ref(), step.within()));
        self.items.push(item);
    }

    fn wait(&mut self, frame: usize, wait: &Wait, mut item: Item) {
        match wait {
            Wait::For(code) => self.list_value(frame, "for", code, &mut item),
            Wait::Until(code) => self.list_value(frame, "until", code, &mut item),
            Wait::Event { .. } => {}
        }
        self.items.push(item);
    }

    fn call(&mut self, frame: usize, call: &Call, step: &Step, mut item: Item) -> Option<Value> {
        (item.tool, item.effect) = called(step);
        let mut known: Vec<(Arc<str>, Option<Value>)> = Vec::new();
        for (name, code) in &call.arguments {
            let value = self.value(frame, code);
            if value.is_none() {
                item.unknown
                    .insert(name.to_string(), self.unknown(frame, code));
            }
            known.push((name.clone(), value));
        }
        match &call.target {
            Target::Tool(signature) => {
                let value = self.tool(frame, signature, &known, &mut item);
                self.items.push(item);
                value.filter(|_| step.until().is_none())
            }
            Target::Plan(index, _) => {
                let plan = self.frames[frame].plan.plans.get(*index)?.clone();
                let (path, runs) = (item.path.clone(), item.runs);
                let inputs = known.into_iter().collect();
                let permissions = self.frames[frame].permissions.clone();
                let inner = self.open_plan(&plan, &inputs, Some(&permissions));
                self.frames[inner].path = path;
                for (name, value) in inputs {
                    let value = value.map(|value| self.redactor.value(&value).unwrap_or(value));
                    item.arguments
                        .extend(value.map(|value| (name.to_string(), value.to_json())));
                }
                self.items.push(item);
                self.block(inner, runs);
                self.frames[inner].value.clone()
            }
        }
    }

    /// Lists the known arguments of a tool. Returns its result, if it is known.
    fn tool(
        &mut self,
        frame: usize,
        signature: &Signature,
        known: &[(Arc<str>, Option<Value>)],
        item: &mut Item,
    ) -> Option<Value> {
        let values = known
            .iter()
            .filter_map(|(name, value)| Some((Key::String(name.clone()), value.clone()?)));
        let arguments = Value::object(values);
        let labels = sensitive_arguments(signature, &arguments);
        self.note_secrets(&arguments, &labels);
        let redacted = redact_paths(&arguments, &labels);
        let redacted = self.redactor.value(&redacted).unwrap_or(redacted);
        for (name, value) in redacted.as_map().into_iter().flatten() {
            item.arguments.insert(name.to_string(), value.to_json());
        }
        let place = (self.context.host, self.context.root);
        let required = RequiredPermission::of(signature, Origin::Plan, &arguments, place);
        item.permission = required.setting().map(|(allow, thing)| Permission {
            allow,
            granted: required.check(&self.frames[frame].permissions).is_ok(),
            thing: self.redactor.text(&thing).into_owned(),
        });
        if signature.returns == Type::Null {
            return Some(Value::Null);
        }
        let back = signature.returned_argument.as_ref()?;
        known.iter().find(|(name, _)| name == back)?.1.clone()
    }

    fn each(&mut self, frame: usize, each: &Each, mut item: Item) -> Option<Value> {
        self.list_value(frame, "list", &each.list, &mut item);
        let (path, runs) = (item.path.clone(), item.runs);
        self.items.push(item);
        let Some(Value::List(elements)) = self.value(frame, &each.list) else {
            let inner = self.open_block(frame, each.body, format!("{path}[*]"));
            self.block(inner, Runs::Maybe);
            return None;
        };
        let mut values = Vec::new();
        for (index, element) in elements.iter().enumerate() {
            let inner = self.open_block(frame, each.body, String::new());
            let index_value = Value::Int(i64::try_from(index).unwrap_or(i64::MAX));
            for (slot, value) in [element.clone(), index_value].into_iter().enumerate() {
                if let Some(place) = self.frames[inner].slots.get_mut(slot) {
                    *place = Some(value);
                }
            }
            let key = each.by.as_ref().and_then(|by| self.value(inner, by));
            let label = key.map_or_else(
                || index.to_string(),
                |key| self.redactor.value(&key).unwrap_or(key).to_json_text(),
            );
            self.frames[inner].path = format!("{path}[{label}]");
            self.block(inner, runs);
            values.push(self.frames[inner].value.clone());
        }
        let values: Option<Vec<Value>> = values.into_iter().collect();
        values.filter(|_| !each.settle).map(Value::list)
    }

    /// Walks through the first round, and through one for all further rounds, whose number is not known.
    fn repeat(&mut self, frame: usize, repeat: &Repeat, mut item: Item) {
        self.list_value(frame, "first", &repeat.initial, &mut item);
        let (path, runs) = (item.path.clone(), item.runs);
        self.items.push(item);
        let first = self.value(frame, &repeat.initial);
        for (label, runs, state) in [("0", runs, first), ("*", Runs::Maybe, None)] {
            let inner = self.open_block(frame, repeat.body, format!("{path}[{label}]"));
            if let Some(place) = self.frames[inner].slots.first_mut() {
                *place = state;
            }
            self.block(inner, runs);
        }
    }

    /// Lists the value that a step which holds others, or waits, begins with.
    fn list_value(&mut self, frame: usize, name: &str, code: &CheckedExpr, item: &mut Item) {
        match self.known(frame, code) {
            Known::Value { value } => drop(item.arguments.insert(name.to_owned(), value.to_json())),
            Known::Unknown { unknown } => drop(item.unknown.insert(name.to_owned(), unknown)),
        }
    }

    fn gate(&self, frame: usize, step: &Step) -> Option<Gate> {
        let confirm = step.clauses.as_ref()?.confirm.as_ref()?;
        Some(self.question(
            frame,
            &confirm.text,
            confirm.by.as_ref(),
            confirm.expires.as_ref(),
        ))
    }

    fn question(
        &self,
        frame: usize,
        text: &CheckedExpr,
        by: Option<&CheckedExpr>,
        expires: Option<&CheckedExpr>,
    ) -> Gate {
        let known = |code: &CheckedExpr| self.known(frame, code);
        Gate {
            text: known(text),
            by: by.map(known),
            expires: expires.map(known),
        }
    }

    fn known(&self, frame: usize, code: &CheckedExpr) -> Known {
        match self.value(frame, code) {
            Some(value) => Known::Value {
                value: self.redactor.value(&value).unwrap_or(value),
            },
            None => Known::Unknown {
                unknown: self.unknown(frame, code),
            },
        }
    }
}

impl Item {
    /// Redacts secrets in its arguments and its question.
    pub(super) fn redact(&mut self, secrets: &Redactor) {
        for value in self.arguments.values_mut() {
            secrets.json(value);
        }
        if let Some(Known::Value { value }) = self.confirm.as_mut().map(|gate| &mut gate.text)
            && let Some(redacted) = secrets.value(value)
        {
            *value = redacted;
        }
    }

    fn new(path: String, step: &Step, (runs, reason): Decision) -> Self {
        Self {
            path,
            kind: kind(step),
            tool: None,
            effect: None,
            runs,
            reason,
            arguments: Map::new(),
            unknown: BTreeMap::new(),
            confirm: None,
            permission: None,
        }
    }
}

fn kind(step: &Step) -> &'static str {
    match &step.kind {
        StepKind::Call(call) => match call.target {
            Target::Tool(_) => call.word().unwrap_or("call"),
            Target::Plan(..) => "plan",
        },
        StepKind::Damaged => "damaged",
        kind => kind.word().unwrap_or_default(),
    }
}

fn called(step: &Step) -> (Option<String>, Option<&'static str>) {
    let call = step.call();
    (call.map(Call::path), call.map(|call| call.effect.name()))
}
