// SPDX-License-Identifier: Apache-2.0
//! Removes unreadable status details from the responses of a gRPC server.
//!
//! `tonic` 0.14 panics in the client if the details of a status
//! (`grpc-status-details-bin`) are not base64, which takes a hostile server or, without
//! TLS, one changed byte. Such details are removed before tonic sees them; code and
//! message stay.

use base64::Engine;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use http_body_util::BodyExt;
use tonic::body::Body;
use tonic::codegen::http::{HeaderMap, Response};
use tonic::codegen::{Bytes, StdError};

const DETAILS: &str = "grpc-status-details-bin";

/// Base64 as tonic decodes it, with or without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Removes unreadable details from a response's headers and trailers.
pub(crate) fn sound<B>(mut answer: Response<B>) -> Response<Body>
where
    B: tonic::codegen::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<StdError>,
{
    clean(answer.headers_mut());
    answer.map(|body| {
        Body::new(body.map_frame(|mut frame| {
            if let Some(trailers) = frame.trailers_mut() {
                clean(trailers);
            }
            frame
        }))
    })
}

/// Removes details that are not base64.
fn clean(headers: &mut HeaderMap) {
    let unreadable = headers
        .get(DETAILS)
        .is_some_and(|v| BASE64.decode(v.as_bytes()).is_err());
    if unreadable {
        headers.remove(DETAILS);
        tracing::warn!("the details of a gRPC status are not base64 and are left out");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;
    use std::task::{Context, Poll};
    use tonic::Code;
    use tonic::client::Grpc;
    use tonic::codegen::Service;
    use tonic::codegen::http::{HeaderValue, Request};
    use tower::util::MapResponse;

    /// Answers every call with status code 9, in the headers or in the trailers.
    #[derive(Clone)]
    struct Server {
        details: &'static str,
        in_trailers: bool,
    }

    impl Service<Request<Body>> for Server {
        type Response = Response<Body>;
        type Error = Infallible;
        type Future = std::future::Ready<Result<Self::Response, Infallible>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, _: Request<Body>) -> Self::Future {
            let mut status = HeaderMap::new();
            status.insert("grpc-status", HeaderValue::from_static("9"));
            status.insert("grpc-message", HeaderValue::from_static("why"));
            status.insert(DETAILS, HeaderValue::from_static(self.details));
            let mut answer = Response::new(Body::empty());
            if self.in_trailers {
                let trailers = http_body_util::Full::new(Bytes::new())
                    .with_trailers(async move { Some(Ok(status)) });
                *answer.body_mut() = Body::new(trailers);
            } else {
                *answer.headers_mut() = status;
            }
            std::future::ready(Ok(answer))
        }
    }

    #[tokio::test]
    async fn unreadable_details_are_left_out_and_others_kept() {
        for (details, kept) in [("!!", ""), ("AAE", "\0\u{1}"), ("AAE=", "\0\u{1}")] {
            for in_trailers in [false, true] {
                let server = Server {
                    details,
                    in_trailers,
                };
                let channel = MapResponse::new(server, sound::<Body>);
                let mut client = Grpc::new(channel);
                client.ready().await.unwrap();
                let codec = tonic_prost::ProstCodec::<(), ()>::default();
                let path = tonic::codegen::http::uri::PathAndQuery::from_static("/a/b");
                let e = client
                    .unary(tonic::Request::new(()), path, codec)
                    .await
                    .unwrap_err();
                let what = format!("{details} {in_trailers}");
                assert_eq!(
                    (e.code(), e.message()),
                    (Code::FailedPrecondition, "why"),
                    "{what}"
                );
                assert_eq!(e.details(), kept.as_bytes(), "{what}");
            }
        }
    }
}
