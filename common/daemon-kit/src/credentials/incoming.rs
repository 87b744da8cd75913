// SPDX-License-Identifier: Apache-2.0
//! The connections of a gRPC server.

use crate::credentials::places::Places;
use crate::credentials::watched::Watched;
use futures::stream::{Stream, unfold};
use std::io;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tonic::transport::server::{Connected, TcpConnectInfo};

/// Connections at once: of 1024 agents, 64 subscribers, and whoever looks.
const MAX_CONNECTIONS: usize = 1152;
/// Of them, of one address.
const MAX_OF_ADDRESS: usize = 64;
/// Pause after an error, as that of too many open files.
const PAUSE: Duration = Duration::from_millis(100);

/// The connections of a listener, for `serve_with_incoming`: bounded in number, the next
/// ones wait for one to end. One that an address has too many of is closed.
pub fn incoming(
    listener: TcpListener,
) -> impl Stream<
    Item = io::Result<
        impl AsyncRead + AsyncWrite + Connected<ConnectInfo = TcpConnectInfo> + Unpin + Send + 'static,
    >,
> {
    let places = Places::new(MAX_CONNECTIONS, MAX_OF_ADDRESS);
    unfold((listener, places), |(listener, places)| async move {
        loop {
            let free = places.free().await;
            match listener.accept().await {
                Ok((stream, from)) => match free.take(from.ip()) {
                    Some(place) => {
                        return Some((Ok(Watched::new(stream, place)), (listener, places)));
                    }
                    None => tracing::debug!(%from, "grpc: too many connections of this address"),
                },
                Err(e) => {
                    tracing::warn!("grpc: accept: {e}");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    })
}
