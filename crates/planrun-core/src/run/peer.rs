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
    /// The attempt that has asked last.
    pub attempt: Option<CallId>,
    /// Questions with their answers, oldest first.
    answered: Vec<Answered>,
}

/// An answered question of a peer.
struct Answered {
    question: Arc<Question>,
    answer: Value,
    /// Whether the answer was passed to the attempt that has asked last.
    is_passed: bool,
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

    /// Returns the recorded answer to a question that an attempt asks. An attempt that asks the same question several
    /// times gets the answers one after the other; the next attempt of the execution begins with the first of them.
    pub(super) fn answer_to(&mut self, call: CallId, question: &Question) -> Option<Value> {
        let conversation = self.conversations.get_mut(&call.at)?;
        let is_another = conversation.attempt.replace(call) != Some(call);
        let mut found = None;
        for answered in &mut conversation.answered {
            answered.is_passed &= !is_another;
            if found.is_none() && !answered.is_passed && answered.question.is_same(question) {
                answered.is_passed = true;
                found = Some(answered.answer.clone());
            }
        }
        found
    }

    /// Records the answer to the open question of a call's peer.
    pub(super) fn note_answer(&mut self, at: NodeRef, answer: &Value) {
        if let Some(conversation) = self.conversations.get_mut(&at)
            && let Some(question) = conversation.open.take()
        {
            conversation.answered.push(Answered {
                question,
                answer: answer.clone(),
                is_passed: conversation.waiting.is_some(),
            });
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
