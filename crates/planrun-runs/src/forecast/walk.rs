//! Walks through a plan in the order of its text, with partial knowledge.

use std::collections::BTreeMap;
use std::sync::Arc;

use planrun_lang::bounds::Bounds;
use planrun_lang::eval::Evaluated;
use planrun_lang::permission::Permissions;
use planrun_lang::secrets::Redactor;
use planrun_lang::sema::expr::CheckedExpr;
use planrun_lang::sema::{BlockId, Listener, Node, NodeKind, Plan};
use planrun_lang::types::{ErrorClass, Validation};
use planrun_lang::value::Value;

use super::knowledge::{Condition, Frame, evaluate, unknown};
use super::{Forecast, ForecastContext, Item, Known, Runs};

/// Maximum number of listed steps.
const MAX_STEPS: usize = 10_000;

/// A failure that is certain.
pub(super) struct Failed {
    pub class: ErrorClass,
    /// The class and the message.
    why: String,
}

impl Failed {
    fn new(class: ErrorClass, message: Option<&Value>) -> Self {
        let why = format!("{class}: {}", plain(message));
        Self { class, why }
    }
}

/// A walk through a plan.
pub(super) struct Walk<'a> {
    pub context: &'a ForecastContext<'a>,
    pub frames: Vec<Frame>,
    pub items: Vec<Item>,
    pub redactor: Redactor,
    reply: Option<Known>,
    truncated: bool,
}

impl<'a> Walk<'a> {
    pub(super) fn new(context: &'a ForecastContext<'a>) -> Self {
        let (frames, items, redactor) = (Vec::new(), Vec::new(), Redactor::default());
        Self {
            context,
            frames,
            items,
            redactor,
            reply: None,
            truncated: false,
        }
    }

    pub(super) fn forecast(
        mut self,
        plan: &Arc<Plan>,
        inputs: &BTreeMap<Arc<str>, Value>,
        bounds: Bounds,
    ) -> Forecast {
        let inputs = inputs
            .iter()
            .map(|(name, value)| (name.clone(), Some(value.clone())))
            .collect();
        let root = self.open_plan(plan, &inputs, self.context.limit);
        let failed = self.block(root, Runs::Yes).err();
        // What was listed before a secret was known may contain it.
        for item in &mut self.items {
            item.redact(&self.redactor);
        }
        let mut calls = BTreeMap::new();
        for effect in self
            .items
            .iter()
            .filter(|item| item.runs != Runs::No && item.kind == "call")
            .filter_map(|item| item.effect)
        {
            *calls.entry(effect).or_insert(0) += 1;
        }
        Forecast {
            version: 1,
            plan: plan.name.clone(),
            dry_run: true,
            steps: self.items,
            calls,
            bounds,
            reply: self.reply.filter(|_| failed.is_none()),
            fails: failed.map(|failed| self.redactor.text(&failed.why).into_owned()),
            truncated: self.truncated,
        }
    }

    /// Creates the frame of a plan, with the known inputs.
    pub(super) fn open_plan(
        &mut self,
        plan: &Arc<Plan>,
        inputs: &BTreeMap<Arc<str>, Option<Value>>,
        limit: Option<&Permissions>,
    ) -> usize {
        let own = plan
            .allow
            .as_ref()
            .and_then(|grant| Permissions::new(grant, self.context.root, self.context.host).ok());
        let permissions = match (own, limit) {
            (Some(own), Some(limit)) => own.within(limit),
            (Some(only), None) => only,
            (None, Some(only)) => only.clone(),
            (None, None) => Permissions::none(),
        };
        let frame = self.frames.len();
        self.frames
            .push(Frame::new(plan, BlockId(0), Arc::new(permissions)));
        for (slot, parameter) in plan.parameters.iter().enumerate() {
            let value = match (inputs.get(&parameter.name), &parameter.default) {
                (Some(given), _) => given.clone(),
                (None, Some(default)) => match evaluate(&self.frames, frame, default) {
                    Evaluated::Value(value) => Some(value),
                    Evaluated::Unknown | Evaluated::Fails(_) => None,
                },
                (None, None) => Some(Value::Null),
            };
            if let Some(value) = &value {
                self.note_secrets(value, &parameter.sensitive);
            }
            if let Some(place) = self.frames[frame].slots.get_mut(slot) {
                *place = value;
            }
        }
        frame
    }

    /// Registers the values at these paths as secrets.
    pub(super) fn note_secrets(&mut self, value: &Value, paths: &[Arc<str>]) {
        let redactor = &mut self.redactor;
        for path in paths {
            planrun_lang::secrets::at_path(value, path, &mut |secret| redactor.add_value(secret));
        }
    }

    /// Walks through the statements of a frame that runs or might run.
    ///
    /// # Errors
    /// The failure with which the block certainly ends.
    pub(super) fn block(&mut self, frame: usize, whole: Runs) -> Result<(), Failed> {
        let plan = self.frames[frame].plan.clone();
        let (mut whole, mut ended) = (whole, None);
        let mut failed = Ok(());
        for (index, node) in plan
            .block(self.frames[frame].block)
            .nodes
            .iter()
            .enumerate()
        {
            if self.items.len() >= MAX_STEPS {
                self.truncated = true;
                return failed;
            }
            let statements = self.context.statements.filter(|_| frame == 0);
            let (runs, reason) = match (statements, self.guard(frame, node)) {
                (Some(statements), _)
                    if u32::try_from(index).is_ok_and(|index| !statements.contains(&index)) =>
                {
                    (Runs::No, Some("not needed"))
                }
                (_, Runs::No) if whole != Runs::No => (Runs::No, Some("guard")),
                (_, guard) => (least(guard, whole), ended),
            };
            if !self.is_untaken(frame, index, node)
                && let Err(failure) = self.node(frame, index, node, (runs, reason))
            {
                // Other statements may go on when a step has failed, but none below a `fail` or an `ensure`.
                if node.step().is_some() {
                    whole = least(whole, Runs::Maybe);
                } else {
                    (whole, ended) = (Runs::No, Some("failed"));
                }
                failed = failed.and(Err(failure));
            }
            // A `reply` or `yield` under a condition skips, or might skip, the statements below.
            if matches!(node.kind, NodeKind::Reply(_) | NodeKind::Yield(_))
                && !node.guard.is_empty()
            {
                match runs {
                    Runs::Yes => (whole, ended) = (Runs::No, Some("replied")),
                    Runs::Maybe => whole = least(whole, Runs::Maybe),
                    Runs::No => {}
                }
            }
        }
        failed
    }

    fn node(
        &mut self,
        frame: usize,
        index: usize,
        node: &Node,
        (runs, reason): (Runs, Option<&'static str>),
    ) -> Result<(), Failed> {
        match &node.kind {
            NodeKind::Condition(code) => {
                self.frames[frame].conditions[index] = self.condition(frame, code, runs);
            }
            NodeKind::Let(code) => {
                let value = match self.guard(frame, node) {
                    Runs::Yes => self.value(frame, code),
                    Runs::Maybe => None,
                    Runs::No => Some(Value::Null),
                };
                self.put(frame, node, value);
            }
            NodeKind::Step(step) => {
                let outcome = self.step(frame, node, step, (runs, reason));
                let known = outcome.as_ref().ok().cloned().flatten();
                let value = match runs {
                    Runs::Yes => known,
                    Runs::Maybe => None,
                    Runs::No => Some(Value::Null).filter(|_| reason == Some("guard")),
                };
                self.put(frame, node, value);
                return outcome.map(drop);
            }
            NodeKind::Ensure { condition, message } if runs == Runs::Yes => {
                let holds = evaluate(&self.frames, frame, condition);
                if matches!(holds, Evaluated::Value(Value::Bool(false))) {
                    let message = self.value(frame, message);
                    let class = ErrorClass::Validation(Validation::Ensure);
                    return Err(Failed::new(class, message.as_ref()));
                }
            }
            NodeKind::Fail(failing) if runs == Runs::Yes => {
                let message = failing.message.as_ref();
                let message = message.and_then(|message| self.value(frame, message));
                return Err(Failed::new(failing.class.clone(), message.as_ref()));
            }
            NodeKind::Reply(code) | NodeKind::Yield(code) if runs != Runs::No => {
                self.reply(frame, code, runs);
            }
            NodeKind::Listener(listener) if runs != Runs::No => {
                self.listener(frame, node, listener);
            }
            NodeKind::Ensure { .. }
            | NodeKind::Fail(_)
            | NodeKind::Reply(_)
            | NodeKind::Yield(_)
            | NodeKind::Next(_)
            | NodeKind::Task(_)
            | NodeKind::Set(_)
            | NodeKind::Listener(_) => {}
        }
        Ok(())
    }

    fn condition(&self, frame: usize, code: &CheckedExpr, runs: Runs) -> Condition {
        match (runs, evaluate(&self.frames, frame, code)) {
            (Runs::No, _) => Condition::Untaken,
            (Runs::Yes, Evaluated::Value(Value::Bool(true))) => Condition::True,
            (Runs::Yes | Runs::Maybe, Evaluated::Value(Value::Bool(false))) => Condition::False,
            (Runs::Yes | Runs::Maybe, _) => Condition::Unknown,
        }
    }

    fn reply(&mut self, frame: usize, code: &CheckedExpr, runs: Runs) {
        let value = self.value(frame, code).filter(|_| runs == Runs::Yes);
        if frame == 0
            && self
                .reply
                .as_ref()
                .is_none_or(|reply| reply.value().is_none())
        {
            self.reply = Some(match &value {
                Some(value) => Known::Value {
                    value: self.redactor.value(value).unwrap_or_else(|| value.clone()),
                },
                None => Known::Unknown {
                    unknown: self.unknown(frame, code),
                },
            });
        }
        let own = &mut self.frames[frame].value;
        if own.is_none() {
            *own = value;
        }
    }

    /// Walks through the body of a listener, which might run any number of times.
    fn listener(&mut self, frame: usize, node: &Node, listener: &Listener) {
        let name = node.name.as_deref().unwrap_or_default();
        let path = format!("{}[*]", self.path(frame, name));
        let inner = self.open_block(frame, listener.body, path);
        // What may not run does not certainly fail.
        let _ = self.block(inner, Runs::Maybe);
    }

    /// Creates a frame for a block that can read the names of another frame.
    pub(super) fn open_block(&mut self, outer: usize, block: BlockId, path: String) -> usize {
        let (plan, permissions) = (
            self.frames[outer].plan.clone(),
            self.frames[outer].permissions.clone(),
        );
        let path = match &plan.block(block).label {
            Some(label) => format!("{path}.{label}"),
            None => path,
        };
        self.frames.push(Frame {
            outer: Some(outer),
            path,
            ..Frame::new(&plan, block, permissions)
        });
        self.frames.len() - 1
    }

    fn guard(&self, frame: usize, node: &Node) -> Runs {
        let conditions = &self.frames[frame].conditions;
        node.guard.iter().fold(Runs::Yes, |runs, atom| {
            let holds = match conditions[atom.condition.0 as usize] {
                Condition::True if !atom.negated => Runs::Yes,
                Condition::False if atom.negated => Runs::Yes,
                Condition::True | Condition::False | Condition::Untaken => Runs::No,
                Condition::Unknown => Runs::Maybe,
            };
            least(runs, holds)
        })
    }

    /// Returns the value of an expression, if it is known.
    pub(super) fn value(&self, frame: usize, code: &CheckedExpr) -> Option<Value> {
        match evaluate(&self.frames, frame, code) {
            Evaluated::Value(value) => Some(value),
            Evaluated::Unknown | Evaluated::Fails(_) => None,
        }
    }

    /// Returns the description of an expression whose value is unknown.
    pub(super) fn unknown(&self, frame: usize, code: &CheckedExpr) -> super::Unknown {
        let own = Arc::ptr_eq(&self.frames[frame].plan, &self.frames[0].plan);
        let text = own.then(|| {
            self.context
                .source
                .slice(code.span)
                .to_owned()
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
        });
        unknown(
            &self.frames,
            frame,
            code,
            text.map(|text| self.redactor.text(&text).into_owned()),
        )
    }

    /// Returns true if a statement does not run and another branch of its `if` has the same name, so that the other one
    /// is listed.
    fn is_untaken(&self, frame: usize, index: usize, node: &Node) -> bool {
        let block = self.frames[frame].plan.block(self.frames[frame].block);
        let Some(siblings) = block.siblings(node) else {
            return false;
        };
        let skipped = |node: &Node| self.guard(frame, node) == Runs::No;
        let mut others = siblings
            .iter()
            .map(|other| *other as usize)
            .filter(|other| *other != index);
        let last = others.clone().all(|other| other < index);
        let none_runs = others.all(|other| block.nodes.get(other).is_some_and(skipped));
        skipped(node) && !(last && none_runs)
    }

    fn put(&mut self, frame: usize, node: &Node, value: Option<Value>) {
        let place = node
            .slot
            .and_then(|slot| self.frames[frame].slots.get_mut(slot as usize));
        if let Some(place) = place {
            *place = value;
        }
    }

    /// Returns the path of a name in a frame.
    pub(super) fn path(&self, frame: usize, name: &str) -> String {
        let outer = &self.frames[frame].path;
        if outer.is_empty() {
            name.to_owned()
        } else {
            format!("{outer}.{name}")
        }
    }
}

/// Combines both: whether something happens that requires both.
fn least(one: Runs, other: Runs) -> Runs {
    match (one, other) {
        (Runs::No, _) | (_, Runs::No) => Runs::No,
        (Runs::Maybe, _) | (_, Runs::Maybe) => Runs::Maybe,
        (Runs::Yes, Runs::Yes) => Runs::Yes,
    }
}

fn plain(value: Option<&Value>) -> String {
    value.map_or_else(String::new, |value| {
        value
            .as_str()
            .map_or_else(|| value.to_json_text(), str::to_owned)
    })
}
