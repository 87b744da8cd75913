// SPDX-License-Identifier: Apache-2.0
//! Limits the number of large answers (packets, some megabytes each) that are sent at once.

use bytes::Bytes;
use http_body::Frame;
use parking_lot::Mutex;
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::Service;
use tonic::codegen::http::{Request, Response};
use tonic::server::NamedService;

/// Maximum number of answers in transit; further calls wait until one is taken.
const MAX_ANSWERS: usize = 4;
/// Time within which a caller must take its answer, which is given up otherwise.
const TAKEN_WITHIN: Duration = Duration::from_secs(30);
/// Bytes handed to a connection at once; the rest stays here, still counted, until the caller takes
/// it.
const PIECE_BYTES: usize = 64 << 10;
/// Method with large answers.
const LARGE: &str = "/ReadPackets";

/// Service with a limited number of large answers in transit.
#[derive(Clone, Debug)]
pub(crate) struct FewAnswers<S> {
    inner: S,
    places: Arc<Semaphore>,
}

impl<S> FewAnswers<S> {
    pub(crate) fn new(inner: S) -> Self {
        Self {
            inner,
            places: Arc::new(Semaphore::new(MAX_ANSWERS)),
        }
    }
}

impl<S: NamedService> NamedService for FewAnswers<S> {
    const NAME: &'static str = S::NAME;
}

impl<S> Service<Request<Body>> for FewAnswers<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible>,
    S: Clone + Send + 'static,
    S::Future: Send + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        if !request.uri().path().ends_with(LARGE) {
            return Box::pin(self.inner.call(request));
        }
        // The service that is ready answers; its clone is for the next call.
        let clone = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, clone);
        let places = Arc::clone(&self.places);
        Box::pin(async move {
            let place = places.acquire_owned().await;
            let answer = inner.call(request).await?;
            Ok(answer.map(|body| Body::new(Answer::new(body, place.ok()))))
        })
    }
}

/// Untaken rest of an answer, with the place that it holds.
struct Held {
    body: Body,
    rest: Bytes,
    _place: Option<OwnedSemaphorePermit>,
}

/// Body of an answer. A connection does not poll the body of a caller that stops reading, so a task
/// of its own drops the rest, with its memory and its place, at the deadline.
struct Answer {
    /// `None` once the deadline has passed.
    held: Arc<Mutex<Option<Held>>>,
    expiry: JoinHandle<()>,
}

impl Answer {
    fn new(body: Body, _place: Option<OwnedSemaphorePermit>) -> Self {
        let rest = Bytes::new();
        let held = Arc::new(Mutex::new(Some(Held { body, rest, _place })));
        let expiring = Arc::clone(&held);
        let expiry = tokio::spawn(async move {
            sleep(TAKEN_WITHIN).await;
            *expiring.lock() = None;
        });
        Self { held, expiry }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.expiry.abort();
    }
}

impl http_body::Body for Answer {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let mut held = self.held.lock();
        let Some(held) = held.as_mut() else {
            let why = "the answer was not taken in time";
            return Poll::Ready(Some(Err(Status::deadline_exceeded(why))));
        };
        if held.rest.is_empty() {
            let frame = std::task::ready!(Pin::new(&mut held.body).poll_frame(context));
            let frame = match frame {
                Some(Ok(frame)) => frame,
                other => return Poll::Ready(other),
            };
            match frame.into_data() {
                Ok(data) => held.rest = data,
                Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
            }
        }
        let piece = PIECE_BYTES.min(held.rest.len());
        let piece = held.rest.split_to(piece);
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body::Body as _;

    /// Answers every request with this many bytes.
    #[derive(Clone)]
    struct Large(usize);

    impl Service<Request<Body>> for Large {
        type Response = Response<Body>;
        type Error = Infallible;
        type Future = std::future::Ready<Result<Response<Body>, Infallible>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, _: Request<Body>) -> Self::Future {
            let body = axum::body::Body::from(vec![7; self.0]);
            std::future::ready(Ok(Response::new(Body::new(body))))
        }
    }

    impl NamedService for Large {
        const NAME: &'static str = "tidemark.v1.Telemetry";
    }

    fn request(method: &str) -> Request<Body> {
        let uri = format!("/tidemark.v1.Telemetry/{method}");
        Request::builder().uri(uri).body(Body::empty()).unwrap()
    }

    async fn read(answer: Response<Body>) -> Vec<usize> {
        let mut body = answer.into_body();
        let mut pieces = Vec::new();
        loop {
            let frame = std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await;
            match frame {
                Some(frame) => pieces.push(frame.unwrap().into_data().unwrap().len()),
                None => return pieces,
            }
        }
    }

    #[tokio::test]
    async fn large_answers_wait_until_others_are_taken() {
        let length = 3 * PIECE_BYTES + 1;
        let mut service = FewAnswers::new(Large(length));
        let mut answers = Vec::new();
        for _ in 0..MAX_ANSWERS {
            answers.push(service.call(request("ReadPackets")).await.unwrap());
        }
        let mut next = service.call(request("ReadPackets"));
        assert!(futures::poll!(&mut next).is_pending());
        // Small answers do not wait.
        service.call(request("GetInfo")).await.unwrap();
        let pieces = read(answers.remove(0)).await;
        assert_eq!(pieces, [PIECE_BYTES, PIECE_BYTES, PIECE_BYTES, 1]);
        assert_eq!(read(next.await.unwrap()).await, pieces);
        // Nor do large ones once a caller goes away.
        drop(answers);
        let all = (0..MAX_ANSWERS).map(|_| service.call(request("ReadPackets")));
        assert_eq!(futures::future::join_all(all).await.len(), MAX_ANSWERS);
    }

    #[tokio::test(start_paused = true)]
    async fn answers_that_nobody_takes_give_their_places_back() {
        let mut service = FewAnswers::new(Large(3 * PIECE_BYTES));
        let all = (0..MAX_ANSWERS).map(|_| service.call(request("ReadPackets")));
        let mut stalled = futures::future::join_all(all).await;
        let began = tokio::time::Instant::now();
        let next = service.call(request("ReadPackets")).await.unwrap();
        assert_eq!(began.elapsed().as_secs(), TAKEN_WITHIN.as_secs());
        assert_eq!(read(next).await.len(), 3);
        let mut body = stalled.remove(0).unwrap().into_body();
        let frame = std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await;
        let refused = frame.unwrap().unwrap_err();
        assert_eq!(refused.code(), tonic::Code::DeadlineExceeded);
    }

    /// The server does not poll a body while its stream has no capacity.
    #[tokio::test(start_paused = true)]
    async fn callers_on_the_network_that_stop_reading_give_their_places_back() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let server = tonic::transport::Server::builder()
            .add_service(FewAnswers::new(Large(64 * PIECE_BYTES)))
            .serve_with_incoming(tokio_stream::wrappers::TcpListenerStream::new(listener));
        tokio::spawn(server);
        let call = || async {
            let endpoint = tonic::transport::Endpoint::from_shared(address.clone()).unwrap();
            let mut channel = endpoint.connect().await.unwrap();
            std::future::poll_fn(|cx| channel.poll_ready(cx))
                .await
                .unwrap();
            (channel.call(request("ReadPackets")).await.unwrap(), channel)
        };
        let mut stalled = Vec::new();
        for _ in 0..MAX_ANSWERS {
            stalled.push(call().await);
        }
        let next = tokio::time::timeout(4 * TAKEN_WITHIN, call()).await;
        assert_eq!(next.unwrap().0.status(), 200);
    }
}
