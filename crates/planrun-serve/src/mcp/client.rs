//! The client of one request, as the protocol shows it.

use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use planrun_tools::host::runtime_now;
use rmcp::RoleServer;
use rmcp::model::{ElicitationCapability, ProgressNotificationParam, ProtocolVersion};
use rmcp::service::RequestContext;

use super::elicitation::{can_be_elicited, form, said};
use crate::asking::{Asks, Client, PutQuestion, Said};

/// The client of one request.
pub(super) struct McpClient {
    context: RequestContext<RoleServer>,
    progress: Progress,
}

impl McpClient {
    pub(super) fn new(context: RequestContext<RoleServer>) -> Self {
        Self {
            context,
            progress: Progress::default(),
        }
    }

    /// Whether it declares that it shows forms; one that declares elicitation without a mode does.
    fn shows_forms(&self) -> bool {
        let capabilities = self.context.client_capabilities();
        let elicitation = capabilities.and_then(|capabilities| capabilities.elicitation);
        let shows =
            |declared: ElicitationCapability| declared.form.is_some() || declared.url.is_none();
        elicitation.is_some_and(shows)
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
        if !self.shows_forms() {
            Asks::Never
        } else if version.is_some_and(|version| version >= ProtocolVersion::V_2026_07_28) {
            Asks::Again
        } else {
            Asks::Now
        }
    }

    async fn ask(&self, question: &PutQuestion) -> Said {
        if !can_be_elicited(question) {
            return Said::Nothing;
        }
        let Some(form) = form(question) else {
            return Said::Nothing;
        };
        let asked_at = runtime_now();
        match self.context.peer.create_elicitation(form).await {
            Ok(answer) => said(question, &answer.action, answer.content, asked_at.elapsed()),
            Err(_) => Said::Nothing,
        }
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
        self.context.ct.cancelled().await;
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
        assert_eq!(told.map(f64::floor), [3.0, 3.0, 3.0, 4.0]);
    }
}
