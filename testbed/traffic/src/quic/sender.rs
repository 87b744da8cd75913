// SPDX-License-Identifier: Apache-2.0
//! One sending QUIC connection, from its connect to its truth.

use std::time::Duration;

use bytes::Bytes;
use quinn::{Connection, RecvStream, SendStream, VarInt, WriteError};
use tokio::time::timeout;

use super::config::{CONGESTION_CONTROLS, SERVER_NAME, connecting};
use super::state::QuicState;
use crate::clock::Moment;
use crate::netns;
use crate::sending::{CLOSE_TIMEOUT, PAYLOAD, Stop};
use crate::spec::Flow;
use crate::truth::FlowTruth;

/// Timeout of the handshake; there is no other sign that nobody listens.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout for the receiver's reply after a stop, including queues in both directions.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// Time for the last packets of a connection to leave.
const CLOSING: Duration = Duration::from_millis(200);
/// Error code of streams and connections that end as intended.
const DONE: VarInt = VarInt::from_u32(0);

/// Runs one flow, like [`crate::flow::run`].
pub(crate) async fn run(
    flow: &Flow,
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
    tokio::pin!(own_end);
    truth.start = Moment::now();
    let connected = tokio::select! {
        biased;
        _ = stop.wait_for(|&s| s) => Err(STOPPED_BEFORE.to_owned()),
        () = &mut own_end => Err(STOPPED_BEFORE.to_owned()),
        connected = connect(flow, truth) => connected,
    };
    let (connection, mut stream, mut answer) = match connected {
        Ok(connected) => connected,
        Err(error) => return failed(truth, error),
    };
    let sent = tokio::select! {
        biased;
        _ = stop.wait_for(|&s| s) => Ok(false),
        () = &mut own_end => Ok(false),
        sent = send(flow.bytes, &mut stream, &mut answer) => sent.map(|()| true),
    };
    truth.stop = Moment::now();
    let mut state = QuicState::of(&connection);
    match sent {
        Ok(true) => {
            truth.complete = true;
            state.bytes_delivered = flow.bytes;
        }
        Ok(false) => {
            // Queued data must not be sent after the stop.
            let _ = stream.reset(DONE);
            let answer = timeout(ANSWER_TIMEOUT, answered(&mut answer)).await;
            state.bytes_delivered = answer.ok().and_then(Result::ok);
            if state.bytes_delivered.is_none() {
                failed(truth, "the receiver did not report what arrived".to_owned());
            }
        }
        Err(error) => failed(truth, error),
    }
    truth.quic = Some(state);
    connection.close(DONE, b"");
    let _ = timeout(CLOSING, connection.closed()).await;
    tokio::task::yield_now().await;
}

const STOPPED_BEFORE: &str = "not connected before its stop";

fn failed(truth: &mut FlowTruth, error: String) {
    truth.error = Some(format!(
        "{} to {}: {error}",
        truth.source, truth.destination
    ));
}

async fn connect(
    flow: &Flow,
    truth: &mut FlowTruth,
) -> Result<(Connection, SendStream, RecvStream), String> {
    let control = flow.congestion_control.as_deref();
    let control = control.unwrap_or(CONGESTION_CONTROLS[0]);
    let (endpoint, config) = netns::within(flow.netns.as_deref(), || {
        connecting(flow.source, flow.destination, control)
    })??;
    control.clone_into(&mut truth.congestion_control);
    if let Ok(local) = endpoint.local_addr() {
        truth.source = local;
    }
    let connecting = endpoint.connect_with(config, flow.destination, SERVER_NAME);
    let connecting = connecting.map_err(|e| e.to_string())?;
    let connection = timeout(CONNECT_TIMEOUT, connecting).await;
    let connection = connection.map_err(|_| "no QUIC listener answers".to_owned())?;
    let connection = connection.map_err(|e| e.to_string())?;
    let (stream, answer) = connection.open_bi().await.map_err(|e| e.to_string())?;
    Ok((connection, stream, answer))
}

/// Sends `bytes` (or endlessly) and waits until the receiver has them.
async fn send(
    bytes: Option<u64>,
    stream: &mut SendStream,
    answer: &mut RecvStream,
) -> Result<(), String> {
    let mut left = bytes.unwrap_or(u64::MAX);
    while left > 0 {
        let size = (PAYLOAD.len()).min(usize::try_from(left).unwrap_or(usize::MAX));
        let (payload, _) = PAYLOAD.split_at(size);
        // Not copied: quinn holds it until it is acknowledged.
        let written = stream.write_chunk(Bytes::from_static(payload)).await;
        written.map_err(|e: WriteError| e.to_string())?;
        if bytes.is_some() {
            left -= size as u64;
        }
    }
    stream.finish().map_err(|e| e.to_string())?;
    match answered(answer).await? {
        read if Some(read) == bytes => Ok(()),
        read => Err(format!("the receiver read {read} bytes")),
    }
}

/// Reads the receiver's reply: the number of bytes that it had read.
async fn answered(answer: &mut RecvStream) -> Result<u64, String> {
    let mut read = [0; 8];
    match timeout(CLOSE_TIMEOUT, answer.read_exact(&mut read)).await {
        Ok(Ok(())) => Ok(u64::from_be_bytes(read)),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("the receiver did not answer".to_owned()),
    }
}
