// SPDX-License-Identifier: Apache-2.0
//! One sending TCP connection, from its connect to its truth.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::io::Interest;
use tokio::net::TcpStream;

use crate::clock::Moment;
use crate::netns;
use crate::quic;
use crate::sending::{CLOSE_TIMEOUT, PAYLOAD, Stop};
use crate::socket::{self, TcpState};
use crate::spec::{Flow, Kind, Transport};
use crate::truth::FlowTruth;

/// How sending ended.
enum End {
    /// Every wanted byte arrived and the receiver closed.
    Complete,
    /// The time of the run or the flow ended.
    Stopped,
}

/// Runs one flow to its end and returns its truth. `stop_after` is the flow's own time to send,
/// independent of the run's end.
pub async fn run(flow: &Flow, stop_after: Option<Duration>, stop: Stop) -> FlowTruth {
    let mut truth = blank(flow);
    if flow.transport == Transport::Quic {
        quic::run(flow, stop_after, stop, &mut truth).await;
        return truth;
    }
    match connect(flow, &mut truth) {
        Ok(stream) => drive(flow, &stream, stop_after, stop, &mut truth).await,
        Err(error) => truth.error = Some(error),
    }
    truth
}

/// Returns the truth of a flow that was not started because `max_open` flows of its source were
/// already open.
pub fn refused(flow: &Flow, max_open: usize) -> FlowTruth {
    let mut truth = blank(flow);
    truth.error = Some(format!("not started: max_open = {max_open} were open"));
    truth
}

/// Returns the truth of a flow that has not begun.
pub(crate) fn blank(flow: &Flow) -> FlowTruth {
    let now = Moment::now();
    FlowTruth {
        name: flow.name.clone(),
        kind: flow.kind,
        congestion_control: flow.congestion_control.clone().unwrap_or_default(),
        netns: flow.netns.clone(),
        source: flow
            .source
            .unwrap_or_else(|| SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0))),
        destination: flow.destination,
        protocol: match flow.transport {
            Transport::Tcp => 6,
            Transport::Quic | Transport::Udp => 17,
        },
        start: now,
        stop: now,
        base_rtt_ms: flow.base_rtt_ms,
        bytes_wanted: flow.bytes,
        complete: false,
        error: None,
        tcp: (flow.transport == Transport::Tcp).then(TcpState::default),
        quic: None,
        udp: None,
    }
}

/// Starts the connect in the flow's namespace.
fn connect(flow: &Flow, truth: &mut FlowTruth) -> Result<TcpStream, String> {
    truth.start = Moment::now();
    let socket = netns::within(flow.netns.as_deref(), || socket::connecting(flow))??;
    if let Ok(name) = socket.tcp_congestion() {
        let name = name.split(|&b| b == 0).next().unwrap_or_default();
        truth.congestion_control = String::from_utf8_lossy(name).into_owned();
    }
    if let Ok(Some(local)) = socket.local_addr().map(|a| a.as_socket()) {
        truth.source = local;
    }
    TcpStream::from_std(socket.into()).map_err(|e| format!("register socket: {e}"))
}

async fn drive(
    flow: &Flow,
    stream: &TcpStream,
    stop_after: Option<Duration>,
    mut stop: Stop,
    truth: &mut FlowTruth,
) {
    let own_end = async {
        match stop_after {
            Some(after) => tokio::time::sleep(after).await,
            None => std::future::pending().await,
        }
    };
    let end = tokio::select! {
        biased;
        _ = stop.wait_for(|&s| s) => Ok(End::Stopped),
        () = own_end => Ok(End::Stopped),
        sent = send(flow.bytes, stream) => sent,
    };
    truth.stop = Moment::now();
    let mut state = socket::tcp_state(stream).unwrap_or_default();
    match end {
        Ok(End::Complete) => {
            truth.complete = true;
            // The FIN counts as one more acknowledged byte.
            if let Some(wanted) = flow.bytes {
                state.bytes_acked = state.bytes_acked.min(wanted);
            }
        }
        Ok(End::Stopped) => {
            if state.srtt_us == 0 {
                truth.error = Some(format!(
                    "{} to {}: not connected before its stop",
                    truth.source, flow.destination
                ));
            }
            // Queued bytes must not be sent after the stop.
            let _ = socket::reset_on_close(stream);
        }
        Err(error) => {
            truth.error = Some(format!("{} to {}: {error}", truth.source, flow.destination));
        }
    }
    truth.tcp = Some(state);
}

/// Sends `bytes` (or endlessly) and waits until the receiver has closed.
async fn send(bytes: Option<u64>, stream: &TcpStream) -> io::Result<End> {
    stream.writable().await?;
    if let Some(error) = stream.take_error()? {
        return Err(error);
    }
    let mut left = bytes.unwrap_or(u64::MAX);
    while left > 0 {
        stream.writable().await?;
        let size = PAYLOAD
            .len()
            .min(usize::try_from(left).unwrap_or(usize::MAX));
        match stream.try_write(&PAYLOAD[..size]) {
            Ok(written) if bytes.is_some() => left -= written as u64,
            Ok(_) => {}
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            Err(e) => return Err(e),
        }
    }
    socket2::SockRef::from(stream).shutdown(std::net::Shutdown::Write)?;
    match tokio::time::timeout(CLOSE_TIMEOUT, closed(stream)).await {
        Ok(result) => result.map(|()| End::Complete),
        Err(_) => Err(io::Error::new(
            io::ErrorKind::TimedOut,
            "the receiver did not close",
        )),
    }
}

async fn closed(stream: &TcpStream) -> io::Result<()> {
    let mut buffer = [0; 64];
    loop {
        stream.ready(Interest::READABLE).await?;
        match stream.try_read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            Err(e) => return Err(e),
        }
    }
}

/// Returns whether flows of this kind are meant to last: a run without them is invalid.
pub fn is_persistent(kind: Kind) -> bool {
    kind != Kind::Short
}
