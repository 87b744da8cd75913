// SPDX-License-Identifier: Apache-2.0
//! HTTP servers: limited connections, TLS, checked host names, and security headers in
//! every response.

mod connections;
mod hosts;
mod https;

pub use connections::{Peer, Server, serve};
pub use hosts::{FORBIDDEN, Hosts, OtherHost, guarded};
pub use https::{HandshakesFailed, acceptor};
