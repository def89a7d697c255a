//! The calls in flight over one connection, and what the server says to them in their course.

use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{
    ElicitRequestParams, ElicitResult, ElicitationAction, ProgressNotificationParam, ProgressToken,
};
use tokio::sync::{mpsc, oneshot, watch};

/// How much a server may say to one call before that is taken; the rest of its progress is dropped.
const MAX_WAITING: usize = 16;

/// Something that a server says to a call.
pub(super) enum Word {
    Progress(ProgressNotificationParam),
    Elicitation(Elicitation),
}

/// A question of the server. Dropping it cancels it there.
pub(super) struct Elicitation {
    pub params: ElicitRequestParams,
    pub reply: oneshot::Sender<ElicitResult>,
}

/// The calls in flight over one connection, the latest last.
#[derive(Clone, Default)]
pub(super) struct OpenCalls {
    calls: Arc<Mutex<Vec<OpenCall>>>,
    /// Why an answer was lost of which nobody knows whose it was: the latest time.
    lost: watch::Sender<&'static str>,
}

struct OpenCall {
    token: ProgressToken,
    words: mpsc::Sender<Word>,
}

/// A call in flight. Dropping it ends that.
pub(super) struct Registration {
    calls: OpenCalls,
    token: ProgressToken,
    pub words: mpsc::Receiver<Word>,
}

impl OpenCalls {
    /// A call has been sent with this token.
    pub(super) fn register(&self, token: ProgressToken) -> Registration {
        let (sender, words) = mpsc::channel(MAX_WAITING);
        self.change(|calls| {
            calls.push(OpenCall {
                token: token.clone(),
                words: sender,
            });
        });
        Registration {
            calls: self.clone(),
            token,
            words,
        }
    }

    pub(super) fn progress(&self, params: ProgressNotificationParam) {
        self.change(|calls| {
            let call = calls
                .iter()
                .find(|call| call.token == params.progress_token);
            if let Some(call) = call {
                // Whoever is behind wants the latest, and later ones come.
                let _ = call.words.try_send(Word::Progress(params));
            }
        });
    }

    /// Asks. The protocol does not say which call a question belongs to, so the latest one asks it.
    pub(super) async fn ask(&self, params: ElicitRequestParams) -> ElicitResult {
        let (reply, arrives) = oneshot::channel();
        let latest = self.change(|calls| calls.last().map(|call| call.words.clone()));
        let asked = match latest {
            Some(words) => {
                let elicitation = Elicitation { params, reply };
                words.send(Word::Elicitation(elicitation)).await.is_ok()
            }
            None => false,
        };
        let cancelled = || ElicitResult::new(ElicitationAction::Cancel);
        if !asked {
            return cancelled();
        }
        arrives.await.unwrap_or_else(|_| cancelled())
    }

    /// An answer has come that cannot be read, and whose it is is not known.
    pub(super) fn lose_answer(&self, why: &'static str) {
        self.lost.send_replace(why);
    }

    /// What tells of answers that are lost from now on.
    pub(super) fn lost_answers(&self) -> watch::Receiver<&'static str> {
        self.lost.subscribe()
    }

    fn change<T>(&self, change: impl FnOnce(&mut Vec<OpenCall>) -> T) -> T {
        change(&mut self.calls.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let token = &self.token;
        self.calls
            .change(|calls| calls.retain(|call| call.token != *token));
    }
}
