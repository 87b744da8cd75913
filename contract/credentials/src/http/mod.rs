// SPDX-License-Identifier: Apache-2.0
//! HTTP servers: bounded connections, and TLS.

mod connections;
mod https;

pub use connections::{Peer, Server, serve};
pub use https::{HandshakesFailed, acceptor};
