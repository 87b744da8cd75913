// SPDX-License-Identifier: Apache-2.0
//! The connections of a gRPC server.

use crate::credentials::places::{FreePlace, Place, Places};
use crate::credentials::seats::Seats;
use crate::credentials::watched::Watched;
use futures::stream::{Stream, unfold};
use std::io;
use std::net::IpAddr;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tonic::transport::server::{Connected, TcpConnectInfo};

/// Connections at once: of 1024 agents, 64 subscribers, and some operators.
const MAX_CONNECTIONS: usize = 1152;
/// Of them, of one address.
const MAX_OF_ADDRESS: usize = 64;
/// A connection that is told to end has ended after so many ms.
const ENDED_WITHIN: u32 = 100;
/// Pause after an error, as that of too many open files.
const PAUSE: Duration = Duration::from_millis(100);

/// The connections of a listener, for `serve_with_incoming`: bounded in number, the next
/// ones wait for one to end. Of an address that has too many, the one that has been silent for
/// longest ends; the new one is closed where all have just spoken.
pub fn incoming(
    listener: TcpListener,
) -> impl Stream<
    Item = io::Result<
        impl AsyncRead + AsyncWrite + Connected<ConnectInfo = TcpConnectInfo> + Unpin + Send + 'static,
    >,
> {
    let places = Places::new(MAX_CONNECTIONS, MAX_OF_ADDRESS);
    let state = (listener, places, Seats::default());
    unfold(state, |(listener, places, mut seats)| async move {
        loop {
            let free = places.free().await;
            match listener.accept().await {
                Ok((stream, from)) => match place(&places, free, &seats, from.ip()).await {
                    Some(place) => {
                        let watched = Watched::on_seat(stream, place, seats.take(from.ip()));
                        return Some((Ok(watched), (listener, places, seats)));
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

/// A place for a connection of an address, if need be that of another of it.
async fn place(places: &Places, free: FreePlace, seats: &Seats, of: IpAddr) -> Option<Place> {
    if let Some(place) = free.take(of) {
        return Some(place);
    }
    if !seats.end_one(of) {
        return None;
    }
    // Its task gives the place back.
    for _ in 0..ENDED_WITHIN {
        tokio::time::sleep(Duration::from_millis(1)).await;
        if let Some(place) = places.take(of) {
            return Some(place);
        }
    }
    None
}
