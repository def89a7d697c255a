//! When a connection over streams ends: its client has closed its end, or the server shall stop.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, ReadBuf};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// How long calls may still answer that are open when the client closes its end: some write all their requests at once, and
/// others end the process if it takes longer than two seconds.
const LAST_ANSWERS: Duration = Duration::from_secs(1);

/// A stream that tells when it has ended.
pub(super) struct Ending<R> {
    pub stream: R,
    pub ended: CancellationToken,
}

impl<R: AsyncRead + Unpin> AsyncRead for Ending<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.remaining();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        let has_more = matches!(read, Poll::Ready(Ok(()))) && buffer.remaining() < before;
        if read.is_ready() && !has_more && before > 0 {
            self.ended.cancel();
        }
        read
    }
}

/// Comes back when calls shall not wait for their runs any more.
pub(super) async fn over(ended: CancellationToken, cancel: CancellationToken) {
    let last_answers = async {
        ended.cancelled().await;
        sleep(LAST_ANSWERS).await;
    };
    tokio::select! {
        () = last_answers => {}
        () = cancel.cancelled() => {}
    }
}
