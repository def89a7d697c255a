//! The client of one request, as the protocol shows it.

use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use planrun_tools::host::runtime_now;
use rmcp::RoleServer;
use rmcp::model::{
    CustomNotification, ElicitationCapability, ProgressNotificationParam, ProtocolVersion,
};
use rmcp::service::RequestContext;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::elicitation::{can_be_elicited, elicitation_id, request, said};
use crate::asking::{AskOutcome, Asks, Client, PutQuestion, Way};

/// What the protocol calls the notification, for which rmcp has no type.
const PAGE_IS_DONE: &str = "notifications/elicitation/complete";

/// The client of one request.
pub(super) struct McpClient {
    context: RequestContext<RoleServer>,
    /// Fires when the connection ends.
    over: CancellationToken,
    progress: Progress,
}

impl McpClient {
    pub(super) fn new(context: RequestContext<RoleServer>, over: CancellationToken) -> Self {
        Self {
            context,
            over,
            progress: Progress::default(),
        }
    }

    fn elicitation(&self) -> Option<ElicitationCapability> {
        self.context.client_capabilities()?.elicitation
    }

    /// Whether it declares that it shows forms; one that declares elicitation without a mode does.
    fn shows_forms(&self) -> bool {
        let shows =
            |declared: ElicitationCapability| declared.form.is_some() || declared.url.is_none();
        self.elicitation().is_some_and(shows)
    }
}

#[async_trait]
impl Client for McpClient {
    fn name(&self) -> String {
        self.context
            .client_info()
            .map_or("client".to_owned(), |client| client.name)
    }

    fn asks(&self) -> Asks {
        let version = self.context.protocol_version();
        if self.elicitation().is_none() {
            Asks::Never
        } else if version.is_some_and(|version| version >= ProtocolVersion::V_2026_07_28) {
            Asks::Again
        } else {
            Asks::Now
        }
    }

    fn has_form(&self, question: &PutQuestion) -> bool {
        self.shows_forms() && can_be_elicited(question)
    }

    fn opens_pages(&self) -> bool {
        let declared = self.elicitation();
        declared.is_some_and(|declared| declared.url.is_some())
    }

    async fn ask(&self, question: &PutQuestion, way: &Way) -> AskOutcome {
        let Some(request) = request(question, way) else {
            return AskOutcome::Nothing;
        };
        let (by_page, asked_at) = (matches!(way, Way::Page(_)), runtime_now());
        match self.context.peer.create_elicitation(request).await {
            Ok(answer) => said(question, by_page, answer, asked_at.elapsed()),
            Err(_) => AskOutcome::Nothing,
        }
    }

    async fn page_is_done(&self, question: &PutQuestion) {
        let params = json!({ "elicitationId": elicitation_id(question) });
        let told = CustomNotification::new(PAGE_IS_DONE, Some(params));
        // Who does not listen any more misses nothing.
        let _ = self.context.peer.send_notification(told.into()).await;
    }

    async fn progress(&self, steps: u64, message: &str) {
        let Some(token) = self.context.meta.get_progress_token() else {
            return;
        };
        let steps = self.progress.after(steps);
        let progress = ProgressNotificationParam::new(token, steps).with_message(message);
        // Who does not listen any more misses nothing.
        let _ = self.context.peer.notify_progress(progress).await;
    }

    async fn cancelled(&self) {
        tokio::select! {
            () = self.context.ct.cancelled() => {}
            () = self.over.cancelled() => {}
        }
    }
}

/// How far a request has come, in thousandths of a step. The protocol wants it to grow with each notification, also where one
/// step takes its time.
#[derive(Default)]
struct Progress(AtomicU64);

impl Progress {
    /// What is told after so many steps.
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
        let told = [3, 3, 3, 4].map(|steps| progress.after(steps));
        assert!(told.is_sorted_by(|one, next| one < next), "{told:?}");
        assert!(
            told.iter().all(|told| (3.0..=4.0).contains(told)),
            "{told:?}"
        );
    }
}
