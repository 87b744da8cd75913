// SPDX-License-Identifier: Apache-2.0
//! How to reach a P4Runtime server, and what the calls to it share.

use crate::Error;
use crate::rpc::{call_error, in_time};
use daemon_kit::credentials::Access;
use std::time::Duration;
use tidemark_proto::p4::v1 as p4;
use tonic::{Code, Status};

/// How to reach a switch.
#[derive(Clone, Debug)]
pub struct Options {
    /// `http://host:port`; the scheme may be left out (`https` with TLS).
    pub address: String,
    /// Device id within that server.
    pub device_id: u64,
    /// Low half of our election id; the highest one may write.
    pub election_id: u64,
    /// Bytes per unit of the target's limit (1 where it counts bytes).
    pub limit_unit_bytes: u32,
    /// What the server is shown, and whom we trust.
    pub access: Access,
    /// How long one call may take.
    pub timeout: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            address: "127.0.0.1:9559".into(),
            device_id: 1,
            election_id: 1,
            limit_unit_bytes: 1,
            access: Access::default(),
            timeout: Duration::from_secs(10),
        }
    }
}

impl Options {
    pub(super) fn election_id(&self) -> Option<p4::Uint128> {
        Some(p4::Uint128 {
            high: 0,
            low: self.election_id,
        })
    }

    pub(super) fn not_primary(&self, reason: String) -> Error {
        Error::NotPrimary {
            address: self.address.clone(),
            election_id: self.election_id,
            reason,
        }
    }

    pub(super) fn error(&self, operation: &str, code: Code, message: &str) -> Error {
        call_error(&self.address, operation, code, message)
    }

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
