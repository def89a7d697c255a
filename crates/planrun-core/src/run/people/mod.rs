//! Questions to people during a run, and the handling of their answers.

pub(super) mod asked;
pub(super) mod input;
pub(super) mod sleep;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use planrun_lang::protocol::StepState;
use planrun_lang::types::{Denied, ErrorClass};
use planrun_lang::value::{Value, saturating_duration};

use self::asked::{Asked, QuestionStatus};
use crate::journal::{
    ARGUMENTS, Accepted, Answer, AnswerError, Bound, EventKind, Question, Questions,
    RecordedQuestion, StepError, SubmittedAnswer, VALUE, Waiting,
};
use crate::run::agenda::Inquiry;
use crate::run::command::{Asking, Command};
use crate::run::context::Context;
use crate::run::frame::NodeRef;
use crate::run::peer::Peers;
use crate::run::reached::Reached;
use crate::run::schedule::Timer;
use crate::run::sensitive::{below, in_answer};

/// How many answers of a person to one question a process refuses before it stops asking.
const MAX_REFUSALS: u32 = 10;

/// Questions by the paths under which they are answered.
type OpenQuestions = Vec<(Arc<str>, Arc<Question>)>;

/// The steps that wait for people or until a time.
pub(in crate::run) struct People {
    pub questions: Questions,
    waiting: BTreeMap<NodeRef, Wait>,
    by_step: BTreeMap<Arc<str>, NodeRef>,
    /// Every question that was asked.
    pub asked: Vec<Asked>,
    /// Steps whose questions have not been passed to anybody yet.
    unasked: Vec<NodeRef>,
    /// Answers that were given in advance.
    answers: Vec<SubmittedAnswer>,
    /// Whether the driver can ask people.
    asks: bool,
    /// Paths of the questions that the driver is asking.
    asking: BTreeSet<Arc<str>>,
    /// Number of steps that wait until a time.
    moments: usize,
}

/// A step that waits for a person, or until a time.
struct Wait {
    /// Distinguishes its timer from those of earlier waits.
    number: u64,
    /// `None` if it waits until a time.
    question: Option<Arc<Question>>,
}

impl People {
    /// `questions`: those of earlier processes.
    pub(in crate::run) fn new(
        questions: Questions,
        answers: Vec<SubmittedAnswer>,
        asks: bool,
    ) -> Self {
        Self {
            questions: questions.closed(),
            waiting: BTreeMap::new(),
            by_step: BTreeMap::new(),
            asked: Vec::new(),
            unasked: Vec::new(),
            answers,
            asks,
            asking: BTreeSet::new(),
            moments: 0,
        }
    }

    /// Returns true if a step waits for a person, or until a time.
    pub(in crate::run) fn is_waiting(&self, at: NodeRef) -> bool {
        self.waiting.contains_key(&at)
    }

    /// Returns true if the step with this path waits for a person, or until a time.
    pub(in crate::run) fn is_waiting_at(&self, path: &str) -> bool {
        self.by_step.contains_key(path)
    }

    pub(in crate::run) fn any_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Returns true if a step waits until a time.
    pub(in crate::run) fn awaits_moments(&self) -> bool {
        self.moments > 0
    }

    /// Queues the question of a step, to be passed to people.
    pub(in crate::run) fn queue_question(&mut self, at: NodeRef) {
        self.unasked.push(at);
    }

    /// Returns true if the driver is asking somebody.
    pub(in crate::run) fn is_asking(&self) -> bool {
        !self.asking.is_empty()
    }

    /// Returns true if a timer belongs to a step that still waits.
    pub(in crate::run) fn counts(&self, at: NodeRef, number: u64) -> bool {
        self.waiting
            .get(&at)
            .is_some_and(|wait| wait.number == number)
    }

    /// Returns the open questions, and the paths of unused answers.
    fn left(&mut self) -> (OpenQuestions, Vec<Arc<str>>) {
        let open = self
            .questions
            .open()
            .map(|(path, question)| (path.clone(), question.clone()))
            .collect();
        (
            open,
            std::mem::take(&mut self.answers)
                .into_iter()
                .map(|given| given.path)
                .collect(),
        )
    }
}

impl People {
    /// Returns the open questions with secrets redacted, and the paths of unused answers.
    pub(in crate::run) fn left_open(&mut self, ctx: &Context) -> (OpenQuestions, Vec<Arc<str>>) {
        let (mut open, unused) = self.left();
        for (_, question) in &mut open {
            *question = Arc::new(question.redacted(&ctx.outbox.redactor));
        }
        (open, unused)
    }

    /// Asks a question that no earlier process has asked.
    pub(in crate::run) fn ask_first(&mut self, ctx: &mut Context, at: NodeRef, question: Question) {
        let program = ctx.tree.program(at.0);
        let labels = below(ARGUMENTS, &question.sensitive);
        let (path, question) = (ctx.tree.path(&program, at), Arc::new(question));
        let kind = EventKind::StepAsks {
            path,
            question: question.clone(),
        };
        ctx.outbox.emit_labelled(kind, labels);
        self.ask(ctx, at, question);
    }

    /// Lets a step wait for an answer.
    fn ask(&mut self, ctx: &mut Context, at: NodeRef, question: Arc<Question>) {
        ctx.outbox.note_question(&question);
        let path = ctx.tree.own_path(at);
        self.questions.ask(&path, question.clone());
        self.note_asked(ctx, at, question.path(&path), question.clone());
        self.unasked.push(at);
        let until = question.expires;
        self.wait(ctx, at, path, Some(question), until);
    }

    /// Replays a question of an earlier process. Its answer is replayed at its own place.
    pub(in crate::run) fn replay_question(
        &mut self,
        ctx: &mut Context,
        at: NodeRef,
        recorded: RecordedQuestion,
    ) {
        self.ask(ctx, at, recorded.question);
        let Some(answer) = recorded
            .answer
            .filter(|_| !ctx.outbox.recording.is_replaying())
        else {
            return;
        };
        // The step was executed again after the replay, so the place of its answer has been passed.
        ctx.outbox.recording.forget_answer(&answer.path);
        self.apply(ctx, &answer);
    }

    /// Lets a step wait until a time, in nanoseconds since the Unix epoch, or for an answer.
    pub(in crate::run) fn wait(
        &mut self,
        ctx: &mut Context,
        at: NodeRef,
        path: Arc<str>,
        question: Option<Arc<Question>>,
        until: Option<i128>,
    ) {
        ctx.tree.set_state(at, StepState::Waiting);
        let number = ctx.schedule.number();
        if let Some(until) = until {
            let left = saturating_duration(until - ctx.outbox.now.wall);
            let wake = ctx.outbox.now.after(left);
            ctx.schedule.set(wake, number, Timer::Wait(at, number));
        }
        self.moments += usize::from(question.is_none());
        self.by_step.insert(path, at);
        self.waiting.insert(at, Wait { number, question });
    }

    /// Removes a waiting step.
    fn end_wait(&mut self, ctx: &mut Context, at: NodeRef) -> Option<(Arc<str>, Wait)> {
        let wait = self.waiting.remove(&at)?;
        self.moments -= usize::from(wait.question.is_none());
        let path = ctx.tree.own_path(at);
        self.by_step.remove(&path);
        if let Some(question) = &wait.question {
            self.stop_asking(ctx, &question.path(&path));
        }
        Some((path, wait))
    }

    /// Lets the driver stop asking a question that is closed.
    pub(in crate::run) fn stop_asking(&mut self, ctx: &mut Context, path: &str) {
        if let Some(path) = self.asking.take(path) {
            ctx.outbox.push(Command::StopAsking(path));
        }
    }

    /// Ends the wait of a step and withdraws its question.
    pub(in crate::run) fn cancel_wait(&mut self, ctx: &mut Context, at: NodeRef) {
        if let Some((path, _)) = self.end_wait(ctx, at) {
            self.note_closed(at, QuestionStatus::Withdrawn);
            self.questions.close(&path, false);
        }
    }

    /// Passes on the questions that were asked since the last call.
    pub(in crate::run) fn ask_pending(&mut self, ctx: &mut Context) {
        if ctx.is_suspended() {
            return;
        }
        for at in std::mem::take(&mut self.unasked) {
            ctx.then(Inquiry::FindAnswer(at));
        }
    }

    /// Looks for an answer to the question of a step, if it still waits.
    pub(in crate::run) fn find_answer(&mut self, ctx: &mut Context, peers: &Peers, at: NodeRef) {
        let held = self
            .waiting
            .get(&at)
            .and_then(|wait| wait.question.as_ref());
        let Some(question) = held.or_else(|| peers.open(at)).cloned() else {
            return;
        };
        let path = question.path(&ctx.tree.own_path(at));
        let asking = Asking {
            path,
            question,
            refused: None,
            refusals: 0,
        };
        self.find_answer_or_ask(ctx, peers, at, asking, true);
    }

    fn find_answer_or_ask(
        &mut self,
        ctx: &mut Context,
        peers: &Peers,
        at: NodeRef,
        asking: Asking,
        may_ask: bool,
    ) {
        let given = self
            .answers
            .iter()
            .position(|given| given.path == asking.path);
        if let Some(given) = given {
            let given = self.answers.remove(given);
            match self.answer(ctx, peers, &given, ctx.outbox.now.wall) {
                Ok(()) => return,
                Err(error) => ctx.outbox.refuse(error),
            }
        }
        if self.asks && may_ask {
            self.asking.insert(asking.path.clone());
            let question = Arc::new(asking.question.redacted(&ctx.outbox.redactor));
            ctx.outbox.push(Command::Ask(Asking { question, ..asking }));
            return;
        }
        if ctx.outbox.recording.is_durable() {
            return;
        }
        if peers.open(at).is_some() {
            ctx.then(Inquiry::PeerUnanswered(at));
        } else {
            let path = &asking.path;
            let message = match asking.refused.filter(|_| asking.refusals >= MAX_REFUSALS) {
                Some(last) => format!(
                    "{MAX_REFUSALS} answers were refused, the last one for this reason: {last}; pass a valid answer \
                     with `--answer {path}=JSON`"
                ),
                None => format!(
                    "this waits for a person, but a run without a journal ends with its process; run it with a \
                     journal, or pass the answer with `--answer {path}=JSON`"
                ),
            };
            self.unanswered(ctx, at, ErrorClass::Internal, message);
        }
    }

    /// Handles the result of asking a person.
    pub(in crate::run) fn ask_ended(
        &mut self,
        ctx: &mut Context,
        peers: &Peers,
        asking: Asking,
        given: Option<SubmittedAnswer>,
    ) {
        if !self.asking.remove(&asking.path) {
            // It was closed before its answer was handled.
            return;
        }
        let now = ctx.outbox.now.wall;
        let refused = match given.map(|given| self.answer(ctx, peers, &given, now)) {
            Some(Ok(())) => return,
            Some(Err(error)) => Some(ctx.outbox.redactor.text(&error.to_string()).into_owned()),
            None => None,
        };
        let refusals = asking.refusals + u32::from(refused.is_some());
        let may_ask = refused.is_some() && refusals < MAX_REFUSALS;
        let step = self.questions.step(&asking.path);
        let at = step.and_then(|step| self.by_step.get(step)).copied();
        if let Some(at) = at.or_else(|| peers.at(&ctx.tree, &self.questions, &asking.path)) {
            let asking = Asking {
                refused,
                refusals,
                ..asking
            };
            self.find_answer_or_ask(ctx, peers, at, asking, may_ask);
        }
    }

    /// Handles an answer from the inbox. A refused answer changes nothing.
    pub(in crate::run) fn receive_answer(
        &mut self,
        ctx: &mut Context,
        peers: &Peers,
        given: &SubmittedAnswer,
        at: i128,
    ) {
        if let Err(error) = self.answer(ctx, peers, given, at) {
            ctx.outbox.refuse(error);
        }
    }

    /// Accepts an answer that was given at `at`, if it is valid.
    fn answer(
        &mut self,
        ctx: &mut Context,
        peers: &Peers,
        given: &SubmittedAnswer,
        at: i128,
    ) -> Result<(), AnswerError> {
        match self.questions.accept(given, at)? {
            Accepted::New(answer) => match peers.at(&ctx.tree, &self.questions, &answer.path) {
                Some(at) => ctx.then(Inquiry::PeerAnswered(at, Box::new(answer))),
                None => self.take_answer(ctx, &answer),
            },
            Accepted::Duplicate => {}
        }
        Ok(())
    }

    /// Records a valid answer and applies it.
    pub(in crate::run) fn take_answer(&mut self, ctx: &mut Context, answer: &Answer) {
        let step = self.questions.step(&answer.path);
        let at = step.and_then(|step| self.by_step.get(step)).copied();
        let asked = at.and_then(|at| Some((at, self.waiting.get(&at)?.question.as_ref()?.kind)));
        let labels = asked
            .map(|(at, kind)| {
                ctx.tree
                    .step(&ctx.tree.program(at.0), at)
                    .map(|step| in_answer(step, kind, &answer.value))
                    .unwrap_or_default()
            })
            .unwrap_or_default();
        ctx.outbox.note_secrets(&answer.value, &labels);
        let kind = EventKind::AnswerGiven {
            path: answer.path.clone(),
            value: answer.value.clone(),
            by: answer.by.clone(),
            note: answer.note.clone(),
        };
        ctx.outbox.emit_labelled(kind, below(VALUE, &labels));
        self.apply(ctx, answer);
    }

    fn apply(&mut self, ctx: &mut Context, answer: &Answer) {
        let step = self.questions.step(&answer.path).cloned();
        let Some(at) = step.and_then(|step| self.by_step.get(&step).copied()) else {
            return;
        };
        let Some((_, wait)) = self.end_wait(ctx, at) else {
            return;
        };
        self.questions.answered(answer, ctx.outbox.wall_time());
        let Some(question) = wait.question else {
            return;
        };
        self.note_answered(at, question.kind, answer);
        match question.kind {
            Waiting::Confirm if answer.value == Value::Bool(true) => {
                ctx.then(Inquiry::Approved(at, question));
            }
            Waiting::Confirm => {
                ctx.reached(at, Reached::Refused);
                self.unanswered(ctx, at, ErrorClass::Denied(Denied::Human), answer.refusal());
            }
            Waiting::Approval => ctx.then(Inquiry::RunApproved(Box::new(answer.clone()))),
            Waiting::Answer => ctx.then(Inquiry::OutcomeAnswered(at, answer.value.clone())),
            Waiting::Input
            | Waiting::Peer
            | Waiting::Retry
            | Waiting::Poll
            | Waiting::Outcome
            | Waiting::Effects
            | Waiting::Time => {
                ctx.reached(at, Reached::Answered);
                ctx.complete(at, answer.value.clone());
            }
        }
    }

    /// Handles the timer of a waiting step: its question has expired, or its wait is over.
    pub(in crate::run) fn wait_expired(&mut self, ctx: &mut Context, at: NodeRef, number: u64) {
        if !self.counts(at, number) {
            return;
        }
        let Some((path, wait)) = self.end_wait(ctx, at) else {
            return;
        };
        if wait.question.is_none() {
            ctx.outbox.emit(EventKind::TimerFired {
                path: path.clone(),
                timer: Bound::Wait,
            });
            return ctx.complete(at, Value::Null);
        }
        ctx.outbox.emit(EventKind::TimerFired {
            path: path.clone(),
            timer: Bound::Expires,
        });
        self.note_closed(at, QuestionStatus::Expired);
        self.questions.close(&path, true);
        self.unanswered(
            ctx,
            at,
            ErrorClass::Expired,
            "no answer was given in time".to_owned(),
        );
    }

    /// Replays the end of a wait in an earlier process.
    pub(in crate::run) fn replay_hold_end(&mut self, ctx: &mut Context, path: &str) {
        let found = self.by_step.get(path).copied();
        if let Some((at, number)) = found.and_then(|at| Some((at, self.waiting.get(&at)?.number))) {
            self.wait_expired(ctx, at, number);
        }
    }

    fn unanswered(&mut self, ctx: &mut Context, at: NodeRef, class: ErrorClass, message: String) {
        self.cancel_wait(ctx, at);
        let path = ctx.tree.own_path(at);
        let error = Arc::new(StepError::new(class, message, &path));
        ctx.then(Inquiry::Unanswered(at, error));
    }
}
