// SPDX-License-Identifier: Apache-2.0
//! Who may call whom: certificates and bearer tokens of gRPC and HTTPS servers,
//! and of their clients.
//!
//! | module | has |
//! |---|---|
//! | [`server`] | what a gRPC server asks of its callers, and when it refuses to start |
//! | [`client`] | how a gRPC client shows who it is, and whom it trusts |
//! | [`args`] | the flags of clients |
//! | [`gate`] | the check of every call |
//! | [`http`] | HTTP servers: bounded connections, TLS, names, what answers forbid |
//! | [`incoming`] | the connections of a gRPC server |
//! | [`places`] | how many may be there at once, in all and of one address |
//! | [`token`] | bearer tokens: from a file, compared in constant time |
//! | [`refusals`] | callers who were refused: counted, slowed, logged at a limited rate |
//! | [`pem`] | certificates and keys from files, with errors that name the file |
//! | [`explain`] | what a failed handshake means |
//!
//! Nothing here reads a clock: the time that certificates are checked at is an
//! argument. TLS is rustls with `ring`.

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
