//! Questions to people during a run, and the handling of their answers.

pub(super) mod asked;
pub(super) mod input;
pub(super) mod sleep;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use planrun_lang::protocol::StepState;
use planrun_lang::types::{Denied, ErrorClass};
use planrun_lang::value::Value;

use self::asked::{Asked, QuestionStatus};
use crate::journal::{
    ARGUMENTS, Accepted, Answer, AnswerError, Bound, EventKind, Given, Question, Questions,
    RecordedQuestion, StepError, VALUE, Waiting,
};
use crate::run::agenda::Inquiry;
use crate::run::command::{Asking, Command};
use crate::run::context::Context;
use crate::run::frame::NodeRef;
use crate::run::peer::Peers;
use crate::run::reached::Reached;
use crate::run::schedule::Timer;
use crate::run::sensitive::{below, in_answer};

/// Questions by the paths under which they are answered.
type OpenQuestions = Vec<(Arc<str>, Arc<Question>)>;

/// What waits for people, and for moments.
pub(in crate::run) struct People {
    pub questions: Questions,
    holds: BTreeMap<NodeRef, Hold>,
    by_step: BTreeMap<Arc<str>, NodeRef>,
    /// Everything that was asked.
    pub asked: Vec<Asked>,
    /// Questions that nobody has been turned to with.
    unsought: Vec<NodeRef>,
    /// Answers that were given before anything was asked.
    answers: Vec<Given>,
    /// Whether there is somebody who can be asked.
    asks: bool,
    /// How many questions somebody is busy with.
    asking: usize,
    /// How many steps wait for moments.
    moments: usize,
}

/// A step that waits for somebody, or for a moment.
struct Hold {
    /// Tells its timer from those of earlier ones.
    number: u64,
    /// `None` where it waits for a moment.
    question: Option<Arc<Question>>,
}

impl People {
    pub(in crate::run) fn new(answers: Vec<Given>, asks: bool) -> Self {
        Self {
            questions: Questions::default(),
            holds: BTreeMap::new(),
            by_step: BTreeMap::new(),
            asked: Vec::new(),
            unsought: Vec::new(),
            answers,
            asks,
            asking: 0,
            moments: 0,
        }
    }

    /// Whether a step waits for somebody or for a moment.
    pub(in crate::run) fn holds(&self, at: NodeRef) -> bool {
        self.holds.contains_key(&at)
    }

    pub(in crate::run) fn holds_any(&self) -> bool {
        !self.holds.is_empty()
    }

    /// Whether some step waits for a moment.
    pub(in crate::run) fn awaits_moments(&self) -> bool {
        self.moments > 0
    }

    /// Somebody is to be turned to with what a step asks.
    pub(in crate::run) fn seek(&mut self, at: NodeRef) {
        self.unsought.push(at);
    }

    /// Whether somebody is being asked by this process.
    pub(in crate::run) fn is_asking(&self) -> bool {
        self.asking > 0
    }

    /// Whether a timer is that of a step that still waits.
    pub(in crate::run) fn counts(&self, at: NodeRef, number: u64) -> bool {
        self.holds
            .get(&at)
            .is_some_and(|hold| hold.number == number)
    }

    /// What is still asked, and the paths of answers that nothing asked for.
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
    /// What is still asked, as it may be seen, and the paths of answers that nothing asked for.
    pub(in crate::run) fn left_open(&mut self, ctx: &Context) -> (OpenQuestions, Vec<Arc<str>>) {
        let (mut open, unused) = self.left();
        for (_, question) in &mut open {
            *question = Arc::new(question.shown(&ctx.outbox.redactor));
        }
        (open, unused)
    }

    /// A step asks something that no earlier process has asked.
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

    /// A step waits until somebody has answered.
    fn ask(&mut self, ctx: &mut Context, at: NodeRef, question: Arc<Question>) {
        let path = ctx.tree.own_path(at);
        self.questions.ask(&path, question.clone());
        self.note_asked(ctx, at, question.path(&path), question.clone());
        self.unsought.push(at);
        let until = question.expires;
        self.hold(ctx, at, path, Some(question), until);
    }

    /// Asks as an earlier process did; its answer comes at its place.
    pub(in crate::run) fn ask_as_before(
        &mut self,
        ctx: &mut Context,
        at: NodeRef,
        past: RecordedQuestion,
    ) {
        self.ask(ctx, at, past.question);
        let Some(answer) = past.answer.filter(|_| !ctx.outbox.recording.is_replaying()) else {
            return;
        };
        // What it waited for had to be done again, so that the place of the answer is past.
        ctx.outbox.recording.forget_answer(&answer.path);
        self.apply(ctx, &answer);
    }

    /// A step waits until a moment, in nanoseconds since 1970, or until it has what it waits for.
    pub(in crate::run) fn hold(
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
            let left = u64::try_from(until - ctx.outbox.now.wall).unwrap_or(0);
            let wake = ctx.outbox.now.after(Duration::from_nanos(left));
            ctx.schedule.set(wake, number, Timer::Hold(at, number));
        }
        self.moments += usize::from(question.is_none());
        self.by_step.insert(path, at);
        self.holds.insert(at, Hold { number, question });
    }

    /// Takes a step out of those that wait.
    fn unhold(&mut self, ctx: &mut Context, at: NodeRef) -> Option<(Arc<str>, Hold)> {
        let hold = self.holds.remove(&at)?;
        self.moments -= usize::from(hold.question.is_none());
        let path = ctx.tree.own_path(at);
        self.by_step.remove(&path);
        Some((path, hold))
    }

    /// A step waits no longer: what it asked is withdrawn.
    pub(in crate::run) fn release_hold(&mut self, ctx: &mut Context, at: NodeRef) {
        if let Some((path, _)) = self.unhold(ctx, at) {
            self.note_closed(at, QuestionStatus::Withdrawn);
            self.questions.close(&path, false);
        }
    }

    /// Turns to whoever may answer what has been asked since the last time.
    pub(in crate::run) fn turn_to_people(&mut self, ctx: &mut Context) {
        if ctx.is_suspended() {
            return;
        }
        for at in std::mem::take(&mut self.unsought) {
            ctx.then(Inquiry::SeekAnswer(at));
        }
    }

    /// Turns to whoever may answer what a step has asked, if it still waits.
    pub(in crate::run) fn seek_first_answer(
        &mut self,
        ctx: &mut Context,
        peers: &Peers,
        at: NodeRef,
    ) {
        let held = self.holds.get(&at).and_then(|hold| hold.question.as_ref());
        let Some(question) = held.or_else(|| peers.open(at)).cloned() else {
            return;
        };
        let path = question.path(&ctx.tree.own_path(at));
        let refused = None;
        let asking = Asking {
            path,
            question,
            refused,
        };
        self.seek_answer(ctx, peers, at, asking, true);
    }

    fn seek_answer(
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
                Err(error) => ctx.outbox.push(Command::Refuse(error)),
            }
        }
        if self.asks && may_ask {
            self.asking += 1;
            let question = Arc::new(asking.question.shown(&ctx.outbox.redactor));
            ctx.outbox.push(Command::Ask(Asking { question, ..asking }));
            return;
        }
        if ctx.outbox.recording.is_durable() {
            return;
        }
        if peers.open(at).is_some() {
            ctx.then(Inquiry::PeerUnanswered(at));
        } else {
            let message = format!(
                "this waits for somebody, and a run without a journal ends with its process; run it with a journal, \
                 or give the answer with `--answer {}=JSON`",
                asking.path
            );
            self.unanswered(ctx, at, ErrorClass::Internal, message);
        }
    }

    /// Somebody who was asked came back.
    pub(in crate::run) fn hear(
        &mut self,
        ctx: &mut Context,
        peers: &Peers,
        asking: Asking,
        given: Option<Given>,
    ) {
        self.asking = self.asking.saturating_sub(1);
        let answered = given.is_some();
        let now = ctx.outbox.now.wall;
        let refused = match given.map(|given| self.answer(ctx, peers, &given, now)) {
            Some(Ok(())) => return,
            Some(Err(error)) => Some(error.to_string()),
            None => None,
        };
        let step = self.questions.step(&asking.path);
        let at = step.and_then(|step| self.by_step.get(step)).copied();
        if let Some(at) = at.or_else(|| peers.at(&ctx.tree, &self.questions, &asking.path)) {
            self.seek_answer(ctx, peers, at, Asking { refused, ..asking }, answered);
        }
    }

    /// An answer from outside; one that does not fit changes nothing.
    pub(in crate::run) fn receive_answer(
        &mut self,
        ctx: &mut Context,
        peers: &Peers,
        given: &Given,
        at: i128,
    ) {
        if let Err(error) = self.answer(ctx, peers, given, at) {
            ctx.outbox.push(Command::Refuse(error));
        }
    }

    /// Takes an answer that was given at a moment, if it fits what is asked.
    fn answer(
        &mut self,
        ctx: &mut Context,
        peers: &Peers,
        given: &Given,
        at: i128,
    ) -> Result<(), AnswerError> {
        match self.questions.accept(given, at)? {
            Accepted::Now(answer) => match peers.at(&ctx.tree, &self.questions, &answer.path) {
                Some(at) => ctx.then(Inquiry::PeerAnswered(at, Box::new(answer))),
                None => self.take_answer(ctx, &answer),
            },
            Accepted::Before => {}
        }
        Ok(())
    }

    /// An answer that fits.
    pub(in crate::run) fn take_answer(&mut self, ctx: &mut Context, answer: &Answer) {
        let step = self.questions.step(&answer.path);
        let at = step.and_then(|step| self.by_step.get(step)).copied();
        let asked = at.and_then(|at| Some((at, self.holds.get(&at)?.question.as_ref()?.kind)));
        let labels = asked
            .map(|(at, kind)| {
                ctx.tree
                    .step(&ctx.tree.program(at.0), at)
                    .map(|step| in_answer(step, kind))
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
        let Some((_, hold)) = self.unhold(ctx, at) else {
            return;
        };
        self.questions.answered(answer, ctx.outbox.lived_moment());
        let Some(question) = hold.question else {
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
            Waiting::Answer => ctx.then(Inquiry::OutcomeTold(at, answer.value.clone())),
            Waiting::Input
            | Waiting::Peer
            | Waiting::Retry
            | Waiting::Poll
            | Waiting::Outcome
            | Waiting::Time => {
                ctx.reached(at, Reached::Answered);
                ctx.complete(at, answer.value.clone());
            }
        }
    }

    /// What a step waits for has not come in time, or is the time itself.
    pub(in crate::run) fn hold_is_over(&mut self, ctx: &mut Context, at: NodeRef, number: u64) {
        if !self.counts(at, number) {
            return;
        }
        let Some((path, hold)) = self.unhold(ctx, at) else {
            return;
        };
        if hold.question.is_none() {
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
            "nobody answered in time".to_owned(),
        );
    }

    /// As in an earlier process of the run.
    pub(in crate::run) fn hold_ended_before(&mut self, ctx: &mut Context, path: &str) {
        let found = self.by_step.get(path).copied();
        if let Some((at, number)) = found.and_then(|at| Some((at, self.holds.get(&at)?.number))) {
            self.hold_is_over(ctx, at, number);
        }
    }

    fn unanswered(&mut self, ctx: &mut Context, at: NodeRef, class: ErrorClass, message: String) {
        self.release_hold(ctx, at);
        let path = ctx.tree.own_path(at);
        let error = Arc::new(StepError::new(class, message, &path));
        ctx.then(Inquiry::Unanswered(at, error));
    }
}
