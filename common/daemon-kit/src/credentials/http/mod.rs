// SPDX-License-Identifier: Apache-2.0
//! HTTP servers: bounded connections, TLS, the names that they are called by, and what
//! their answers forbid.

mod connections;
mod hosts;
mod https;

pub use connections::{Peer, Server, serve};
pub use hosts::{FORBIDDEN, Hosts, OtherHost, guarded};
pub use https::{HandshakesFailed, acceptor};
