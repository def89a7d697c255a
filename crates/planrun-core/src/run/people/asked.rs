//! Reports of everything that people were asked in a run, with the results.

use std::sync::Arc;

use planrun_lang::types::Effect;
use planrun_lang::value::Value;
use serde::Serialize;

use super::People;
use crate::journal::{APPROVE, Answer, FormField, Question, Waiting, instant};
use crate::run::context::Context;
use crate::run::frame::{Microseconds, NodeRef};

/// The report of one question.
#[derive(Clone, Debug, Serialize)]
pub struct QuestionReport {
    /// The path under which the question is answered.
    pub path: Arc<str>,
    /// `confirm`, `approval`, `input`, `answer` or `peer`.
    pub kind: &'static str,
    pub status: QuestionStatus,
    pub text: Arc<str>,
    /// Why it is asked, if it is not part of the normal flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<Arc<str>>,
    /// Tool or plan whose call the gate guards, or tool that was called; absent for other steps.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub tool: Arc<str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effect: Option<Effect>,
    /// Arguments that the gate approves, or that were sent; for a form, the values that are known and the prefilled
    /// ones.
    pub arguments: Value,
    /// Fields of the form.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub form: Vec<FormField>,
    /// The role that has to answer.
    pub role: Option<Arc<str>>,
    /// RFC 3339, like `expires`.
    pub asked_at: String,
    pub expires: Option<String>,
    /// The person who answered, and the note.
    pub by: Option<Arc<str>>,
    pub note: Option<Arc<str>>,
}

/// The status of a question.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum QuestionStatus {
    Pending,
    /// A yes to a gate, or to the approval of the run.
    Approved,
    /// A no to a gate, or to the approval of the run, or a declined question of a peer.
    Rejected,
    /// An answer to a form, to a question of a peer, or to the question whether a call took effect.
    Answered,
    /// Nobody answered in time.
    Expired,
    /// The step ended, or asked something else, before anybody answered.
    Withdrawn,
}

/// A question of a run.
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
    /// Records that a step asks.
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

    /// Records an answer.
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
            | Waiting::Effects
            | Waiting::Time => QuestionStatus::Answered,
        };
        if let Some(asked) = self.note_closed(at, status) {
            (asked.by, asked.note) = (answer.by.clone(), answer.note.clone());
        }
    }

    /// Closes the open question of a step.
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

    /// Returns the reports of all questions, with secrets redacted, in the order in which they were asked.
    pub(in crate::run) fn question_reports(&self, ctx: &Context) -> Vec<QuestionReport> {
        let report = |asked: &Asked| {
            let question = asked.question.redacted(&ctx.outbox.redactor);
            let redacted = |text: &Option<Arc<str>>| {
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
                by: redacted(&asked.by),
                note: redacted(&asked.note),
            }
        };
        self.asked.iter().map(report).collect()
    }
}
