//! Questions that a tool asks during a call: somebody answers, and the call goes on.

use std::sync::Arc;

use planrun_lang::value::Value;

use super::command::{CallId, Command, PeerReply};
use super::context::Context;
use super::frame::NodeRef;
use super::people::asked::QuestionStatus;
use super::sensitive::below;
use super::step::Steps;
use crate::journal::{Answer, EventKind, FormField, PeerQuestion, Question, VALUE, Waiting};

impl Steps {
    /// The peer of a call asks something. The same question within one execution is put to people once, also where a
    /// later process takes the call up again.
    pub(super) fn peer_asks(
        &mut self,
        ctx: &mut Context,
        call: CallId,
        (text, form): (Arc<str>, Vec<FormField>),
        prefilled: Value,
    ) {
        let Some(execution) = self.calls.open.flying(call).map(|state| state.execution) else {
            return;
        };
        let at = call.at;
        let program = ctx.tree.program(at.0);
        let Some((step, _, signature)) = ctx.tree.tool_call(&program, at) else {
            return;
        };
        let tool: Arc<str> = signature.path().into();
        let question = Question {
            why: Some(format!("`{tool}` asks this in the middle of its call").into()),
            asked_at: ctx.outbox.now.wall,
            execution,
            effect: Some(step.effect),
            tool,
            form,
            arguments: prefilled,
            ..Question::plain(Waiting::Peer, text)
        };
        if let Some(answer) = self.peers.answer_to(at, &question) {
            let reply = PeerReply::from(answer);
            return ctx.outbox.push(Command::Reply { call, reply });
        }
        if ctx.is_suspended() {
            // Nobody is asked any more.
            let reply = PeerReply::Unanswered;
            return ctx.outbox.push(Command::Reply { call, reply });
        }
        let talk = self.peers.talk(at);
        talk.waiting = Some(call);
        let open = talk.open.as_ref();
        if !open.is_some_and(|open| open.is_same(&question)) {
            // A call that was taken up again may ask something else than before.
            self.close_peer_question(ctx, at);
            let question = Arc::new(question);
            let path = ctx.tree.path(&program, at);
            ctx.outbox.emit(EventKind::StepAsks {
                path,
                question: question.clone(),
            });
            self.open_peer_question(ctx, at, question);
        }
        self.calls.open.wait_for_reply(ctx, at);
    }

    fn open_peer_question(&mut self, ctx: &Context, at: NodeRef, question: Arc<Question>) {
        let path = ctx.tree.own_path(at);
        self.people.questions.ask(&path, question.clone());
        let asked = question.path(&path);
        self.people.note_asked(ctx, at, asked, question.clone());
        self.people.seek(at);
        self.peers.talk(at).open = Some(question);
    }

    /// As an earlier process asked, and was answered.
    pub(super) fn peer_asked_before(
        &mut self,
        ctx: &Context,
        at: NodeRef,
        asked: Vec<PeerQuestion>,
    ) {
        for PeerQuestion { question, answer } in asked {
            self.open_peer_question(ctx, at, question.clone());
            if let Some(answer) = answer {
                self.note_peer_answer(ctx, at, &answer);
            }
        }
    }

    /// Somebody has answered what a peer asked: its call goes on.
    pub(super) fn peer_answered(&mut self, ctx: &mut Context, at: NodeRef, answer: &Answer) {
        let form = self.peers.open(at).map(|question| &question.form);
        let secrets = form.into_iter().flatten().filter(|field| field.secret);
        let labels: Vec<Arc<str>> = secrets.map(|field| field.name.clone()).collect();
        ctx.outbox.note_secrets(&answer.value, &labels);
        let kind = EventKind::AnswerGiven {
            path: answer.path.clone(),
            value: answer.value.clone(),
            by: answer.by.clone(),
            note: answer.note.clone(),
        };
        ctx.outbox.emit_labelled(kind, below(VALUE, &labels));
        self.note_peer_answer(ctx, at, answer);
        self.reply_to_peer(ctx, at, PeerReply::from(answer.value.clone()));
    }

    fn note_peer_answer(&mut self, ctx: &Context, at: NodeRef, answer: &Answer) {
        let moment = ctx.outbox.lived_moment();
        self.people.questions.answered(answer, moment);
        self.people.note_answered(at, Waiting::Peer, answer);
        self.peers.note_answer(at, &answer.value);
    }

    /// Nobody can be asked: the peer hears that, and decides what becomes of its call.
    pub(super) fn peer_unanswered(&mut self, ctx: &mut Context, at: NodeRef) {
        self.close_peer_question(ctx, at);
        self.reply_to_peer(ctx, at, PeerReply::Unanswered);
    }

    fn reply_to_peer(&mut self, ctx: &mut Context, at: NodeRef, reply: PeerReply) {
        self.calls.open.go_on_after_reply(ctx, at);
        if let Some(call) = self.peers.take_waiting(at) {
            ctx.outbox.push(Command::Reply { call, reply });
        }
    }

    /// The step of a call waits for nothing any more: what its peer has asked is forgotten.
    pub(super) fn forget_peer(&mut self, ctx: &Context, at: NodeRef) {
        if !self.peers.is_empty() {
            self.close_peer_question(ctx, at);
            self.peers.settled(at);
        }
    }

    /// An attempt has ended: what its peer asked is withdrawn.
    pub(super) fn close_peer_question(&mut self, ctx: &Context, at: NodeRef) {
        if self.peers.close(at) {
            let path = ctx.tree.own_path(at);
            self.people.questions.close(&path, false);
            self.people.note_closed(at, QuestionStatus::Withdrawn);
        }
    }
}
