// SPDX-License-Identifier: Apache-2.0
//! Accepts the connections of a gRPC server.

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

/// Most simultaneous connections: 1024 agents, 64 subscribers, and some operators.
const MAX_CONNECTIONS: usize = 1152;
/// Most simultaneous connections of one address.
const MAX_OF_ADDRESS: usize = 64;
/// Longest time, in ms, to wait for a connection that was told to end.
const ENDED_WITHIN: u32 = 100;
/// Pause after an accept error, such as too many open files.
const PAUSE: Duration = Duration::from_millis(100);

/// Returns the connections of a listener, for `serve_with_incoming`. Their number is limited;
/// further connections wait until one ends. If an address has too many, its longest silent
/// connection ends; if all have just been active, the new connection is closed.
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

/// Takes a place for a connection, if need be by ending another connection of the address.
async fn place(places: &Places, free: FreePlace, seats: &Seats, of: IpAddr) -> Option<Place> {
    if let Some(place) = free.take(of) {
        return Some(place);
    }
    if !seats.end_one(of) {
        return None;
    }
    // The ended connection's task releases the place.
    for _ in 0..ENDED_WITHIN {
        tokio::time::sleep(Duration::from_millis(1)).await;
        if let Some(place) = places.take(of) {
            return Some(place);
        }
    }
    None
}
