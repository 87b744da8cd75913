// SPDX-License-Identifier: Apache-2.0
//! A connection that ends if its peer does not use it.

use crate::credentials::places::Place;
use crate::credentials::seats::Seat;
use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};
use tonic::transport::server::Connected;

/// Time within which a peer has to begin sending.
const FIRST_WITHIN: Duration = Duration::from_secs(10);
/// Longest time for which a peer may stop reading.
const TAKEN_WITHIN: Duration = Duration::from_secs(30);

/// A stream and its place. The stream times out if its peer does not begin to send or stops
/// reading; the place is freed when the stream is dropped.
#[derive(Debug)]
pub(crate) struct Watched<S> {
    stream: S,
    _place: Place,
    seat: Arc<Seat>,
    first: Option<Pin<Box<Sleep>>>,
    stalled: Option<Pin<Box<Sleep>>>,
    taken_within: Duration,
}

impl<S> Watched<S> {
    /// Wraps a stream. Needs a tokio runtime.
    pub(crate) fn new(stream: S, place: Place) -> Self {
        Self::on_seat(stream, place, Seat::new())
    }

    /// Wraps a stream that `seat` can end.
    pub(super) fn on_seat(stream: S, place: Place, seat: Arc<Seat>) -> Self {
        let watched = Self::within(stream, place, FIRST_WITHIN, TAKEN_WITHIN);
        Self { seat, ..watched }
    }

    fn within(stream: S, place: Place, first: Duration, taken_within: Duration) -> Self {
        Self {
            stream,
            _place: place,
            seat: Seat::new(),
            first: Some(Box::pin(sleep(first))),
            stalled: None,
            taken_within,
        }
    }

    /// Passes on the result of a write; a write that stalls for too long times out.
    fn written<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let within = self.taken_within;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(within)));
        ready!(stalled.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if read.is_ready() {
            self.seat.heard();
            self.first = None;
        } else if self.seat.poll_ended(context).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        } else if let Some(first) = &mut self.first {
            ready!(first.as_mut().poll(context));
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.written(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.written(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

impl<S: Connected> Connected for Watched<S> {
    type ConnectInfo = S::ConnectInfo;

    fn connect_info(&self) -> Self::ConnectInfo {
        self.stream.connect_info()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::credentials::places::Places;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    const SOON: Duration = Duration::from_millis(50);
    const NEVER: Duration = Duration::from_secs(1 << 30);

    fn place() -> Place {
        Places::new(1, 1).take([127, 0, 0, 1].into()).unwrap()
    }

    #[tokio::test]
    async fn a_peer_that_does_not_read_is_let_go() {
        let (stream, mut peer) = tokio::io::duplex(8);
        let mut watched = Watched::within(stream, place(), NEVER, SOON);
        let e = watched.write_all(&[7; 100]).await.unwrap_err();
        assert_eq!(e.kind(), io::ErrorKind::TimedOut);
        let mut taken = [0; 8];
        peer.read_exact(&mut taken).await.unwrap();
        // The peer reads again, so the next write has a new time limit.
        watched.write_all(&[7; 8]).await.unwrap();
    }

    #[tokio::test]
    async fn a_peer_that_does_not_begin_to_send_is_let_go() {
        let (stream, mut peer) = tokio::io::duplex(8);
        let mut watched = Watched::within(stream, place(), SOON, NEVER);
        let e = watched.read_u8().await.unwrap_err();
        assert_eq!(e.kind(), io::ErrorKind::TimedOut);
        let (stream, mut other) = tokio::io::duplex(8);
        let mut watched = Watched::within(stream, place(), NEVER, NEVER);
        other.write_u8(1).await.unwrap();
        watched.read_u8().await.unwrap();
        assert!(watched.first.is_none(), "it may be silent from now on");
        peer.shutdown().await.unwrap();
    }
}
