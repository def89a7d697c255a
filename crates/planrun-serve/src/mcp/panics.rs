//! Answers a request whose work panics, which would otherwise never be answered.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

use rmcp::ErrorData;

const PANICKED: &str =
    "planrun has panicked while it worked on this request, which is a defect of planrun";

/// Does the work of a request. A panic becomes an internal error.
pub(super) async fn answered<T>(
    work: impl Future<Output = Result<T, ErrorData>>,
) -> Result<T, ErrorData> {
    let mut work = pin!(work);
    poll_fn(|context| {
        // After a panic, the work is not continued, and what it shares with other requests is behind locks.
        let polled = catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context)));
        polled.unwrap_or_else(|_| Poll::Ready(Err(ErrorData::internal_error(PANICKED, None))))
    })
    .await
}

#[cfg(test)]
mod tests {
    use rmcp::model::ErrorCode;
    use tokio::task::yield_now;

    use super::*;

    #[tokio::test]
    async fn a_request_whose_work_panics_is_answered() {
        let panics = async {
            yield_now().await;
            if PANICKED.is_empty() {
                return Ok(());
            }
            panic!("a defect");
        };
        let error = answered(panics).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::INTERNAL_ERROR);
        assert_eq!(answered(async { Ok(1) }).await, Ok(1));
    }
}
