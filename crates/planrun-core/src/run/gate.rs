//! `confirm`: nothing goes out before somebody has agreed to it, as it is.

use std::sync::Arc;
use std::time::Duration;

use planrun_lang::eval::EvalError;
use planrun_lang::protocol::StepState;
use planrun_lang::sema::expr::Code;
use planrun_lang::sema::{Call, Confirm, Step, StepKind, Target};
use planrun_lang::types::ErrorClass;
use planrun_lang::value::Value;

use super::Program;
use super::attempt::tool_call;
use super::leaf::Leaf;
use super::machine::{NodeRef, Run, Timer};
use super::policy::ToolNames;
use super::reached::Reached;
use super::sensitive::in_arguments;
use crate::journal::{Question, StepError, Waiting};

/// What stands before a step.
enum Gate<'s> {
    /// Its own `confirm`.
    Own(&'s Confirm),
    /// The project wants a yes before every call of this tool.
    Project(String),
}

/// Somebody's yes.
pub(super) struct Approval {
    question: Arc<Question>,
    /// Whether something has gone out on it.
    used: bool,
}

impl Run {
    /// Whether a step must wait for an approval before it begins; asks for it then.
    pub(super) fn needs_approval(
        &mut self,
        program: &Arc<Program>,
        at: NodeRef,
        step: &Step,
    ) -> bool {
        let Some(gate) = self.gate(at, step) else {
            return false;
        };
        if self.people.approvals.contains_key(&at) {
            return false;
        }
        if self.is_let_go() {
            // The next process asks.
            return true;
        }
        match self.shown(at, step) {
            Ok(arguments) => {
                let path = self.path(program, at);
                if let Some((.., signature)) = tool_call(program, self, at)
                    && self.needs_no_call(&path, &signature, &arguments)
                {
                    return false;
                }
                let execution = self.first_execution(&path);
                self.ask_for_approval(program, at, (step, &gate), arguments, execution);
            }
            Err(error) => self.step_failed(at, error),
        }
        true
    }

    /// What an approval was given for.
    pub(super) fn approved_arguments(&self, at: NodeRef) -> Option<Value> {
        self.people
            .approvals
            .get(&at)
            .map(|approval| approval.question.arguments.clone())
    }

    /// Whether the next attempt at a call is of an execution that nobody has approved of.
    pub(super) fn must_ask_again(&self, at: NodeRef) -> bool {
        let Some(approval) = self.people.approvals.get(&at) else {
            return false;
        };
        let Some(leaf) = self.leaves.get(&at) else {
            return false;
        };
        let program = self.program(at.0);
        let step = self.node(&program, at).step();
        step.is_some_and(|step| {
            self.approved_execution(at, step, leaf) != approval.question.execution
        })
    }

    /// Asks before another execution of a call that has begun.
    pub(super) fn ask_again(&mut self, at: NodeRef) {
        let program = self.program(at.0);
        let Some((step, ..)) = tool_call(&program, self, at) else {
            return;
        };
        let Some(leaf) = self.leaves.get(&at) else {
            return;
        };
        let (arguments, execution) = (
            leaf.arguments.clone(),
            self.approved_execution(at, step, leaf),
        );
        if let Some(gate) = self.gate(at, step) {
            self.ask_for_approval(&program, at, (step, &gate), arguments, execution);
        }
    }

    /// What stands before a step. What looks at a step, or takes it back, passes no gate.
    fn gate<'s>(&self, at: NodeRef, step: &'s Step) -> Option<Gate<'s>> {
        if let Some(confirm) = step
            .clauses
            .as_ref()
            .and_then(|clauses| clauses.confirm.as_ref())
        {
            return Some(Gate::Own(confirm));
        }
        let StepKind::Call(Call {
            target: Target::Tool(signature),
            ..
        }) = &step.kind
        else {
            return None;
        };
        let wanted = self
            .setup
            .defaults
            .confirm
            .iter()
            .any(|tools| tools.covers(signature));
        (wanted && !self.frames[at.0].aside).then(|| Gate::Project(signature.path()))
    }

    /// The approval is looked at again when it is used: the call comes back if it may go out.
    pub(super) fn with_approval(
        &mut self,
        program: &Arc<Program>,
        at: NodeRef,
        step: &Step,
        leaf: Leaf,
    ) -> Option<Leaf> {
        if self.gate(at, step).is_none() {
            return Some(leaf);
        }
        let path = self.path(program, at);
        let approval = self.people.approvals.get(&at);
        let holds = approval.is_some_and(|approval| {
            let asked = &approval.question;
            let now = Question {
                execution: self.approved_execution(at, step, &leaf),
                arguments: leaf.arguments.clone(),
                ..(**asked).clone()
            };
            self.binding(program, &path, step, &now) == asked.binding
        });
        let expires = approval
            .filter(|approval| holds && !approval.used)
            .and_then(|approval| approval.question.expires);
        if expires.is_some_and(|expires| expires <= self.now.wall) {
            self.give_slot(self.frames[at.0].scope);
            let message =
                "the approval came in time, and was out of date when the call could go out";
            let error = StepError::new(ErrorClass::Expired, message, &path);
            self.step_failed(at, Arc::new(error));
            return None;
        }
        if holds {
            if let Some(approval) = self.people.approvals.get_mut(&at) {
                approval.used = true;
            }
            return Some(leaf);
        }
        self.hold_back(at, leaf);
        self.ask_again(at);
        None
    }

    /// Somebody has agreed.
    pub(super) fn approve(&mut self, at: NodeRef, question: &Arc<Question>) {
        self.reached(at, Reached::Approved);
        self.people.approvals.insert(
            at,
            Approval {
                question: question.clone(),
                used: false,
            },
        );
        if let Some(leaf) = self.leaves.get(&at) {
            let number = leaf.number;
            self.timers.push(std::cmp::Reverse((
                self.now.monotonic,
                number,
                Timer::Again(at, number),
            )));
            return;
        }
        self.frames[at.0].node(at.1).state = StepState::Pending;
        self.ready.push(std::cmp::Reverse(at));
    }

    fn ask_for_approval(
        &mut self,
        program: &Arc<Program>,
        at: NodeRef,
        (step, gate): (&Step, &Gate<'_>),
        arguments: Value,
        execution: u32,
    ) {
        let path = self.path(program, at);
        let mut why =
            (execution > self.first_execution(&path)).then(|| "it is to be done once more".into());
        if let Some(past) = self.recording.asked(&path, Waiting::Confirm, execution) {
            let now = Question {
                arguments: arguments.clone(),
                ..(*past.question).clone()
            };
            if self.binding(program, &path, step, &now) == past.question.binding {
                return self.ask_as_before(program, at, past);
            }
            // What was asked then is not what would be done now, so what was answered is void.
            self.recording.forget_answer(&past.question.path(&path));
            why = Some("what was asked before has changed, so an answer to that is void".into());
        }
        let question = match gate {
            Gate::Own(Confirm {
                text, by, expires, ..
            }) => self.question(at, Waiting::Confirm, text, by.as_ref(), expires.as_ref()),
            Gate::Project(tool) => Ok(Question::plain(Waiting::Confirm, ToolNames::question(tool))),
        };
        let question = match question {
            Ok(question) => question,
            Err(error) => return self.expression_failed(program, at, &error),
        };
        let tool = match &step.kind {
            StepKind::Call(Call {
                target: Target::Tool(signature),
                ..
            }) => signature.path().into(),
            StepKind::Call(Call {
                target: Target::Plan(_, name),
                ..
            }) => name.clone(),
            _ => "".into(),
        };
        let effect = Some(step.effect);
        let mut question = Question {
            execution,
            tool,
            effect,
            arguments,
            why,
            asked_at: self.now.wall,
            ..question
        };
        question.binding = self.binding(program, &path, step, &question);
        question.sensitive = in_arguments(step, &question.arguments);
        self.ask_first(program, at, question);
    }

    /// A question with its text, its role and its end evaluated.
    pub(super) fn question(
        &self,
        at: NodeRef,
        kind: Waiting,
        text: &Code,
        by: Option<&Code>,
        end: Option<&Code>,
    ) -> Result<Question, EvalError> {
        let text_of = |code: &Code| {
            self.evaluate(at.0, code).map(|value| {
                value
                    .as_str()
                    .map_or_else(|| value.preview(200).into(), Arc::from)
            })
        };
        let asked_at = self.now.wall;
        let expires = match end.map(|code| self.evaluate(at.0, code)).transpose()? {
            Some(Value::Duration(nanos)) => Some(whole_milliseconds(asked_at + nanos.max(0))),
            _ => None,
        };
        let by = by.map(text_of).transpose()?;
        Ok(Question {
            by,
            asked_at,
            expires,
            ..Question::plain(kind, text_of(text)?)
        })
    }

    /// What somebody is shown of what a step would do.
    fn shown(&mut self, at: NodeRef, step: &Step) -> Result<Value, Arc<StepError>> {
        let code = match &step.kind {
            StepKind::Call(call) => match &call.target {
                Target::Tool(signature) => return self.arguments(at, call, &signature.clone()),
                Target::Plan(index, _) => {
                    let program = self.program(at.0);
                    let parameters = program
                        .plan
                        .plans
                        .get(*index)
                        .map(|plan| plan.parameters.as_slice());
                    let inputs = self.plan_inputs(at, call, parameters.unwrap_or_default())?;
                    return Ok(Value::object(
                        inputs.iter().map(|(name, value)| (&**name, value.clone())),
                    ));
                }
            },
            StepKind::Each(each) => Some(("list", &each.list)),
            StepKind::Repeat(repeat) => Some(("first", &repeat.initial)),
            StepKind::Match { subject, .. } => Some(("value", &**subject)),
            StepKind::Do(_)
            | StepKind::Race(_)
            | StepKind::Ask(_)
            | StepKind::Infer(_)
            | StepKind::Input(_)
            | StepKind::Wait(_)
            | StepKind::Damaged => None,
        };
        let Some((name, code)) = code else {
            return Ok(self.no_arguments.clone());
        };
        let value = self.evaluate(at.0, code);
        let value = value.map_err(|error| {
            Arc::new(StepError::expression(
                &error,
                &self.program(at.0).plan,
                &self.own_path(at),
            ))
        })?;
        Ok(Value::object([(name, value)]))
    }

    /// The execution that an approval is for: all polls of a step are one thing to agree to.
    fn approved_execution(&self, at: NodeRef, step: &Step, leaf: &Leaf) -> u32 {
        if step.until().is_some() {
            self.first_execution(&self.own_path(at))
        } else {
            leaf.execution
        }
    }

    /// What a step is part of: the statement of the run's plan, where its meaning is known, so that a patch elsewhere
    /// leaves approvals alone; else the whole plan.
    fn definition<'d>(&'d self, program: &'d Program, path: &str) -> &'d [u8] {
        let name = path.split(['.', '[']).next().unwrap_or_default();
        self.setup
            .definitions
            .get(name)
            .map_or(program.plan.digest.as_bytes(), String::as_bytes)
    }

    /// Everything that an approval holds for, as one hash.
    fn binding(&self, program: &Program, path: &str, step: &Step, question: &Question) -> Arc<str> {
        let run = self.setup.run_id.as_bytes();
        let contract = match &step.kind {
            StepKind::Call(Call {
                target: Target::Tool(signature),
                ..
            }) => signature.digest(),
            // The digest of a plan holds those of the plans that it calls.
            _ => String::new(),
        };
        let key = blake3::derive_key("planrun 2026 arguments of an approval", run);
        let arguments = blake3::keyed_hash(&key, question.arguments.to_json_text().as_bytes());
        let expires = question.expires.unwrap_or(-1).to_le_bytes();
        let parts: [&[u8]; 8] = [
            run,
            path.as_bytes(),
            &question.execution.to_le_bytes(),
            self.definition(program, path),
            contract.as_bytes(),
            arguments.as_bytes(),
            question.by.as_deref().unwrap_or_default().as_bytes(),
            &expires,
        ];
        let mut hash = blake3::Hasher::new();
        for part in parts {
            hash.update(&(part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        hash.finalize().to_hex()[..32].into()
    }
}

/// The first moment with whole milliseconds that is not before this one: what is written down is exactly what is kept.
pub(super) fn whole_milliseconds(nanos: i128) -> i128 {
    let milli = i128::try_from(Duration::from_millis(1).as_nanos()).unwrap_or(1);
    nanos.div_euclid(milli) * milli
        + if nanos.rem_euclid(milli) == 0 {
            0
        } else {
            milli
        }
}
