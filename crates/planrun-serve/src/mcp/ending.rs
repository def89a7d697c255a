//! Detects the end of a connection over streams: the client has closed its end, or the server has to stop.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, ReadBuf};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// How long open calls may still answer after the client has closed its end. Some clients write all their requests and
/// close their end at once; others kill the process if it does not exit within two seconds.
const LAST_ANSWERS: Duration = Duration::from_secs(1);

/// A stream that signals when it has ended.
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

/// Waits until calls have to stop waiting for their runs.
pub(super) async fn wait_for_end(ended: CancellationToken, cancel: CancellationToken) {
    let last_answers = async {
        ended.cancelled().await;
        sleep(LAST_ANSWERS).await;
    };
    tokio::select! {
        () = last_answers => {}
        () = cancel.cancelled() => {}
    }
}
