//! One attempt at a request: it is sent, and its answer is read as it comes.

use std::time::Duration;

use planrun_tools::host::Host;
use planrun_tools::project::ModelApi;
use planrun_tools::tools::http::{HttpClient, HttpRequest, retry_after};
use reqwest::Response;

use super::patience::{Limits, Patience};
use crate::model::{ErrorKind, ModelError, PartSender};
use crate::wire::{Reader, failure};

/// How much of the body of a failure is read, in bytes.
const MAX_FAILURE_BYTES: usize = 64 * 1024;
/// How long the end of a complete answer is waited for, so that its connection can be used again.
const LINGER: Duration = Duration::from_millis(50);

/// What an attempt needs.
pub(super) struct Attempt<'a> {
    pub client: &'a HttpClient,
    pub host: &'a dyn Host,
    pub api: ModelApi,
    pub limits: Limits,
}

impl Attempt<'_> {
    /// Sends the request, and gives the parts of its answer out.
    pub(super) async fn run(
        &self,
        request: HttpRequest,
        sender: &mut PartSender,
    ) -> Result<(), ModelError> {
        let mut patience = Patience::new(self.limits);
        let opened = patience.wait(self.client.open(request)).await?;
        let mut response =
            opened.map_err(|error| ModelError::new(ErrorKind::of(&error.class), error.message))?;
        if !response.status().is_success() {
            return Err(patience.wait(self.failure(&mut response)).await?);
        }
        let (mut reader, mut parts) = (Reader::new(self.api), Vec::new());
        loop {
            let piece = patience.wait(response.chunk()).await?;
            let piece = piece.map_err(|problem| broken_off(&problem))?;
            let read = match &piece {
                Some(piece) => reader.add(piece, &mut parts),
                None => reader.end(&mut parts),
            };
            let written = parts.iter().any(crate::model::Part::is_token);
            for part in parts.drain(..) {
                sender.send(part).await;
            }
            if written {
                patience.written();
            }
            read?;
            if piece.is_none() {
                return Ok(());
            }
            if reader.is_complete() {
                let _ = tokio::time::timeout(LINGER, response.chunk()).await;
                return Ok(());
            }
        }
    }

    /// The failure that a response is.
    async fn failure(&self, response: &mut Response) -> ModelError {
        let mut body = Vec::new();
        // What has come of it is told where the rest does not.
        while let Ok(Some(piece)) = response.chunk().await {
            let room = MAX_FAILURE_BYTES - body.len();
            body.extend_from_slice(piece.get(..room).unwrap_or(&piece));
            if body.len() == MAX_FAILURE_BYTES {
                break;
            }
        }
        ModelError {
            retry_after: retry_after(response.headers(), self.host.now()),
            ..failure(response.status().as_u16(), &body)
        }
    }
}

fn broken_off(problem: &reqwest::Error) -> ModelError {
    let innermost = |mut error: &dyn std::error::Error| {
        while let Some(cause) = error.source() {
            error = cause;
        }
        error.to_string()
    };
    let message = format!("its answer broke off: {}", innermost(problem));
    ModelError::new(ErrorKind::Network, message)
}
