// SPDX-License-Identifier: Apache-2.0
//! How to reach a BFRT server.

use crate::Error;
use crate::rpc::in_time;
use daemon_kit::credentials::Access;
use std::time::Duration;
use tonic::Status;

/// How to reach a switch.
#[derive(Clone, Debug)]
pub struct Options {
    /// `http://host:port`; the scheme may be left out (`https` with TLS). The daemon listens on port 50052 by default.
    pub address: String,
    /// Device id within that server.
    pub device_id: u32,
    /// Of this client; no two clients of a switch may have the same.
    pub client_id: u32,
    /// The running program to bind to.
    pub p4_name: String,
    /// Bytes per cell (Tofino 80, Tofino 2 176).
    pub cell_bytes: u32,
    /// What the server is shown, and whom we trust.
    pub access: Access,
    /// How long one call may take.
    pub timeout: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            address: "127.0.0.1:50052".into(),
            device_id: 0,
            client_id: 1,
            p4_name: "tidemark".into(),
            cell_bytes: 80,
            access: Access::default(),
            timeout: Duration::from_secs(10),
        }
    }
}

impl Options {
    pub(super) async fn in_time<T>(
        &self,
        operation: &str,
        call: impl Future<Output = Result<T, Status>>,
    ) -> Result<T, Error> {
        in_time(
            &self.address,
            self.access.shown(),
            operation,
            self.timeout,
            call,
        )
        .await
    }
}
