//! Everything that people were asked in a run, and what became of each question.

use std::sync::Arc;

use planrun_lang::types::Effect;
use planrun_lang::value::Value;
use serde::Serialize;

use super::People;
use crate::journal::{APPROVE, Answer, FormField, Question, Waiting, instant};
use crate::run::context::Context;
use crate::run::frame::{Microseconds, NodeRef};

/// One question: a gate, a form, or whether something happened.
#[derive(Clone, Debug, Serialize)]
pub struct QuestionReport {
    /// The path under which it is answered.
    pub path: Arc<str>,
    /// `confirm`, `approval`, `input`, `answer` or `peer`.
    pub kind: &'static str,
    pub status: QuestionStatus,
    pub text: Arc<str>,
    /// What is behind it, where it is not asked in the course of things.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<Arc<str>>,
    /// What would be, or was, called; absent for steps that hold others, and for forms.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub tool: Arc<str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effect: Option<Effect>,
    /// What a gate lets through, or what was sent; of a form, what is known and what stands in its fields.
    pub arguments: Value,
    /// The fields that are asked for.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub form: Vec<FormField>,
    /// The role that answers.
    pub role: Option<Arc<str>>,
    /// RFC 3339, like the end of the time for an answer.
    pub asked_at: String,
    pub expires: Option<String>,
    /// Who answered, and what they said to it.
    pub by: Option<Arc<str>>,
    pub note: Option<Arc<str>>,
}

/// What became of a question.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum QuestionStatus {
    Pending,
    /// A yes to a gate.
    Approved,
    /// A no to a gate, or to what a peer asked.
    Rejected,
    /// A form, or what became of a call.
    Answered,
    /// Nobody answered in time.
    Expired,
    /// The step ended before anybody answered, or asked for something else.
    Withdrawn,
}

/// A question while the run goes on.
pub(in crate::run) struct Asked {
    at: NodeRef,
    path: Arc<str>,
    question: Arc<Question>,
    since: Microseconds,
    status: QuestionStatus,
    by: Option<Arc<str>>,
    note: Option<Arc<str>>,
}

impl People {
    /// A step asks.
    pub(in crate::run) fn note_asked(
        &mut self,
        ctx: &Context,
        at: NodeRef,
        path: Arc<str>,
        question: Arc<Question>,
    ) {
        let since = ctx.outbox.elapsed();
        let status = QuestionStatus::Pending;
        self.asked.push(Asked {
            at,
            path,
            question,
            since,
            status,
            by: None,
            note: None,
        });
    }

    /// Somebody has answered.
    pub(in crate::run) fn note_answered(&mut self, at: NodeRef, kind: Waiting, answer: &Answer) {
        let status = match kind {
            Waiting::Confirm if answer.value == Value::Bool(true) => QuestionStatus::Approved,
            Waiting::Approval if answer.value.get(APPROVE) == Some(&Value::Bool(true)) => {
                QuestionStatus::Approved
            }
            Waiting::Confirm | Waiting::Approval => QuestionStatus::Rejected,
            Waiting::Peer if answer.value == Value::Null => QuestionStatus::Rejected,
            Waiting::Input
            | Waiting::Peer
            | Waiting::Answer
            | Waiting::Retry
            | Waiting::Poll
            | Waiting::Outcome
            | Waiting::Time => QuestionStatus::Answered,
        };
        if let Some(asked) = self.note_closed(at, status) {
            (asked.by, asked.note) = (answer.by.clone(), answer.note.clone());
        }
    }

    /// What a step asked is open no more.
    pub(in crate::run) fn note_closed(
        &mut self,
        at: NodeRef,
        status: QuestionStatus,
    ) -> Option<&mut Asked> {
        let open = |asked: &&mut Asked| asked.at == at && asked.status == QuestionStatus::Pending;
        let asked = self.asked.iter_mut().find(open)?;
        asked.status = status;
        Some(asked)
    }

    /// Everything that was asked, as it may be seen, in the order in which it was.
    pub(in crate::run) fn question_reports(&self, ctx: &Context) -> Vec<QuestionReport> {
        let report = |asked: &Asked| {
            let question = asked.question.shown(&ctx.outbox.redactor);
            let shown = |text: &Option<Arc<str>>| {
                text.as_deref()
                    .map(|text| ctx.outbox.redactor.text(text).into())
            };
            QuestionReport {
                path: asked.path.clone(),
                kind: question.kind.name(),
                status: asked.status,
                text: question.text.clone(),
                why: question.why.clone(),
                tool: question.tool.clone(),
                effect: question.effect,
                arguments: question.arguments.clone(),
                form: question.form.clone(),
                role: question.by.clone(),
                asked_at: ctx.outbox.instant(asked.since),
                expires: question.expires.map(instant),
                by: shown(&asked.by),
                note: shown(&asked.note),
            }
        };
        self.asked.iter().map(report).collect()
    }
}
