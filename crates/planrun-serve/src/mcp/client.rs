//! The client of one request, implemented with the protocol.

use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use planrun_tools::host::runtime_now;
use rmcp::RoleServer;
use rmcp::model::{
    ClientResult, CustomNotification, ElicitRequest, ElicitationCapability,
    ProgressNotificationParam, ProtocolVersion, ServerRequest,
};
use rmcp::service::{OriginatingRequestId, RequestContext};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::elicitation::{can_be_elicited, elicitation_id, outcome_of, request};
use crate::asking::{AskChannel, AskMode, AskOutcome, Client, PendingQuestion};

/// The name of the notification that a question was answered on its page, for which rmcp has no type.
const PAGE_DONE: &str = "notifications/elicitation/complete";

/// The client of one request.
pub(super) struct McpClient {
    context: RequestContext<RoleServer>,
    /// Cancelled when the connection ends.
    closed: CancellationToken,
    progress: Progress,
}

impl McpClient {
    pub(super) fn new(context: RequestContext<RoleServer>, closed: CancellationToken) -> Self {
        Self {
            context,
            closed,
            progress: Progress::default(),
        }
    }

    fn elicitation(&self) -> Option<ElicitationCapability> {
        self.context.client_capabilities()?.elicitation
    }

    /// Returns true if the client declares support for forms. A client that declares elicitation without a mode does.
    fn supports_forms(&self) -> bool {
        let supports =
            |declared: ElicitationCapability| declared.form.is_some() || declared.url.is_none();
        self.elicitation().is_some_and(supports)
    }
}

#[async_trait]
impl Client for McpClient {
    fn name(&self) -> String {
        self.context
            .client_info()
            .map_or("client".to_owned(), |client| client.name)
    }

    fn ask_mode(&self) -> AskMode {
        let version = self.context.protocol_version();
        if self.elicitation().is_none() {
            AskMode::Never
        } else if version.is_some_and(|version| version >= ProtocolVersion::V_2026_07_28) {
            AskMode::Again
        } else {
            AskMode::Now
        }
    }

    fn supports_form(&self, question: &PendingQuestion) -> bool {
        self.supports_forms() && can_be_elicited(question)
    }

    fn can_open_pages(&self) -> bool {
        let declared = self.elicitation();
        declared.is_some_and(|declared| declared.url.is_some())
    }

    async fn ask(&self, question: &PendingQuestion, channel: &AskChannel) -> AskOutcome {
        let Some(request) = request(question, channel) else {
            return AskOutcome::Nothing;
        };
        let (by_page, asked_at) = (matches!(channel, AskChannel::Page(_)), runtime_now());
        let mut request = ElicitRequest::new(request);
        // Over HTTP, a question about a call belongs on the stream of that call. It is asked by a task of its own, so the
        // library cannot know the call.
        let call = OriginatingRequestId(self.context.id.clone());
        request.extensions.insert(call);
        let request = ServerRequest::ElicitRequest(request);
        match self.context.peer.send_request(request).await {
            Ok(ClientResult::ElicitResult(answer)) => {
                outcome_of(question, by_page, answer, asked_at.elapsed())
            }
            Ok(_) | Err(_) => AskOutcome::Nothing,
        }
    }

    async fn page_done(&self, question: &PendingQuestion) {
        let params = json!({ "elicitationId": elicitation_id(question) });
        let notification = CustomNotification::new(PAGE_DONE, Some(params));
        // If the client does not listen any more, it does not need the notification.
        let _ = self
            .context
            .peer
            .send_notification(notification.into())
            .await;
    }

    async fn progress(&self, steps: u64, message: &str) {
        let Some(token) = self.context.meta.get_progress_token() else {
            return;
        };
        let steps = self.progress.after(steps);
        let progress = ProgressNotificationParam::new(token, steps).with_message(message);
        // If the client does not listen any more, it does not need the notification.
        let _ = self.context.peer.notify_progress(progress).await;
    }

    async fn cancelled(&self) {
        tokio::select! {
            () = self.context.ct.cancelled() => {}
            () = self.closed.cancelled() => {}
        }
    }
}

/// The progress of a request, in thousandths of a step. By the protocol it must increase with each notification, even
/// while one step is in progress.
#[derive(Default)]
struct Progress(AtomicU64);

impl Progress {
    /// Returns the next progress value after this number of steps.
    fn after(&self, steps: u64) -> f64 {
        let last = self.0.load(Ordering::Relaxed);
        let progress = (steps * 1_000).max(last + 1);
        self.0.store(progress, Ordering::Relaxed);
        #[expect(clippy::cast_precision_loss, reason = "no run has 2^43 events")]
        let progress = progress as f64;
        progress / 1_000.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_grows_while_a_step_takes_its_time() {
        let progress = Progress::default();
        let values = [3, 3, 3, 4].map(|steps| progress.after(steps));
        assert!(values.is_sorted_by(|one, next| one < next), "{values:?}");
        assert!(
            values.iter().all(|value| (3.0..=4.0).contains(value)),
            "{values:?}"
        );
    }
}
