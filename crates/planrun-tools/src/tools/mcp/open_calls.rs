//! The calls in flight over one connection, and the messages that the server sends to them.

use std::sync::Arc;

use parking_lot::Mutex;
use rmcp::model::{
    ElicitRequestParams, ElicitResult, ElicitationAction, ProgressNotificationParam, ProgressToken,
};
use tokio::sync::{mpsc, oneshot, watch};

/// Maximum number of queued messages from the server for one call. Further progress is dropped.
const MAX_WAITING: usize = 16;

pub(super) enum ServerMessage {
    Progress(ProgressNotificationParam),
    Elicitation(Elicitation),
}

/// A question of the server. If it is dropped, it is cancelled at the server.
pub(super) struct Elicitation {
    pub params: ElicitRequestParams,
    pub reply: oneshot::Sender<ElicitResult>,
}

/// The calls in flight over one connection, the latest last.
#[derive(Clone, Default)]
pub(super) struct OpenCalls {
    calls: Arc<Mutex<Vec<OpenCall>>>,
    /// Why an answer to an unknown call was lost, most recently.
    lost: watch::Sender<&'static str>,
}

struct OpenCall {
    token: ProgressToken,
    messages: mpsc::Sender<ServerMessage>,
}

/// A registered call in flight. Dropping it removes the registration.
pub(super) struct Registration {
    calls: OpenCalls,
    token: ProgressToken,
    pub messages: mpsc::Receiver<ServerMessage>,
}

impl OpenCalls {
    /// Registers a call that was sent with this token.
    pub(super) fn register(&self, token: ProgressToken) -> Registration {
        let (sender, messages) = mpsc::channel(MAX_WAITING);
        self.change(|calls| {
            calls.push(OpenCall {
                token: token.clone(),
                messages: sender,
            });
        });
        Registration {
            calls: self.clone(),
            token,
            messages,
        }
    }

    pub(super) fn progress(&self, params: ProgressNotificationParam) {
        self.change(|calls| {
            let call = calls
                .iter()
                .find(|call| call.token == params.progress_token);
            if let Some(call) = call {
                // Progress may be dropped if the receiver is behind, because newer progress follows.
                let _ = call.messages.try_send(ServerMessage::Progress(params));
            }
        });
    }

    /// Asks a question of the server. The protocol does not identify the call that a question belongs to, so it is
    /// asked by the latest one.
    pub(super) async fn ask(&self, params: ElicitRequestParams) -> ElicitResult {
        let (reply, arrives) = oneshot::channel();
        let latest = self.change(|calls| calls.last().map(|call| call.messages.clone()));
        let asked = match latest {
            Some(messages) => {
                let elicitation = Elicitation { params, reply };
                messages
                    .send(ServerMessage::Elicitation(elicitation))
                    .await
                    .is_ok()
            }
            None => false,
        };
        let cancelled = || ElicitResult::new(ElicitationAction::Cancel);
        if !asked {
            return cancelled();
        }
        arrives.await.unwrap_or_else(|_| cancelled())
    }

    /// Records that an unreadable answer to an unknown call has arrived.
    pub(super) fn lose_answer(&self, why: &'static str) {
        self.lost.send_replace(why);
    }

    /// Returns a receiver for answers that are lost from now on.
    pub(super) fn lost_answers(&self) -> watch::Receiver<&'static str> {
        self.lost.subscribe()
    }

    fn change<T>(&self, change: impl FnOnce(&mut Vec<OpenCall>) -> T) -> T {
        change(&mut self.calls.lock())
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let token = &self.token;
        self.calls
            .change(|calls| calls.retain(|call| call.token != *token));
    }
}
