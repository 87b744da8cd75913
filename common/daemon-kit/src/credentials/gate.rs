// SPDX-License-Identifier: Apache-2.0
//! The layer around a gRPC server's services that checks every call.

use crate::credentials::refusals::Refusals;
use crate::credentials::token::{Refusal, Token};
use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::http::{Request, Response, header::AUTHORIZATION};
use tonic::transport::server::{TcpConnectInfo, TlsConnectInfo};
use tower::{Layer, Service};

/// Lets calls through that carry the token or come with a client certificate.
#[derive(Clone, Debug)]
pub struct Gate {
    /// Required token; if `None`, every connected client may call.
    token: Option<Token>,
    refusals: Arc<Refusals>,
}

impl Gate {
    /// Creates a gate; without a token it is open.
    pub fn new(token: Option<Token>, refusals: Arc<Refusals>) -> Self {
        Self { token, refusals }
    }

    fn check<B>(&self, request: &Request<B>) -> Result<(), Refusal> {
        let Some(token) = &self.token else {
            return Ok(());
        };
        // The handshake has verified the certificate against the authorities.
        let tls = request.extensions().get::<TlsConnectInfo<TcpConnectInfo>>();
        if tls.is_some_and(|t| t.peer_certs().is_some()) {
            return Ok(());
        }
        let header = request.headers().get(AUTHORIZATION);
        token.check(header.map(|h| h.as_bytes()))
    }
}

fn caller<B>(request: &Request<B>) -> Option<SocketAddr> {
    let e = request.extensions();
    let tls = e.get::<TlsConnectInfo<TcpConnectInfo>>();
    let tcp = tls.map(TlsConnectInfo::get_ref).or_else(|| e.get());
    tcp.and_then(TcpConnectInfo::remote_addr)
}

fn status(why: Refusal) -> Status {
    Status::unauthenticated(match why {
        Refusal::Missing => {
            "this server asks for a token, in the metadata \"authorization: Bearer TOKEN\"; give the client its token_file"
        }
        Refusal::NotBearer => "the metadata \"authorization\" must be \"Bearer TOKEN\"",
        Refusal::Wrong => "wrong token",
    })
}

impl<S> Layer<S> for Gate {
    type Service = Gated<S>;

    fn layer(&self, inner: S) -> Gated<S> {
        Gated {
            gate: self.clone(),
            inner,
        }
    }
}

/// Services behind a [`Gate`].
#[derive(Clone, Debug)]
pub struct Gated<S> {
    gate: Gate,
    inner: S,
}

impl<S, B> Service<Request<B>> for Gated<S>
where
    S: Service<Request<B>, Response = Response<Body>, Error = Infallible>,
    S::Future: Send + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        match self.gate.check(&request) {
            Ok(()) => Box::pin(self.inner.call(request)),
            Err(why) => {
                let (refusals, from) = (Arc::clone(&self.gate.refusals), caller(&request));
                Box::pin(async move {
                    refusals.refused(why, from).await;
                    Ok(status(why).into_http())
                })
            }
        }
    }
}
