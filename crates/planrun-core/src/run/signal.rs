//! What comes from outside while a run goes on, signals and moves of `external` tasks, and the steps that wait for it.

use std::collections::BTreeSet;
use std::sync::Arc;

use indexmap::IndexMap;
use planrun_lang::protocol::StepState;
use planrun_lang::sema::{
    Event, EventKind as Condition, NodeKind, Status, StepKind, Task, TaskId, Wait,
};
use planrun_lang::types::{ErrorClass, Type, Validation, decode};
use planrun_lang::value::{Key, Value};
use serde_json::Value as Json;

use super::Program;
use super::command::Command;
use super::event::Subject;
use super::machine::{NodeRef, Run};
use super::settle::End;
use super::task::fit;
use crate::journal::{AnswerError, EventKind, Said, StepError};

impl Run {
    /// Takes the oldest message; false where there is none.
    pub(super) fn take_message(&mut self) -> bool {
        if self.is_let_go() {
            return false;
        }
        let Some(message) = self.recording.next_message() else {
            return false;
        };
        let id = message.id;
        let at = message
            .at
            .map_or_else(|| self.now.wall, |at| at.min(self.now.wall));
        self.end_waits_before(at);
        match Said::read(&message.text) {
            Ok(Said::Signal(signal)) => {
                self.receive_signal(&signal.name, &signal.payload, Some(id))
            }
            Ok(Said::Move(moved)) => {
                self.receive_move(&moved.task, &moved.status, &moved.context, Some(id))
            }
            Ok(Said::Answer(given)) => {
                self.receive_answer(&given, at);
                self.message_taken(Some(id));
            }
            Ok(Said::Cancel(cancel)) => {
                self.stop(cancel.keep);
                if cancel.force {
                    self.abandon_undo();
                }
                self.message_taken(Some(id));
            }
            Err(fault) => {
                self.commands
                    .push(Command::Refuse(AnswerError::Unreadable(fault)));
                self.message_taken(Some(id));
            }
        }
        true
    }

    /// What was said when the time of a wait was over already comes too late for it, whenever a process hears of it.
    fn end_waits_before(&mut self, at: i128) {
        let ago = u64::try_from((self.now.wall - at) / 1000).unwrap_or(0);
        let then = self.real_elapsed().saturating_sub(ago);
        let over = |at: &NodeRef| {
            self.within
                .get(at)
                .is_some_and(|within| within.until <= then)
        };
        let late: Vec<NodeRef> = self.reactions.waits.iter().copied().filter(over).collect();
        for at in late {
            self.within_is_over(at);
        }
    }

    /// A signal has come. It is an event, and kept until a `wait for` takes it.
    pub(super) fn receive_signal(&mut self, name: &str, payload: &Json, message: Option<u64>) {
        let misfit = payload_types(&self.scopes[0].program, name)
            .into_iter()
            .find_map(|ty| decode(payload, &ty).err());
        let refused = misfit
            .map(|mismatch| format!("the payload does not have the declared type: {mismatch}"));
        let value = Value::from_json(payload);
        self.emit(EventKind::SignalReceived {
            signal: name.into(),
            payload: value.clone(),
            refused: refused.as_deref().map(Into::into),
        });
        self.message_taken(message);
        if refused.is_some() {
            return;
        }
        let name: Arc<str> = name.into();
        self.reactions.latest = Some(value.clone());
        self.reactions
            .signals
            .entry(name.clone())
            .or_default()
            .push_back(value);
        self.commit(&[Subject::Signal(name)]);
    }

    /// Somebody outside moves a task.
    pub(super) fn receive_move(
        &mut self,
        name: &str,
        status: &str,
        context: &Json,
        message: Option<u64>,
    ) {
        let program = self.scopes[0].program.clone();
        let found = self.reactions.tasks.keys().copied().find(|at| {
            let own = self.frames[at.0].scope == 0;
            own && *self.task_path(*at) == *name
        });
        let moved = match found {
            Some(at) => {
                external_move(program.plan.task(at.1), status, context).map(|moved| (at, moved))
            }
            None => Err(format!("there is no task `{name}`")),
        };
        let (raw, refused) = (Value::from_json(context), moved.as_ref().err().cloned());
        self.emit(EventKind::TaskMoved {
            path: name.into(),
            status: status.into(),
            context: raw,
            refused: refused.map(Into::into),
        });
        self.message_taken(message);
        if let Ok((at, (status, given))) = moved {
            self.change(at, status, &given, "signal".into(), None);
            self.commit(&[Subject::Task(at)]);
        }
    }

    /// `wait for`: goes on at once where what it waits for is true already.
    pub(super) fn start_wait(&mut self, program: &Arc<Program>, at: NodeRef, on: &Event) {
        self.frames[at.0].node(at.1).state = StepState::Waiting;
        self.reactions.waits.insert(at);
        self.wake_if_met(program, at, on, &[]);
    }

    /// Lets a waiting step go on, if its condition holds. Signals that came earlier count, until somebody takes them.
    pub(super) fn wake_if_met(
        &mut self,
        program: &Arc<Program>,
        at: NodeRef,
        on: &Event,
        subjects: &[Subject],
    ) {
        let mut seen: Vec<Subject> = subjects.to_vec();
        seen.retain(|subject| !matches!(subject, Subject::Signal(_)));
        on.leaves(&mut |leaf| {
            if let Condition::Signal(name) = &leaf.kind
                && self
                    .reactions
                    .signals
                    .get(name)
                    .is_some_and(|queue| !queue.is_empty())
            {
                seen.push(Subject::Signal(name.clone()));
            }
        });
        if !self.holds(at.0, on, &seen) {
            return;
        }
        let source = self.source(at.0, on, &seen);
        let brought = match source.map(|leaf| (&leaf.kind, leaf)) {
            Some((Condition::Signal(name), _)) => self
                .reactions
                .signals
                .get_mut(name)
                .and_then(std::collections::VecDeque::pop_front),
            Some((_, leaf)) => Some(self.brought(at.0, leaf)),
            None => None,
        };
        let brought = brought.unwrap_or(Value::Null);
        let outcome = match declared(on, source, payload_type(self.node(program, at))) {
            Some(ty) => decode(&brought.to_json(), ty).map_err(|mismatch| {
                let message =
                    format!("what the event brings does not have the declared type: {mismatch}");
                let class = ErrorClass::Validation(Validation::Expression);
                Arc::new(StepError::new(class, message, &self.path(program, at)))
            }),
            None => Ok(brought),
        };
        self.reactions.waits.remove(&at);
        self.reactions.due.push_back((at, outcome));
    }

    /// The next step whose event has come goes on; false where there is none.
    pub(super) fn wake_due(&mut self) -> bool {
        let Some((at, outcome)) = self.reactions.due.pop_front() else {
            return false;
        };
        if self.state_of(at) == StepState::Waiting {
            self.compounds.remove(&at);
            match outcome {
                Ok(value) => self.settle(at, End::Completed(value)),
                Err(error) => self.step_failed(at, error),
            }
        }
        true
    }
}

/// The type that a condition declares for what its source brings: that of signals, or of whatever comes where the
/// condition speaks of no signal.
pub(super) fn declared<'t>(
    on: &Event,
    source: Option<&Event>,
    payload: Option<&'t Type>,
) -> Option<&'t Type> {
    let mut signals = false;
    on.leaves(&mut |leaf| signals |= matches!(leaf.kind, Condition::Signal(_)));
    let is_signal = source.is_some_and(|source| matches!(source.kind, Condition::Signal(_)));
    payload.filter(|_| is_signal || !signals)
}

/// A value by the type that somebody declared for it; as it is where it does not fit, which readers find out.
pub(super) fn typed(value: &Value, ty: &Type) -> Value {
    decode(&value.to_json(), ty).unwrap_or_else(|_| value.clone())
}

fn payload_type(node: &planrun_lang::sema::Node) -> Option<&Type> {
    let StepKind::Wait(wait) = &node.step()?.kind else {
        return None;
    };
    if let Wait::Event { payload, .. } = &**wait {
        payload.as_ref()
    } else {
        None
    }
}

/// Why a plan does not take a signal, where it does not: nothing waits for it, or the payload does not fit.
///
/// # Errors
/// A sentence that says so.
pub fn accepts_signal(program: &Program, name: &str, payload: &Json) -> Result<(), String> {
    let mut known = BTreeSet::new();
    signals(program, &mut known);
    if !known.contains(name) {
        let known = known
            .iter()
            .map(|known| format!("`{known}`"))
            .collect::<Vec<_>>()
            .join(", ");
        let known = if known.is_empty() {
            "no signal at all".to_owned()
        } else {
            known
        };
        return Err(format!(
            "nothing in the plan waits for the signal `{name}`; it waits for {known}"
        ));
    }
    let misfit = payload_types(program, name)
        .into_iter()
        .find_map(|ty| decode(payload, &ty).err());
    misfit.map_or(Ok(()), |mismatch| {
        Err(format!(
            "the payload of `{name}` does not have the declared type: {mismatch}"
        ))
    })
}

/// Why nobody outside may move a task so, where that is so.
///
/// # Errors
/// A sentence that says so.
pub fn accepts_move(task: &Task, status: &str, context: &Json) -> Result<(), String> {
    external_move(task, status, context).map(drop)
}

fn signals(program: &Program, known: &mut BTreeSet<Arc<str>>) {
    for on in program
        .plan
        .blocks
        .iter()
        .flat_map(|block| &block.nodes)
        .filter_map(|node| node.event())
    {
        on.leaves(&mut |leaf| {
            if let Condition::Signal(name) = &leaf.kind {
                known.insert(name.clone());
            }
        });
    }
    program
        .plans
        .iter()
        .for_each(|called| signals(called, known));
}

/// The types that a plan, and those that it calls, declare for a signal.
fn payload_types(program: &Program, name: &str) -> Vec<Type> {
    let mut types = Vec::new();
    for node in program.plan.blocks.iter().flat_map(|block| &block.nodes) {
        let mut named = false;
        let Some(on) = node.event() else { continue };
        on.leaves(&mut |leaf| {
            named |= matches!(&leaf.kind, Condition::Signal(own) if **own == *name)
        });
        let ty = match &node.kind {
            NodeKind::Listener(listener) => listener.payload.as_ref(),
            _ => payload_type(node),
        };
        types.extend(ty.filter(|_| named).cloned());
    }
    types.extend(
        program
            .plans
            .iter()
            .flat_map(|called| payload_types(called, name)),
    );
    types
}

/// What a move from outside comes to, or why it is refused.
fn external_move(task: &Task, status: &str, context: &Json) -> Result<(Status, Value), String> {
    if !task.external {
        return Err(format!(
            "`{}` is not declared `external`, so only the plan moves it",
            task.name
        ));
    }
    let found = task.status(status).ok_or_else(|| {
        let known = task
            .statuses
            .iter()
            .map(|known| &**known)
            .collect::<Vec<_>>()
            .join(", ");
        format!("`{}` has no status `{status}`; it has {known}", task.name)
    })?;
    let fields = match context {
        Json::Null => return Ok((found, Value::Null)),
        Json::Object(fields) => fields,
        _ => return Err(format!("the context of `{}` is an object", task.name)),
    };
    let mut given: IndexMap<Key, Value> = IndexMap::new();
    for (name, json) in fields {
        let value = match field_type(task, name) {
            Some(ty) if !json.is_null() => decode(json, ty).map_err(|mismatch| {
                format!(
                    "`{name}` in the context of `{}` does not fit: {mismatch}",
                    task.name
                )
            })?,
            Some(_) | None => Value::from_json(json),
        };
        given.insert(Key::String(name.as_str().into()), value);
    }
    let given = Value::Map(Arc::new(given));
    fit(task, &given)?;
    Ok((found, given))
}

fn field_type<'t>(task: &'t Task, name: &str) -> Option<&'t Type> {
    let Type::Object(object) = &task.context else {
        return None;
    };
    object
        .fields
        .iter()
        .find(|field| &*field.name == name)
        .map(|field| &field.ty)
}

/// Whether somebody outside can make something of a condition happen.
pub(super) fn comes_from_outside(on: &Event, task: impl Fn(TaskId) -> bool) -> bool {
    let mut outside = false;
    on.leaves(&mut |leaf| {
        outside |= match &leaf.kind {
            Condition::Signal(_) => true,
            Condition::Task { task: id, .. } => task(*id),
            Condition::Step { .. }
            | Condition::Plan(_)
            | Condition::Not(_)
            | Condition::All(_)
            | Condition::Any(_)
            | Condition::Damaged => false,
        };
    });
    outside
}
