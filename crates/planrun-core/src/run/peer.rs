//! Questions that what is called asks in the middle of a call: somebody answers, and the call goes on.

use std::collections::BTreeMap;
use std::sync::Arc;

use planrun_lang::value::Value;

use super::asked::QuestionStatus;
use super::attempt::tool_call;
use super::command::{CallId, Command, PeerReply};
use super::leaf::Leaf;
use super::machine::{NodeRef, Run};
use super::sensitive::below;
use crate::journal::{Answer, EventKind, FormField, PeerQuestion, Question, VALUE, Waiting};

/// What calls in flight have asked, by their steps.
#[derive(Default)]
pub(super) struct Peers {
    talks: BTreeMap<NodeRef, Talk>,
}

/// What one call has asked. A call has at most one open question.
#[derive(Default)]
struct Talk {
    open: Option<Arc<Question>>,
    /// The attempt that waits for the reply. After a restart there is none until the peer asks again.
    waiting: Option<CallId>,
    /// Questions with the answers that they got.
    answered: Vec<(Arc<Question>, Value)>,
}

impl Peers {
    /// The open question of a call.
    pub(super) fn open(&self, at: NodeRef) -> Option<&Arc<Question>> {
        self.talks.get(&at)?.open.as_ref()
    }

    pub(super) fn any_open(&self) -> bool {
        self.talks.values().any(|talk| talk.open.is_some())
    }

    /// The answer that the same question of this execution got before.
    fn answer_to(&self, at: NodeRef, question: &Question) -> Option<Value> {
        let answered = &self.talks.get(&at)?.answered;
        let same = answered.iter().find(|(known, _)| known.is_same(question));
        same.map(|(_, answer)| answer.clone())
    }
}

impl Run {
    /// The peer of a call asks something. The same question within one execution is put to people once, also where a
    /// later process takes the call up again.
    pub(super) fn call_asks(
        &mut self,
        call: CallId,
        text: Arc<str>,
        form: Vec<FormField>,
        prefilled: Value,
    ) {
        let Some(execution) = self.flying(call).map(|leaf| leaf.execution) else {
            return;
        };
        let at = call.at;
        let program = self.program(at.0);
        let Some((step, _, signature)) = tool_call(&program, self, at) else {
            return;
        };
        let tool: Arc<str> = signature.path().into();
        let question = Question {
            why: Some(format!("`{tool}` asks this in the middle of its call").into()),
            asked_at: self.now.wall,
            execution,
            effect: Some(step.effect),
            tool,
            form,
            arguments: prefilled,
            ..Question::plain(Waiting::Peer, text)
        };
        if let Some(answer) = self.peers.answer_to(at, &question) {
            let reply = PeerReply::from(answer);
            return self.commands.push(Command::Reply { call, reply });
        }
        let talk = self.peers.talks.entry(at).or_default();
        if self.interruption.is_some() {
            // Nobody is asked any more.
            let reply = PeerReply::Unanswered;
            return self.commands.push(Command::Reply { call, reply });
        }
        talk.waiting = Some(call);
        let known = talk
            .open
            .as_ref()
            .is_some_and(|open| open.is_same(&question));
        if !known {
            let question = Arc::new(question);
            let path = self.path(&program, at);
            self.emit(EventKind::StepAsks {
                path,
                question: question.clone(),
            });
            self.open_peer_question(at, question);
        }
        self.wait_for_reply(at);
    }

    /// A call that waits for somebody's reply holds no slot.
    fn wait_for_reply(&mut self, at: NodeRef) {
        let asks = self.leaves.get_mut(&at).map(|leaf| &mut leaf.asks);
        if asks.is_some_and(|asks| !std::mem::replace(asks, true)) {
            self.give_slot(self.frames[at.0].scope);
        }
    }

    fn open_peer_question(&mut self, at: NodeRef, question: Arc<Question>) {
        let path = self.own_path(at);
        self.people.questions.ask(&path, question.clone());
        self.note_asked(at, question.path(&path), question.clone());
        self.people.seek(at);
        self.peers.talks.entry(at).or_default().open = Some(question);
    }

    /// As an earlier process asked, and was answered.
    pub(super) fn asked_before(&mut self, at: NodeRef, asked: Vec<PeerQuestion>) {
        for PeerQuestion { question, answer } in asked {
            self.open_peer_question(at, question.clone());
            if let Some(answer) = answer {
                self.note_peer_answer(at, &answer);
            }
        }
    }

    /// The call behind an open question of a peer.
    pub(super) fn peer_at(&self, path: &str) -> Option<NodeRef> {
        let step = self.people.questions.step(path)?;
        let asks = |(at, talk): (&NodeRef, &Talk)| {
            let open = talk.open.as_ref()?;
            (*self.own_path(*at) == **step && *open.path(step) == *path).then_some(*at)
        };
        self.peers.talks.iter().find_map(asks)
    }

    /// Somebody has answered what a peer asked: its call goes on.
    pub(super) fn peer_answered(&mut self, at: NodeRef, answer: &Answer) {
        let form = self.peers.open(at).map(|question| &question.form);
        let secrets = form.into_iter().flatten().filter(|field| field.secret);
        let labels: Vec<Arc<str>> = secrets.map(|field| field.name.clone()).collect();
        self.note_secrets(&answer.value, &labels);
        let kind = EventKind::AnswerGiven {
            path: answer.path.clone(),
            value: answer.value.clone(),
            by: answer.by.clone(),
            note: answer.note.clone(),
        };
        self.emit_labelled(kind, below(VALUE, &labels));
        self.note_peer_answer(at, answer);
        self.reply(at, PeerReply::from(answer.value.clone()));
    }

    fn note_peer_answer(&mut self, at: NodeRef, answer: &Answer) {
        let moment = self.lived_moment();
        self.people.questions.answered(answer, moment);
        self.note_answered(at, Waiting::Peer, answer);
        if let Some(talk) = self.peers.talks.get_mut(&at)
            && let Some(question) = talk.open.take()
        {
            talk.answered.push((question, answer.value.clone()));
        }
    }

    /// Nobody can be asked: the peer hears that, and decides what becomes of its call.
    pub(super) fn peer_unanswered(&mut self, at: NodeRef) {
        self.close_peer_question(at);
        self.reply(at, PeerReply::Unanswered);
    }

    fn reply(&mut self, at: NodeRef, reply: PeerReply) {
        self.go_on_after_reply(at);
        let waiting = self.peers.talks.get_mut(&at).map(|talk| &mut talk.waiting);
        if let Some(call) = waiting.and_then(Option::take) {
            self.commands.push(Command::Reply { call, reply });
        }
    }

    /// The call holds a slot again.
    fn go_on_after_reply(&mut self, at: NodeRef) {
        let asks = self.leaves.get_mut(&at).map(|leaf| &mut leaf.asks);
        if asks.is_some_and(std::mem::take) {
            self.hold_slot(self.frames[at.0].scope);
        }
    }

    /// An attempt has ended: what its peer asked is withdrawn.
    pub(super) fn close_peer_question(&mut self, at: NodeRef) {
        let Some(talk) = self.peers.talks.get_mut(&at) else {
            return;
        };
        if talk.open.take().is_none() {
            return;
        }
        let path = self.own_path(at);
        self.people.questions.close(&path, false);
        self.note_closed(at, QuestionStatus::Withdrawn);
    }

    /// A call that has left the flight: whatever it asked is withdrawn, and its slot is held as that of any other.
    pub(super) fn end_peer_question(&mut self, at: NodeRef, leaf: &mut Leaf) {
        self.close_peer_question(at);
        if std::mem::take(&mut leaf.asks) {
            self.hold_slot(self.frames[at.0].scope);
        }
    }

    /// A step has settled.
    pub(super) fn forget_peer(&mut self, at: NodeRef) {
        if !self.peers.talks.is_empty() {
            self.close_peer_question(at);
            self.peers.talks.remove(&at);
        }
    }
}
