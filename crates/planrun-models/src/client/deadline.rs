//! Timeouts for the first token of an answer, and between tokens.

use std::future::Future;
use std::time::Duration;

use planrun_tools::host::runtime_now;
use tokio::time::{Instant, timeout_at};

use crate::model::{ErrorKind, ModelError};

/// The timeouts of one attempt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Until the first token.
    pub first_token: Duration,
    /// Between two tokens.
    pub between_tokens: Duration,
}

/// The deadline for the next token of an answer.
pub(super) struct TokenDeadline {
    limits: Limits,
    until: Instant,
    begun: bool,
}

impl TokenDeadline {
    /// Starts the wait for the first token.
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            until: runtime_now() + limits.first_token,
            begun: false,
        }
    }

    /// Records a token, and starts the wait for the next one.
    pub(super) fn restart(&mut self) {
        self.begun = true;
        self.until = runtime_now() + self.limits.between_tokens;
    }

    /// Waits for a future until the deadline.
    pub(super) async fn wait<T>(&self, next: impl Future<Output = T>) -> Result<T, ModelError> {
        let ended = timeout_at(self.until, next).await;
        ended.map_err(|_| {
            let message = if self.begun {
                let limit = self.limits.between_tokens;
                format!("its answer stalled for {limit:?} (`between_tokens`)")
            } else {
                let limit = self.limits.first_token;
                format!("its answer did not begin within {limit:?} (`first_token`)")
            };
            ModelError::new(ErrorKind::Timeout, message)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_wait_for_more_begins_with_what_is_written() {
        let limits = Limits {
            first_token: Duration::from_secs(20),
            between_tokens: Duration::from_secs(5),
        };
        let begun = runtime_now();
        let mut deadline = TokenDeadline::new(limits);
        assert_eq!(deadline.wait(ready(7)).await, Ok(7));
        tokio::time::sleep(Duration::from_secs(19)).await;
        deadline.restart();
        tokio::time::sleep(Duration::from_secs(4)).await;
        deadline.restart();
        let error = deadline.wait(pending::<()>()).await.unwrap_err();
        assert!(error.message.contains("`between_tokens`"), "{error}");
        assert_eq!(begun.elapsed().as_secs(), 28);
        let deadline = TokenDeadline::new(limits);
        let error = deadline.wait(pending::<()>()).await.unwrap_err();
        assert!(error.message.contains("`first_token`"), "{error}");
        assert_eq!(begun.elapsed().as_secs(), 48);
    }
}
