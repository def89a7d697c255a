//! State of the questions that tools ask during calls, with the answers given so far.

use std::collections::BTreeMap;
use std::sync::Arc;

use planrun_lang::value::Value;

use super::command::CallId;
use super::frame::NodeRef;
use super::tree::Tree;
use crate::journal::{Question, Questions};

/// What calls in flight have asked, by their steps.
#[derive(Default)]
pub(super) struct Peers {
    talks: BTreeMap<NodeRef, Talk>,
}

/// What one call has asked. A call has at most one open question.
#[derive(Default)]
pub(super) struct Talk {
    pub open: Option<Arc<Question>>,
    /// The attempt that waits for the reply. After a restart there is none until the peer asks again.
    pub waiting: Option<CallId>,
    /// Questions with the answers that they got.
    answered: Vec<(Arc<Question>, Value)>,
}

impl Peers {
    /// What a call has asked so far.
    pub(super) fn talk(&mut self, at: NodeRef) -> &mut Talk {
        self.talks.entry(at).or_default()
    }

    /// The open question of a call.
    pub(super) fn open(&self, at: NodeRef) -> Option<&Arc<Question>> {
        self.talks.get(&at)?.open.as_ref()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.talks.is_empty()
    }

    pub(super) fn any_open(&self) -> bool {
        self.talks.values().any(|talk| talk.open.is_some())
    }

    /// The call behind an open question.
    pub(super) fn at(&self, tree: &Tree, questions: &Questions, path: &str) -> Option<NodeRef> {
        let step = questions.step(path)?;
        let asks = |(at, talk): (&NodeRef, &Talk)| {
            let open = talk.open.as_ref()?;
            (*tree.own_path(*at) == **step && *open.path(step) == *path).then_some(*at)
        };
        self.talks.iter().find_map(asks)
    }

    /// The answer that the same question of this execution got before.
    pub(super) fn answer_to(&self, at: NodeRef, question: &Question) -> Option<Value> {
        let answered = &self.talks.get(&at)?.answered;
        let same = answered.iter().find(|(known, _)| known.is_same(question));
        same.map(|(_, answer)| answer.clone())
    }

    /// The open question of a call has got its answer.
    pub(super) fn note_answer(&mut self, at: NodeRef, answer: &Value) {
        if let Some(talk) = self.talks.get_mut(&at)
            && let Some(question) = talk.open.take()
        {
            talk.answered.push((question, answer.clone()));
        }
    }

    /// What a call asks is open no more; false where nothing was.
    pub(super) fn close(&mut self, at: NodeRef) -> bool {
        let talk = self.talks.get_mut(&at);
        talk.is_some_and(|talk| talk.open.take().is_some())
    }

    /// The attempt that waits for the reply, if one does: it waits no longer.
    pub(super) fn take_waiting(&mut self, at: NodeRef) -> Option<CallId> {
        self.talks.get_mut(&at)?.waiting.take()
    }

    /// The step of a call has settled.
    pub(super) fn settled(&mut self, at: NodeRef) {
        self.talks.remove(&at);
    }
}
