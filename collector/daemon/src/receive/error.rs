// SPDX-License-Identifier: Apache-2.0
//! Why the sockets cannot be opened.

use std::io;
use std::net::SocketAddr;

use thiserror::Error;

/// Why the sockets cannot be opened.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the message of each variant says what it is")]
pub enum BindError {
    #[error("receive.shards = 0: at least one socket per address is needed")]
    NoShards,
    #[error("no address to listen on")]
    NoAddress,
    #[error("{address} is in use by another process; stop it or listen on another port")]
    InUse { address: SocketAddr },
    #[error("{address} is not an address of this machine; listen on one that is")]
    NotLocal { address: SocketAddr },
    #[error("no permission to listen on {address}; use a port above 1023")]
    Permission { address: SocketAddr },
    #[error("cannot {what} on {address}: {source}")]
    Io {
        what: &'static str,
        address: SocketAddr,
        #[source]
        source: io::Error,
    },
}
