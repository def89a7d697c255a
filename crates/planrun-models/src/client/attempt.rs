//! One attempt at a request: sends it, and reads the answer as it arrives.

use std::time::Duration;

use planrun_lang::secrets::Redactor;
use planrun_tools::host::Host;
use planrun_tools::project::ModelApi;
use planrun_tools::tools::http::{HttpClient, HttpRequest, retry_after};
use planrun_tools::tools::innermost;
use reqwest::Response;

use super::clean_parts::CleanParts;
use super::deadline::{Limits, TokenDeadline};
use crate::model::{ErrorKind, ModelError, PartSender};
use crate::wire::{Reader, failure};

/// Maximum number of bytes read from the body of an error response.
const MAX_FAILURE_BYTES: usize = 64 * 1024;
/// Time to wait for the end of a complete answer, so that its connection can be reused.
const LINGER: Duration = Duration::from_millis(50);

/// The dependencies of an attempt.
pub(super) struct Attempt<'a> {
    pub client: &'a HttpClient,
    pub host: &'a dyn Host,
    pub api: ModelApi,
    pub limits: Limits,
    /// The credentials that the request contains.
    pub secrets: &'a Redactor,
}

impl Attempt<'_> {
    /// Sends the request, and passes the parts of its answer to `sender`, without secrets.
    pub(super) async fn run(
        &self,
        request: HttpRequest,
        sender: &mut PartSender,
    ) -> Result<(), ModelError> {
        let mut parts = CleanParts::new(self.secrets, sender);
        let ended = self.receive(request, &mut parts).await;
        parts.flush().await;
        ended
    }

    async fn receive(
        &self,
        request: HttpRequest,
        sender: &mut CleanParts<'_>,
    ) -> Result<(), ModelError> {
        let mut deadline = TokenDeadline::new(self.limits);
        let opened = deadline.wait(self.client.open(request)).await?;
        let mut response =
            opened.map_err(|error| ModelError::new(ErrorKind::of(&error.class), error.message))?;
        if !response.status().is_success() {
            return Err(deadline.wait(self.failure(&mut response)).await?);
        }
        let (mut reader, mut parts) = (Reader::new(self.api), Vec::new());
        loop {
            let piece = deadline.wait(response.chunk()).await?;
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
                deadline.restart();
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

    /// Returns the error that a response describes.
    async fn failure(&self, response: &mut Response) -> ModelError {
        let mut body = Vec::new();
        // If reading the body fails, the part that has arrived is used.
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
    let message = format!("its answer was interrupted: {}", innermost(problem));
    ModelError::new(ErrorKind::Network, message)
}
