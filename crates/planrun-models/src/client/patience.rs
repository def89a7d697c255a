//! How long an answer may take to begin, and to go on.

use std::future::Future;
use std::time::Duration;

use planrun_tools::host::runtime_now;
use tokio::time::{Instant, timeout_at};

use crate::model::{ErrorKind, ModelError};

/// The limits of one attempt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Until the model has written something.
    pub first_token: Duration,
    /// Until it has written more.
    pub between_tokens: Duration,
}

/// Waits for an answer no longer than its limits.
pub(super) struct Patience {
    limits: Limits,
    until: Instant,
    begun: bool,
}

impl Patience {
    /// The wait for the first token begins.
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            until: runtime_now() + limits.first_token,
            begun: false,
        }
    }

    /// The model has written something: the wait for more begins.
    pub(super) fn written(&mut self) {
        self.begun = true;
        self.until = runtime_now() + self.limits.between_tokens;
    }

    /// What comes next, if it comes in time.
    pub(super) async fn wait<T>(&self, next: impl Future<Output = T>) -> Result<T, ModelError> {
        let ended = timeout_at(self.until, next).await;
        ended.map_err(|_| {
            let message = if self.begun {
                let limit = self.limits.between_tokens;
                format!("its answer went on with nothing for {limit:?} (`between_tokens`)")
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
        let mut patience = Patience::new(limits);
        assert_eq!(patience.wait(ready(7)).await, Ok(7));
        tokio::time::sleep(Duration::from_secs(19)).await;
        patience.written();
        tokio::time::sleep(Duration::from_secs(4)).await;
        patience.written();
        let error = patience.wait(pending::<()>()).await.unwrap_err();
        assert!(error.message.contains("`between_tokens`"), "{error}");
        assert_eq!(begun.elapsed().as_secs(), 28);
        let patience = Patience::new(limits);
        let error = patience.wait(pending::<()>()).await.unwrap_err();
        assert!(error.message.contains("`first_token`"), "{error}");
        assert_eq!(begun.elapsed().as_secs(), 48);
    }
}
