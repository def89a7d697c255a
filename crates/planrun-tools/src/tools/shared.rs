//! What is fetched from a server when it is first needed, such as a connection, and shared until it is closed.

use std::sync::Arc;

use tokio::sync::{Mutex, Notify};

/// A value that is opened when it is first needed.
pub(super) struct Shared<T> {
    kept: Mutex<Option<Arc<T>>>,
    closed: Notify,
}

impl<T> Shared<T> {
    pub(super) fn new() -> Self {
        Self {
            kept: Mutex::new(None),
            closed: Notify::new(),
        }
    }

    /// Returns the value, which is opened if there is none that is usable. Concurrent callers share one. Returns `None`
    /// if it is closed before it is open.
    pub(super) async fn get<E>(
        &self,
        is_usable: impl Fn(&T) -> bool,
        open: impl Future<Output = Result<T, E>>,
    ) -> Option<Result<Arc<T>, E>> {
        let closed = self.closed.notified();
        let opening = async {
            let mut kept = self.kept.lock().await;
            if let Some(known) = kept.as_ref().filter(|known| is_usable(known)) {
                return Ok(known.clone());
            }
            Ok(kept.insert(Arc::new(open.await?)).clone())
        };
        tokio::select! {
            opened = opening => Some(opened),
            () = closed => None,
        }
    }

    /// Takes the value out. This does not wait for a server that does not answer: whoever opens the value stops.
    pub(super) async fn take(&self) -> Option<Arc<T>> {
        self.closed.notify_waiters();
        self.kept.lock().await.take()
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    #[tokio::test]
    async fn closing_does_not_wait_for_a_server_that_does_not_answer() {
        let shared = Shared::<u8>::new();
        let get = || shared.get(|_| true, pending::<Result<u8, ()>>());
        let close = async {
            tokio::task::yield_now().await;
            shared.take().await
        };
        let (one, other, taken) = tokio::join!(get(), get(), close);
        assert_eq!((one, other, taken), (None, None, None));
        let one = shared.get(|_| true, ready(Ok::<_, ()>(1))).await;
        assert_eq!(one, Some(Ok(Arc::new(1))));
        let known = shared.get(|_| true, ready(Ok::<_, ()>(2))).await;
        assert_eq!(known, Some(Ok(Arc::new(1))));
        let lost = shared.get(|_| false, ready(Ok::<_, ()>(3))).await;
        assert_eq!(lost, Some(Ok(Arc::new(3))));
        assert_eq!(shared.take().await, Some(Arc::new(3)));
    }
}
