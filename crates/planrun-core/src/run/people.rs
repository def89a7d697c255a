//! What people are asked while a run goes on, and what becomes of their answers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use planrun_lang::protocol::StepState;
use planrun_lang::types::{Denied, ErrorClass};
use planrun_lang::value::Value;

use super::Program;
use super::asked::{Asked, QuestionStatus};
use super::command::Command;
use super::gate::Approval;
use super::machine::{NodeRef, Run, Timer};
use super::reached::Reached;
use super::sensitive::below;
use crate::journal::{
    ARGUMENTS, Accepted, Answer, AnswerError, Bound, EventKind, Given, PastQuestion, Question,
    Questions, StepError, VALUE, Waiting,
};

/// One question to somebody.
#[derive(Clone, Debug)]
pub struct Asking {
    /// The path under which it is answered.
    pub path: Arc<str>,
    pub question: Arc<Question>,
    /// Why the answer before this one was not taken.
    pub refused: Option<String>,
}

/// Questions by the paths under which they are answered.
type OpenQuestions = Vec<(Arc<str>, Arc<Question>)>;

/// What waits for people, and for moments.
pub(super) struct People {
    pub questions: Questions,
    holds: BTreeMap<NodeRef, Hold>,
    by_step: BTreeMap<Arc<str>, NodeRef>,
    pub approvals: BTreeMap<NodeRef, Approval>,
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
    /// How long everything has waited for people.
    waited: Duration,
    waits_since: Option<Duration>,
}

/// A step that waits for somebody, or for a moment.
struct Hold {
    /// Tells its timer from those of earlier ones.
    number: u64,
    /// `None` where it waits for a moment.
    question: Option<Arc<Question>>,
}

impl People {
    pub(super) fn new(answers: Vec<Given>, asks: bool) -> Self {
        Self {
            questions: Questions::default(),
            holds: BTreeMap::new(),
            by_step: BTreeMap::new(),
            approvals: BTreeMap::new(),
            asked: Vec::new(),
            unsought: Vec::new(),
            answers,
            asks,
            asking: 0,
            moments: 0,
            waited: Duration::ZERO,
            waits_since: None,
        }
    }

    /// Whether a step waits for somebody or for a moment.
    pub(super) fn holds(&self, at: NodeRef) -> bool {
        self.holds.contains_key(&at)
    }

    pub(super) fn holds_any(&self) -> bool {
        !self.holds.is_empty()
    }

    /// Whether some step waits for a moment.
    pub(super) fn awaits_moments(&self) -> bool {
        self.moments > 0
    }

    /// Whether somebody is being asked by this process.
    pub(super) fn is_asking(&self) -> bool {
        self.asking > 0
    }

    /// Whether a timer is that of a step that still waits.
    pub(super) fn counts(&self, at: NodeRef, number: u64) -> bool {
        self.holds
            .get(&at)
            .is_some_and(|hold| hold.number == number)
    }

    /// From now on everything waits for people, or not any more.
    pub(super) fn note_wait(&mut self, waits: bool, now: Duration) {
        if let Some(since) = self.waits_since.take() {
            self.waited += now.saturating_sub(since);
        }
        self.waits_since = waits.then_some(now);
    }

    /// Somebody is to be turned to with what a step asks.
    pub(super) fn seek(&mut self, at: NodeRef) {
        self.unsought.push(at);
    }

    /// How long everything has waited for people.
    pub(super) fn waited(&self) -> Duration {
        self.waited
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

impl Run {
    /// What is still asked, as it may be seen, and the paths of answers that nothing asked for.
    pub(super) fn left_open(&mut self) -> (OpenQuestions, Vec<Arc<str>>) {
        let (mut open, unused) = self.people.left();
        for (_, question) in &mut open {
            *question = Arc::new(question.shown(&self.redactor));
        }
        (open, unused)
    }

    /// A step asks something that no earlier process has asked.
    pub(super) fn ask_first(&mut self, program: &Program, at: NodeRef, question: Question) {
        let labels = below(ARGUMENTS, &question.sensitive);
        let (path, question) = (self.path(program, at), Arc::new(question));
        let kind = EventKind::StepAsks {
            path,
            question: question.clone(),
        };
        self.emit_labelled(kind, labels);
        self.ask(program, at, question);
    }

    /// A step waits until somebody has answered.
    pub(super) fn ask(&mut self, program: &Program, at: NodeRef, question: Arc<Question>) {
        let path = self.path(program, at);
        self.people.questions.ask(&path, question.clone());
        self.note_asked(at, question.path(&path), question.clone());
        self.people.unsought.push(at);
        let until = question.expires;
        self.hold(at, path, Some(question), until);
    }

    /// Asks as an earlier process did; its answer comes at its place.
    pub(super) fn ask_as_before(&mut self, program: &Program, at: NodeRef, past: PastQuestion) {
        self.ask(program, at, past.question);
        let Some(answer) = past.answer.filter(|_| !self.recording.is_replaying()) else {
            return;
        };
        // What it waited for had to be done again, so that the place of the answer is past.
        self.recording.forget_answer(&answer.path);
        self.apply(&answer);
    }

    /// A step waits until a moment, in nanoseconds since 1970, or until it has what it waits for.
    pub(super) fn hold(
        &mut self,
        at: NodeRef,
        path: Arc<str>,
        question: Option<Arc<Question>>,
        until: Option<i128>,
    ) {
        self.frames[at.0].node(at.1).state = StepState::Waiting;
        let number = self.number();
        if let Some(until) = until {
            let left = u64::try_from(until - self.now.wall).unwrap_or(0);
            let wake = self.now.after(Duration::from_nanos(left));
            self.timers
                .push(std::cmp::Reverse((wake, number, Timer::Hold(at, number))));
        }
        self.people.moments += usize::from(question.is_none());
        self.people.by_step.insert(path, at);
        self.people.holds.insert(at, Hold { number, question });
    }

    /// Takes a step out of those that wait.
    fn unhold(&mut self, at: NodeRef) -> Option<(Arc<str>, Hold)> {
        let hold = self.people.holds.remove(&at)?;
        self.people.moments -= usize::from(hold.question.is_none());
        let path = self.own_path(at);
        self.people.by_step.remove(&path);
        Some((path, hold))
    }

    /// A step waits no longer: what it asked is withdrawn.
    pub(super) fn release_hold(&mut self, at: NodeRef) {
        self.forget_peer(at);
        if !self.people.approvals.is_empty() {
            self.people.approvals.remove(&at);
        }
        if let Some((path, _)) = self.unhold(at) {
            self.note_closed(at, QuestionStatus::Withdrawn);
            self.compounds.remove(&at);
            self.people.questions.close(&path, false);
        }
    }

    /// Turns to whoever may answer what has been asked since the last time.
    pub(super) fn turn_to_people(&mut self) {
        if self.is_let_go() {
            return;
        }
        for at in std::mem::take(&mut self.people.unsought) {
            let Some(question) = self
                .people
                .holds
                .get(&at)
                .and_then(|hold| hold.question.as_ref())
                .or_else(|| self.peers.open(at))
                .cloned()
            else {
                continue;
            };
            let path = question.path(&self.own_path(at));
            self.seek_answer(
                at,
                Asking {
                    path,
                    question,
                    refused: None,
                },
                true,
            );
        }
    }

    fn seek_answer(&mut self, at: NodeRef, asking: Asking, may_ask: bool) {
        let given = self
            .people
            .answers
            .iter()
            .position(|given| given.path == asking.path);
        if let Some(given) = given {
            let given = self.people.answers.remove(given);
            match self.answer(&given, self.now.wall) {
                Ok(()) => return,
                Err(error) => self.commands.push(Command::Refuse(error)),
            }
        }
        if self.people.asks && may_ask {
            self.people.asking += 1;
            let question = Arc::new(asking.question.shown(&self.redactor));
            self.commands
                .push(Command::Ask(Asking { question, ..asking }));
            return;
        }
        if !self.recording.is_durable() && self.peers.open(at).is_some() {
            return self.peer_unanswered(at);
        }
        if !self.recording.is_durable() {
            let message = format!(
                "this waits for somebody, and a run without a journal ends with its process; run it with a journal, \
                 or give the answer with `--answer {}=JSON`",
                asking.path
            );
            self.unanswered(at, ErrorClass::Internal, message);
        }
    }

    /// Somebody who was asked came back.
    pub(super) fn hear(&mut self, asking: Asking, given: Option<Given>) {
        self.people.asking = self.people.asking.saturating_sub(1);
        let answered = given.is_some();
        let now = self.now.wall;
        let refused = match given.map(|given| self.answer(&given, now)) {
            Some(Ok(())) => return,
            Some(Err(error)) => Some(error.to_string()),
            None => None,
        };
        let step = self.people.questions.step(&asking.path);
        let at = step.and_then(|step| self.people.by_step.get(step)).copied();
        if let Some(at) = at.or_else(|| self.peer_at(&asking.path)) {
            self.seek_answer(at, Asking { refused, ..asking }, answered);
        }
    }

    /// An answer from outside; one that does not fit changes nothing.
    pub(super) fn receive_answer(&mut self, given: &Given, at: i128) {
        if let Err(error) = self.answer(given, at) {
            self.commands.push(Command::Refuse(error));
        }
    }

    /// Takes an answer that was given at a moment, if it fits what is asked.
    fn answer(&mut self, given: &Given, at: i128) -> Result<(), AnswerError> {
        match self.people.questions.accept(given, at)? {
            Accepted::Now(answer) => match self.peer_at(&answer.path) {
                Some(at) => self.peer_answered(at, &answer),
                None => self.take_answer(&answer),
            },
            Accepted::Before => {}
        }
        Ok(())
    }

    /// An answer that fits.
    pub(super) fn take_answer(&mut self, answer: &Answer) {
        let step = self.people.questions.step(&answer.path);
        let at = step.and_then(|step| self.people.by_step.get(step)).copied();
        let asked =
            at.and_then(|at| Some((at, self.people.holds.get(&at)?.question.as_ref()?.kind)));
        let labels = asked
            .map(|(at, kind)| self.in_answer(at, kind))
            .unwrap_or_default();
        self.note_secrets(&answer.value, &labels);
        let kind = EventKind::AnswerGiven {
            path: answer.path.clone(),
            value: answer.value.clone(),
            by: answer.by.clone(),
            note: answer.note.clone(),
        };
        self.emit_labelled(kind, below(VALUE, &labels));
        self.apply(answer);
    }

    fn apply(&mut self, answer: &Answer) {
        let step = self.people.questions.step(&answer.path).cloned();
        let Some(at) = step.and_then(|step| self.people.by_step.get(&step).copied()) else {
            return;
        };
        let Some((_, hold)) = self.unhold(at) else {
            return;
        };
        self.people.questions.answered(answer, self.lived_moment());
        let Some(question) = hold.question else {
            return;
        };
        self.note_answered(at, question.kind, answer);
        match question.kind {
            Waiting::Confirm if answer.value == Value::Bool(true) => self.approve(at, &question),
            Waiting::Confirm => {
                self.reached(at, Reached::Refused);
                self.unanswered(at, ErrorClass::Denied(Denied::Human), refusal(answer));
            }
            Waiting::Answer if self.is_told_what_it_gave(at) => {
                self.told_what_it_gave(at, &answer.value);
            }
            Waiting::Answer => self.outcome_told(at, &answer.value),
            Waiting::Input
            | Waiting::Peer
            | Waiting::Retry
            | Waiting::Poll
            | Waiting::Outcome
            | Waiting::Time => {
                self.reached(at, Reached::Answered);
                self.complete(at, answer.value.clone());
            }
        }
    }

    /// What a step waits for has not come in time, or is the time itself.
    pub(super) fn hold_is_over(&mut self, at: NodeRef, number: u64) {
        if !self.people.counts(at, number) {
            return;
        }
        let Some((path, hold)) = self.unhold(at) else {
            return;
        };
        if hold.question.is_none() {
            self.emit(EventKind::TimerFired {
                path: path.clone(),
                timer: Bound::Wait,
            });
            return self.complete(at, Value::Null);
        }
        self.emit(EventKind::TimerFired {
            path: path.clone(),
            timer: Bound::Expires,
        });
        self.note_closed(at, QuestionStatus::Expired);
        self.people.questions.close(&path, true);
        self.unanswered(
            at,
            ErrorClass::Expired,
            "nobody answered in time".to_owned(),
        );
    }

    /// As in an earlier process of the run.
    pub(super) fn hold_ended_before(&mut self, path: &str) {
        let found = self.people.by_step.get(path).copied();
        if let Some((at, number)) =
            found.and_then(|at| Some((at, self.people.holds.get(&at)?.number)))
        {
            self.hold_is_over(at, number);
        }
    }

    fn unanswered(&mut self, at: NodeRef, class: ErrorClass, message: String) {
        self.release_hold(at);
        let path = self.own_path(at);
        if self.is_told_what_it_gave(at) {
            return self.not_told_what_it_gave(at, StepError::new(class, message, &path));
        }
        self.compounds.remove(&at);
        self.step_failed(at, Arc::new(StepError::new(class, message, &path)));
    }
}

/// Who said no, and why.
fn refusal(answer: &Answer) -> String {
    let who = answer
        .by
        .as_deref()
        .map_or("somebody".to_owned(), |by| format!("`{by}`"));
    match &answer.note {
        Some(note) => format!("{who} said no: {note}"),
        None => format!("{who} said no"),
    }
}
