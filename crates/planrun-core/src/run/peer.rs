//! State of the questions that peers ask during calls, with the answers given so far.

use std::collections::BTreeMap;
use std::sync::Arc;

use planrun_lang::value::Value;

use super::command::CallId;
use super::frame::NodeRef;
use super::tree::Tree;
use crate::journal::{Question, Questions};

/// The questions of peers, by the steps that call them.
#[derive(Default)]
pub(super) struct Peers {
    conversations: BTreeMap<NodeRef, Conversation>,
}

/// The questions of one peer, of which at most one is open.
#[derive(Default)]
pub(super) struct Conversation {
    pub open: Option<Arc<Question>>,
    /// The attempt that waits for the reply. After a restart there is none until the peer asks again.
    pub waiting: Option<CallId>,
    /// Questions with their answers.
    answered: Vec<(Arc<Question>, Value)>,
}

impl Peers {
    /// Returns the questions of a call's peer.
    pub(super) fn conversation(&mut self, at: NodeRef) -> &mut Conversation {
        self.conversations.entry(at).or_default()
    }

    /// Returns the open question of a call's peer.
    pub(super) fn open(&self, at: NodeRef) -> Option<&Arc<Question>> {
        self.conversations.get(&at)?.open.as_ref()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.conversations.is_empty()
    }

    pub(super) fn any_open(&self) -> bool {
        self.conversations
            .values()
            .any(|conversation| conversation.open.is_some())
    }

    /// Returns the calls that wait for a reply, in source order.
    pub(super) fn waiting(&self) -> impl Iterator<Item = NodeRef> {
        let conversations = self.conversations.iter();
        conversations.filter_map(|(at, conversation)| conversation.waiting.map(|_| *at))
    }

    /// Returns the call whose peer asks the open question under a path.
    pub(super) fn at(&self, tree: &Tree, questions: &Questions, path: &str) -> Option<NodeRef> {
        let step = questions.step(path)?;
        let asks = |(at, conversation): (&NodeRef, &Conversation)| {
            let open = conversation.open.as_ref()?;
            (*tree.own_path(*at) == **step && *open.path(step) == *path).then_some(*at)
        };
        self.conversations.iter().find_map(asks)
    }

    /// Returns the earlier answer to the same question in the same execution.
    pub(super) fn answer_to(&self, at: NodeRef, question: &Question) -> Option<Value> {
        let answered = &self.conversations.get(&at)?.answered;
        let same = answered.iter().find(|(known, _)| known.is_same(question));
        same.map(|(_, answer)| answer.clone())
    }

    /// Records the answer to the open question of a call's peer.
    pub(super) fn note_answer(&mut self, at: NodeRef, answer: &Value) {
        if let Some(conversation) = self.conversations.get_mut(&at)
            && let Some(question) = conversation.open.take()
        {
            conversation.answered.push((question, answer.clone()));
        }
    }

    /// Closes the open question of a call's peer, and returns it.
    pub(super) fn close(&mut self, at: NodeRef) -> Option<Arc<Question>> {
        self.conversations.get_mut(&at)?.open.take()
    }

    /// Takes the attempt that waits for the reply.
    pub(super) fn take_waiting(&mut self, at: NodeRef) -> Option<CallId> {
        self.conversations.get_mut(&at)?.waiting.take()
    }

    /// Forgets a call whose step has settled.
    pub(super) fn settled(&mut self, at: NodeRef) {
        self.conversations.remove(&at);
    }
}
