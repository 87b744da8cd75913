// SPDX-License-Identifier: Apache-2.0
//! The receiving side: accepts connections, counts their streams' bytes, replies with it.

use std::sync::Arc;

use quinn::{Connection, ConnectionError, Endpoint, ReadError, RecvStream, SendStream};

use crate::counters::Counters;

/// Accepts connections forever; serves each until its peer ends it.
pub(crate) async fn serve(endpoint: Endpoint, counters: Arc<Counters>) {
    while let Some(incoming) = endpoint.accept().await {
        let counters = Arc::clone(&counters);
        tokio::spawn(async move {
            let Ok(connection) = incoming.await else {
                return counters.failed();
            };
            counters.connected();
            if streams(&connection, &counters).await.is_err() {
                counters.failed();
            }
        });
    }
}

async fn streams(connection: &Connection, counters: &Counters) -> Result<(), ConnectionError> {
    loop {
        match connection.accept_bi().await {
            Ok((answer, stream)) => count(stream, answer, counters).await?,
            // The sender is done.
            Err(ConnectionError::ApplicationClosed(_) | ConnectionError::LocallyClosed) => {
                return Ok(());
            }
            Err(error) => return Err(error),
        }
    }
}

/// Reads to the end of the stream, or to its reset, and replies with the number of bytes.
async fn count(
    mut stream: RecvStream,
    mut answer: SendStream,
    counters: &Counters,
) -> Result<(), ConnectionError> {
    let mut read: u64 = 0;
    loop {
        match stream.read_chunk(usize::MAX, true).await {
            Ok(Some(chunk)) => {
                read += chunk.bytes.len() as u64;
                counters.received(chunk.bytes.len());
            }
            Ok(None) | Err(ReadError::Reset(_)) => break,
            Err(ReadError::ConnectionLost(ConnectionError::ApplicationClosed(_))) => return Ok(()),
            Err(ReadError::ConnectionLost(error)) => return Err(error),
            Err(_) => break,
        }
    }
    // If the sender is gone, it needs no reply.
    if answer.write_all(&read.to_be_bytes()).await.is_ok() {
        let _ = answer.finish();
    }
    Ok(())
}
