// SPDX-License-Identifier: Apache-2.0
//! Connections of an HTTP server, limited in number and in how long their peers may take.

use super::https::HandshakesFailed;
use crate::credentials::places::{Place, Places};
use crate::credentials::server::HANDSHAKE;
use crate::credentials::watched::Watched;
use axum::Router;
use axum::body::Body;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tower::Service as _;

/// Most simultaneous connections; further connections wait until one ends.
const MAX_CONNECTIONS: usize = 512;
/// Most simultaneous connections of one address.
const MAX_OF_ADDRESS: usize = 64;
/// Time after which a client is disconnected that has not sent its headers or leaves
/// a connection unused.
const HEADERS_WITHIN: Duration = Duration::from_secs(10);
/// Pause after an accept error, such as too many open files.
const PAUSE: Duration = Duration::from_millis(100);

/// Address of the sender of a request; every request has it as an extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer(pub SocketAddr);

/// An HTTP server, or an HTTPS server.
pub struct Server {
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    failed: HandshakesFailed,
    places: Places,
}

impl Server {
    /// Creates a server; [`Server::serve`] runs it.
    pub fn new(listener: TcpListener, tls: Option<TlsAcceptor>) -> Self {
        Self {
            listener,
            tls,
            failed: HandshakesFailed::default(),
            places: Places::new(MAX_CONNECTIONS, MAX_OF_ADDRESS),
        }
    }

    /// Returns the counter of failed handshakes; `None` without TLS.
    pub fn failed(&self) -> Option<HandshakesFailed> {
        self.tls.as_ref().map(|_| self.failed.clone())
    }

    /// Serves until the future is dropped.
    pub async fn serve(self, app: Router) {
        loop {
            // Wait before accepting a connection: a waiting client then costs nothing.
            let free = self.places.free().await;
            let (stream, from) = match self.listener.accept().await {
                Ok(accepted) => accepted,
                Err(e) => {
                    tracing::warn!("http: accept: {e}");
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            };
            let Some(place) = free.take(from.ip()) else {
                tracing::debug!(%from, "http: too many connections of this address");
                continue;
            };
            let (tls, failed, app) = (self.tls.clone(), self.failed.clone(), app.clone());
            tokio::spawn(async move {
                match tls {
                    Some(tls) => https(stream, from, place, &tls, &failed, app).await,
                    None => requests(Watched::new(stream, place), from, app).await,
                }
            });
        }
    }
}

/// Serves HTTP on a listener until the future is dropped.
pub async fn serve(listener: TcpListener, app: Router) {
    Server::new(listener, None).serve(app).await;
}

async fn https(
    stream: TcpStream,
    from: SocketAddr,
    place: Place,
    tls: &TlsAcceptor,
    failed: &HandshakesFailed,
    app: Router,
) {
    match tokio::time::timeout(HANDSHAKE, tls.accept(stream)).await {
        Ok(Ok(stream)) => requests(Watched::new(stream, place), from, app).await,
        Ok(Err(e)) => {
            failed.add();
            tracing::debug!(%from, "https: {e}");
        }
        Err(_) => {
            failed.add();
            tracing::debug!(%from, "https: no handshake in time");
        }
    }
}

async fn requests<S>(stream: S, from: SocketAddr, app: Router)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(Peer(from));
        app.clone().call(request.map(Body::new))
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS_WITHIN)
        .serve_connection(TokioIo::new(stream), service);
    if let Err(error) = connection.await {
        tracing::debug!(%error, "http connection");
    }
}
