//! `confirm`: a call is sent only after a person has approved it exactly as it is.

use std::collections::BTreeMap;
use std::sync::Arc;

use planrun_lang::eval::EvalError;
use planrun_lang::sema::expr::CheckedExpr;
use planrun_lang::sema::{Confirm, Step, StepKind, Target};
use planrun_lang::types::{ErrorClass, Signature};
use planrun_lang::value::Value;

use super::open_execution;
use super::state::CallState;
use crate::journal::{EndWithoutCall, Question, StepError, Waiting};
use crate::run::agenda::Inquiry;
use crate::run::clock::whole_milliseconds;
use crate::run::consent::Consent;
use crate::run::context::Context;
use crate::run::frame::NodeRef;
use crate::run::policy::ToolNames;
use crate::run::program::Program;
use crate::run::sensitive::in_arguments;

/// Why a step needs an approval.
enum Gate<'s> {
    /// Its own `confirm`.
    Own(&'s Confirm),
    /// The project requires a confirmation before every call of this tool.
    Project(String),
    /// The call exceeds the grant of the run, for this reason.
    Exceeds(String),
}

/// An approval that a person has given.
pub(in crate::run) struct Approval {
    question: Arc<Question>,
    /// Whether an attempt has been sent on it.
    used: bool,
}

/// The result of checking the approval of an attempt.
pub(in crate::run) enum Verdict {
    /// The attempt may be sent.
    Free,
    /// The approval has expired.
    Expired(Arc<StepError>),
    /// A person has to approve the attempt first.
    AskAgain,
}

/// The approvals that people have given.
#[derive(Default)]
pub(in crate::run) struct Approvals {
    given: BTreeMap<NodeRef, Approval>,
    /// The grant for the run as a whole.
    pub consent: Consent,
}

impl Approvals {
    /// Returns true if a step cannot begin now: it needs an approval, which this asks for, or it fails because its
    /// arguments are invalid.
    pub(in crate::run) fn must_be_asked(
        &mut self,
        ctx: &mut Context,
        program: &Arc<Program>,
        at: NodeRef,
        step: &Step,
    ) -> bool {
        let Some(gate) = gate(ctx, at, step) else {
            return false;
        };
        if self.given.contains_key(&at) || self.continues(ctx, at) {
            return false;
        }
        if ctx.is_suspended() {
            // The next process asks.
            return true;
        }
        match displayed_arguments(ctx, at, step) {
            Ok(arguments) => {
                let path = ctx.tree.path(program, at);
                if let Some((.., signature)) = ctx.tree.tool_call(program, at)
                    && needs_no_call(ctx, &path, signature, &arguments)
                {
                    return false;
                }
                let execution = ctx.executions.first(&path);
                ask(ctx, at, (step, &gate), arguments, execution);
            }
            Err(error) => ctx.step_failed(at, error),
        }
        true
    }

    /// Returns the arguments that an approval was given for.
    pub(in crate::run) fn arguments(&self, at: NodeRef) -> Option<Value> {
        self.given
            .get(&at)
            .map(|approval| approval.question.arguments.clone())
    }

    /// Returns true if the next attempt belongs to another execution than the approved one.
    pub(in crate::run) fn is_for_another(
        &self,
        ctx: &Context,
        at: NodeRef,
        step: &Step,
        call: &CallState,
    ) -> bool {
        self.given.get(&at).is_some_and(|approval| {
            approved_execution(ctx, at, step, call) != approval.question.execution
        })
    }

    /// Checks the approval of a call again immediately before an attempt is sent.
    pub(in crate::run) fn check(
        &mut self,
        ctx: &Context,
        at: NodeRef,
        step: &Step,
        call: &CallState,
    ) -> Verdict {
        // The decision of an earlier process stays valid, even if the approval has expired since.
        let recording = &ctx.outbox.recording;
        let recorded = recording.end_without_call(&call.path);
        let is_other = matches!(
            recorded,
            Some(EndWithoutCall::Other | EndWithoutCall::BudgetSpent)
        );
        let asked = recording.question(&call.path, Waiting::Confirm, call.execution);
        if is_other && asked.is_none() || self.gate_of_call(ctx, at, step, call).is_none() {
            return Verdict::Free;
        }
        let program = ctx.tree.program(at.0);
        let path = ctx.tree.path(&program, at);
        let Some(approval) = self.given.get_mut(&at) else {
            return Verdict::AskAgain;
        };
        let asked = &approval.question;
        let now = Question {
            execution: approved_execution(ctx, at, step, call),
            arguments: call.arguments.clone(),
            ..(**asked).clone()
        };
        if binding(ctx, &program, &path, step, &now) != asked.binding {
            return Verdict::AskAgain;
        }
        let expires = asked.expires.filter(|_| !approval.used);
        let has_expired = recorded == Some(EndWithoutCall::ApprovalExpired)
            || expires.is_some_and(|expires| expires <= ctx.outbox.now.wall);
        if has_expired {
            let message =
                "the approval was given in time, but expired before the call could be sent";
            let error = StepError::new(ErrorClass::Expired, message, &path);
            return Verdict::Expired(Arc::new(error));
        }
        approval.used = true;
        Verdict::Free
    }

    /// Records an approval.
    pub(in crate::run) fn approve(&mut self, at: NodeRef, question: Arc<Question>) {
        let used = false;
        self.given.insert(at, Approval { question, used });
    }

    /// Records that an earlier process has announced an attempt on an approval, which then also serves all further
    /// attempts of the same execution.
    pub(in crate::run) fn note_used(&mut self, at: NodeRef, execution: u32) {
        let approval = self.given.get_mut(&at);
        if let Some(approval) = approval.filter(|one| one.question.execution == execution) {
            approval.used = true;
        }
    }

    /// Asks before an attempt at a call that has begun: before another execution, or before a call that was not
    /// approved.
    pub(in crate::run) fn ask_for_another(
        &self,
        ctx: &mut Context,
        at: NodeRef,
        step: &Step,
        call: &CallState,
    ) {
        if let Some(gate) = self.gate_of_call(ctx, at, step, call) {
            let execution = approved_execution(ctx, at, step, call);
            ask(ctx, at, (step, &gate), call.arguments.clone(), execution);
        }
    }

    /// Returns why a call, with its final arguments, needs an approval.
    fn gate_of_call<'s>(
        &self,
        ctx: &Context,
        at: NodeRef,
        step: &'s Step,
        call: &CallState,
    ) -> Option<Gate<'s>> {
        let exceeds = || self.consent.exceeded_by(ctx, at, call).map(Gate::Exceeds);
        gate(ctx, at, step).or_else(exceeds)
    }

    /// Gives a retried step the approval of the execution that it continues. Returns false if there is none, if another
    /// step does again what a step around it had done, or if an earlier process has asked again.
    fn continues(&mut self, ctx: &Context, at: NodeRef) -> bool {
        let path = ctx.tree.own_path(at);
        let open = ctx.executions.open(&path).filter(|open| open.at == at);
        let Some((open, question)) = open.and_then(|open| Some((open, open.approval.as_ref()?)))
        else {
            return false;
        };
        let recording = &ctx.outbox.recording;
        let asked = recording.question(&path, Waiting::Confirm, open.number);
        if asked.is_none() {
            let (question, used) = (question.clone(), true);
            self.given.insert(at, Approval { question, used });
        }
        asked.is_none()
    }

    /// Removes the approval of a step that has ended. If a retry can continue its execution, the approval still holds for
    /// that.
    pub(in crate::run) fn withdraw(&mut self, ctx: &mut Context, at: NodeRef) {
        let approval = self.given.remove(&at).filter(|approval| approval.used);
        let Some(Approval { question, .. }) = approval else {
            return;
        };
        let open = ctx.tree.record_mut(at).open_execution();
        if let Some(open) = open.filter(|open| open.number == question.execution) {
            open.approval = Some(question);
        }
    }
}

/// Returns true if a call with these arguments is not made, so that it needs no approval, or not before it is known
/// whether it has happened.
fn needs_no_call(ctx: &Context, path: &str, signature: &Signature, arguments: &Value) -> bool {
    let copies = ctx.setup.copies.as_ref();
    let recorded = ctx.outbox.recording.step(path);
    recorded.is_some_and(|step| step.copied.is_some())
        || ctx.executions.result(path, arguments).is_some()
        || ctx.executions.in_doubt(path, signature.effect).is_some()
        || copies.is_some_and(|copies| matches!(copies.of(path, signature, arguments), Some(Ok(_))))
}

/// Asks for the approval of one execution.
fn ask(
    ctx: &mut Context,
    at: NodeRef,
    (step, gate): (&Step, &Gate<'_>),
    arguments: Value,
    execution: u32,
) {
    let program = ctx.tree.program(at.0);
    let path = ctx.tree.path(&program, at);
    let mut why =
        (execution > ctx.executions.first(&path)).then(|| "the step is executed again".into());
    if let Some(recorded) = ctx
        .outbox
        .recording
        .asked(&path, Waiting::Confirm, execution)
    {
        let now = Question {
            arguments: arguments.clone(),
            ..(*recorded.question).clone()
        };
        // A call that has been sent was approved as it was then, whatever a patch has made of it.
        let is_same = binding(ctx, &program, &path, step, &now) == recorded.question.binding;
        if is_same || ctx.outbox.recording.has_begun(&path) {
            return ctx.then(Inquiry::AskAgain(at, Box::new(recorded)));
        }
        // The recorded question does not match what would be done now, so its answer is void.
        ctx.outbox
            .recording
            .forget_answer(&recorded.question.path(&path));
        why = Some(
            "the call has changed since the previous question, so an answer to that is void".into(),
        );
    }
    let question = match text_of(ctx, at, step, gate) {
        Ok(question) => question,
        Err(error) => return ctx.expression_failed(at, &error),
    };
    let effect = Some(step.effect);
    let mut question = Question {
        execution,
        tool: called(step),
        effect,
        arguments,
        why: why.or_else(|| question.why.clone()),
        asked_at: ctx.outbox.now.wall,
        ..question
    };
    question.binding = binding(ctx, &program, &path, step, &question);
    question.sensitive = in_arguments(step, &question.arguments);
    ctx.then(Inquiry::Ask(at, Box::new(question)));
}

/// Returns the question of a gate, with its text, role and expiry.
fn text_of(
    ctx: &Context,
    at: NodeRef,
    step: &Step,
    gate: &Gate<'_>,
) -> Result<Question, EvalError> {
    match gate {
        Gate::Own(Confirm {
            text, by, expires, ..
        }) => question_of(
            ctx,
            at,
            Waiting::Confirm,
            text,
            by.as_ref(),
            expires.as_ref(),
        ),
        Gate::Project(tool) => Ok(Question::plain(Waiting::Confirm, ToolNames::question(tool))),
        Gate::Exceeds(why) => Ok(Question {
            why: Some(why.as_str().into()),
            ..Question::plain(Waiting::Confirm, ToolNames::question(&called(step)))
        }),
    }
}

/// Returns the name of the tool or plan that a step calls; empty if it calls nothing.
fn called(step: &Step) -> Arc<str> {
    step.call()
        .map(|call| call.path().into())
        .unwrap_or_default()
}

/// Returns why a step needs an approval, independent of its arguments. Steps of `verify` and `undo` blocks only need
/// their own `confirm`.
fn gate<'s>(ctx: &Context, at: NodeRef, step: &'s Step) -> Option<Gate<'s>> {
    if let Some(confirm) = step.confirm() {
        return Some(Gate::Own(confirm));
    }
    let signature = step.tool()?;
    let is_required = ctx
        .setup
        .defaults
        .confirm
        .iter()
        .any(|tools| tools.covers(signature));
    (is_required && !ctx.tree[at.0].auxiliary).then(|| Gate::Project(signature.path()))
}

/// Creates a question and evaluates its text, role and expiry.
pub(in crate::run) fn question_of(
    ctx: &Context,
    at: NodeRef,
    kind: Waiting,
    text: &CheckedExpr,
    by: Option<&CheckedExpr>,
    end: Option<&CheckedExpr>,
) -> Result<Question, EvalError> {
    let text_of = |code: &CheckedExpr| {
        ctx.tree.evaluate(at.0, code).map(|value| {
            value
                .as_str()
                .map_or_else(|| value.preview(200).into(), Arc::from)
        })
    };
    let asked_at = ctx.outbox.now.wall;
    let expires = match end.map(|code| ctx.tree.evaluate(at.0, code)).transpose()? {
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

/// Returns what a person has to see to approve a step: the arguments of a call, or the value that a block begins with.
/// A call that continues an open execution is sent with the arguments of that execution.
fn displayed_arguments(
    ctx: &mut Context,
    at: NodeRef,
    step: &Step,
) -> Result<Value, Arc<StepError>> {
    let code = match &step.kind {
        StepKind::Call(call) => match &call.target {
            Target::Tool(signature) => {
                let path = ctx.tree.own_path(at);
                if let Some(open) = open_execution(ctx, at, &path) {
                    return Ok(open.arguments);
                }
                return ctx.arguments(at, call, signature);
            }
            Target::Plan(index, _) => {
                let program = ctx.tree.program(at.0);
                let parameters = program
                    .plan
                    .plans
                    .get(*index)
                    .map(|plan| plan.parameters.as_slice());
                let inputs = ctx.plan_inputs(at, call, parameters.unwrap_or_default())?;
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
        | StepKind::Input(_)
        | StepKind::Wait(_)
        | StepKind::Damaged => None,
    };
    let Some((name, code)) = code else {
        return Ok(ctx.no_arguments.clone());
    };
    let value = ctx.tree.evaluate(at.0, code);
    let value = value.map_err(|error| {
        Arc::new(StepError::expression(
            &error,
            &ctx.tree.program(at.0).plan,
            &ctx.tree.own_path(at),
        ))
    })?;
    Ok(Value::object([(name, value)]))
}

/// Returns the execution that an approval applies to. All polls of a step share one approval.
fn approved_execution(ctx: &Context, at: NodeRef, step: &Step, leaf: &CallState) -> u32 {
    if step.until().is_some() {
        ctx.executions.first(&ctx.tree.own_path(at))
    } else {
        leaf.execution
    }
}

/// Returns the definition that contains a step: the statement of the run's plan, if its definition is known, so that a
/// patch elsewhere does not void approvals; otherwise the whole plan.
fn definition<'d>(ctx: &'d Context, program: &'d Program, path: &str) -> &'d [u8] {
    let name = path.split(['.', '[']).next().unwrap_or_default();
    ctx.setup
        .definitions
        .get(name)
        .map_or(program.plan.digest.as_bytes(), String::as_bytes)
}

/// Returns the hash of everything that an approval applies to.
fn binding(
    ctx: &Context,
    program: &Program,
    path: &str,
    step: &Step,
    question: &Question,
) -> Arc<str> {
    let run = ctx.setup.run_id.as_bytes();
    // The definition, or the digest of the plan in its place, includes the plans that it calls.
    let contract = step.tool().map(|signature| signature.digest());
    let contract = contract.unwrap_or_default();
    let key = blake3::derive_key("planrun 2026 arguments of an approval", run);
    let arguments = blake3::keyed_hash(&key, question.arguments.to_json_text().as_bytes());
    let expires = question.expires.unwrap_or(-1).to_le_bytes();
    let parts: [&[u8]; 8] = [
        run,
        path.as_bytes(),
        &question.execution.to_le_bytes(),
        definition(ctx, program, path),
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
