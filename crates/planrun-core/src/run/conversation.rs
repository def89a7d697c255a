//! Questions that a peer asks during a call: a person answers, and the call continues.

use std::sync::Arc;

use planrun_lang::value::Value;

use super::agenda::Inquiry;
use super::call::state::CallState;
use super::command::{CallId, Command, PeerReply};
use super::context::Context;
use super::frame::NodeRef;
use super::interruption::Interruption;
use super::people::asked::QuestionStatus;
use super::sensitive::below;
use super::step::Steps;
use crate::journal::{
    ARGUMENTS, Answer, EventKind, FormField, PeerQuestion, Question, VALUE, Waiting,
};

impl Steps {
    /// Handles a question of a peer. If an earlier attempt of the execution has asked it, such as the one that a later
    /// process reattaches to, its answer is given again.
    pub(super) fn peer_asks(
        &mut self,
        ctx: &mut Context,
        call: CallId,
        (text, form): (Arc<str>, Vec<FormField>),
        prefilled: Value,
    ) {
        let Some(execution) = self.calls.open.in_flight(call).map(|state| state.execution) else {
            return;
        };
        let at = call.at;
        let program = ctx.tree.program(at.0);
        let Some((step, _, signature)) = ctx.tree.tool_call(&program, at) else {
            return;
        };
        let tool: Arc<str> = signature.path().into();
        let secret = form.iter().filter(|field| field.secret);
        let question = Question {
            sensitive: secret.map(|field| field.name.clone()).collect(),
            why: Some(format!("`{tool}` asks this during its call").into()),
            asked_at: ctx.outbox.now.wall,
            execution,
            effect: Some(step.effect),
            tool,
            form,
            arguments: prefilled,
            ..Question::plain(Waiting::Peer, text)
        };
        if let Some(answer) = self.peers.answer_to(call, &question) {
            let reply = PeerReply::from(answer);
            return ctx.outbox.push(Command::Reply { call, reply });
        }
        if ctx.is_suspended() || ctx.tree[at.0].ending.is_some() {
            // Nobody is asked any more.
            let reply = PeerReply::Unanswered;
            return ctx.outbox.push(Command::Reply { call, reply });
        }
        let conversation = self.peers.conversation(at);
        conversation.waiting = Some(call);
        conversation.attempt = Some(call);
        let open = conversation.open.as_ref();
        if !open.is_some_and(|open| open.is_same(&question)) {
            // A call that was reattached to may ask another question than before.
            self.close_peer_question(ctx, at);
            let labels = below(ARGUMENTS, &question.sensitive);
            let question = Arc::new(question);
            let path = ctx.tree.path(&program, at);
            let kind = EventKind::StepAsks {
                path,
                question: question.clone(),
            };
            ctx.outbox.emit_labelled(kind, labels);
            self.open_peer_question(ctx, at, question);
        }
        self.calls.open.wait_for_reply(ctx, at);
    }

    fn open_peer_question(&mut self, ctx: &mut Context, at: NodeRef, question: Arc<Question>) {
        ctx.outbox.note_question(&question);
        let path = ctx.tree.own_path(at);
        self.people.questions.ask(&path, question.clone());
        let asked = question.path(&path);
        self.people.note_asked(ctx, at, asked, question.clone());
        self.people.queue_question(at);
        self.peers.conversation(at).open = Some(question);
    }

    /// Replays the questions that an earlier process recorded, and their answers.
    pub(super) fn replay_peer_questions(
        &mut self,
        ctx: &mut Context,
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

    /// Passes a person's answer to the peer, whose call continues.
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

    fn note_peer_answer(&mut self, ctx: &mut Context, at: NodeRef, answer: &Answer) {
        self.people.stop_asking(ctx, &answer.path);
        let moment = ctx.outbox.wall_time();
        self.people.questions.answered(answer, moment);
        self.people.note_answered(at, Waiting::Peer, answer);
        self.peers.note_answer(at, &answer.value);
    }

    /// Reports to the peer that nobody can be asked. The peer decides how its call continues.
    pub(super) fn peer_unanswered(&mut self, ctx: &mut Context, at: NodeRef) {
        self.close_peer_question(ctx, at);
        self.reply_to_peer(ctx, at, PeerReply::Unanswered);
    }

    /// Tells the peers whose calls keep a suspended process from ending that nobody will answer them. After a failure, a
    /// person who is being asked may still answer.
    pub(super) fn dismiss_peers(&mut self, ctx: &mut Context) {
        let may_be_answered = match ctx.interruption {
            None => true,
            Some(Interruption::Failed(_)) => self.people.is_asking(),
            Some(_) => false,
        };
        if may_be_answered {
            return;
        }
        let requires = |at: &NodeRef| {
            let call = self.calls.open.get(*at);
            call.is_some_and(CallState::requires_process)
        };
        for at in self.peers.waiting().filter(requires) {
            ctx.then(Inquiry::PeerUnanswered(at));
        }
    }

    fn reply_to_peer(&mut self, ctx: &mut Context, at: NodeRef, reply: PeerReply) {
        self.calls.open.resume_after_reply(ctx, at);
        if let Some(call) = self.peers.take_waiting(at) {
            ctx.outbox.push(Command::Reply { call, reply });
        }
    }

    /// Forgets the questions of a peer when the step of its call no longer needs answers.
    pub(super) fn forget_peer(&mut self, ctx: &mut Context, at: NodeRef) {
        if !self.peers.is_empty() {
            self.close_peer_question(ctx, at);
            self.peers.settled(at);
        }
    }

    /// Withdraws the open question of a peer whose attempt has ended.
    pub(super) fn close_peer_question(&mut self, ctx: &mut Context, at: NodeRef) {
        if let Some(question) = self.peers.close(at) {
            let path = ctx.tree.own_path(at);
            self.people.stop_asking(ctx, &question.path(&path));
            self.people.questions.close(&path, false);
            self.people.note_closed(at, QuestionStatus::Withdrawn);
        }
    }
}
