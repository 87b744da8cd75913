// SPDX-License-Identifier: Apache-2.0
//! Authentication: certificates and bearer tokens of gRPC and HTTPS servers and of
//! their clients.
//!
//! | module | has |
//! |---|---|
//! | [`server`] | credentials that a gRPC server requires, and when it refuses to start |
//! | [`client`] | how a gRPC client identifies itself, and whom it trusts |
//! | [`args`] | command-line flags of clients |
//! | [`gate`] | the check of every call |
//! | [`http`] | HTTP servers: limited connections, TLS, host names, security headers |
//! | [`incoming`] | the connections of a gRPC server |
//! | [`places`] | limits on simultaneous connections, in total and per address |
//! | [`token`] | bearer tokens: from a file, compared in constant time |
//! | [`refusals`] | refused callers: counted, slowed down, logged at a limited rate |
//! | [`pem`] | certificates and keys from files, with errors that name the file |
//! | [`explain`] | explanations of failed handshakes |
//!
//! Nothing here reads a clock: the time for checking certificates is an argument.
//! TLS is rustls with `ring`.

pub mod args;
pub mod client;
mod error;
pub mod explain;
pub mod gate;
pub mod http;
mod incoming;
pub mod pem;
pub mod places;
pub mod refusals;
mod seats;
pub mod server;
mod sound_status;
pub mod token;
mod watched;

pub use args::AccessArgs;
pub use client::{Access, CallerChannel, ClientCredentials, ClientTls};
pub use error::{Error, Keys};
pub use incoming::incoming;
pub use refusals::Refusals;
pub use server::{Protection, ServerCredentials, ServerTls};
pub use token::Token;
