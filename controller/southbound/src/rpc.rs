// SPDX-License-Identifier: Apache-2.0
//! gRPC helpers of all drivers: addresses, timeouts, errors in words, the check of written values.

use crate::driver_kind::SwitchAddress;
use crate::{Error, Limit};
use daemon_kit::credentials::explain;
use prost::Message as _;
use std::error::Error as _;
use std::future::Future;
use tidemark_proto::google::rpc;
use tidemark_proto::p4::v1 as p4;
use tonic::transport::Endpoint;
use tonic::{Code, Status};

impl SwitchAddress {
    /// Creates the endpoint; adds the scheme to the address. No I/O.
    ///
    /// # Errors
    /// An address that is neither `host:port` nor a URL, or whose scheme does not match the
    /// credentials; the message shows `example`.
    pub(crate) fn endpoint(&mut self, example: &str) -> Result<Endpoint, Error> {
        let address = &self.address;
        let wrong = |e: String| {
            let text = format!("\"{address}\" is not like {example}: {e}");
            Error::value("address", text)
        };
        let endpoint = self.access.endpoint(address).map_err(wrong)?;
        self.address = self.access.url(address).map_err(wrong)?;
        Ok(endpoint.connect_timeout(self.timeout))
    }

    /// Creates the error of a failed call.
    pub(crate) fn error(&self, operation: &str, code: Code, message: &str) -> Error {
        let (address, message) = (self.address.clone(), message.to_owned());
        match code {
            Code::Unavailable => Error::Connect {
                address,
                reason: message,
            },
            _ => Error::Rpc {
                address,
                operation: operation.into(),
                code,
                message,
            },
        }
    }

    /// Creates the error for a client that may not write: another one does, or has the same id.
    pub(crate) fn not_primary(&self, election_id: u64, reason: String) -> Error {
        Error::NotPrimary {
            address: self.address.clone(),
            election_id,
            reason,
        }
    }

    /// Cancels a call that takes longer than [`Self::timeout`].
    ///
    /// # Errors
    /// The call's own error, or `DEADLINE_EXCEEDED`.
    pub(crate) async fn in_time<T>(
        &self,
        operation: &str,
        call: impl Future<Output = Result<T, Status>>,
    ) -> Result<T, Error> {
        match tokio::time::timeout(self.timeout, call).await {
            Ok(Ok(v)) => Ok(v),
            Ok(Err(status)) => {
                // A status with a source is a failed connection, not the server's answer; its code
                // depends on how far the call had come.
                let code = match (status.code(), status.source()) {
                    (Code::Unknown | Code::Cancelled | Code::Internal, Some(_)) => {
                        Code::Unavailable
                    }
                    (code, _) => code,
                };
                let words = explain::status(&status, self.access.shown());
                Err(self.error(operation, code, &words))
            }
            Err(_) => {
                let words = format!("no answer within {:?}", self.timeout);
                Err(self.error(operation, Code::DeadlineExceeded, &words))
            }
        }
    }
}

/// The error of one update or entity in a failed call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ItemError {
    /// Its index in the request.
    pub place: usize,
    /// Canonical gRPC code; never 0.
    pub code: i32,
    /// The server's message.
    pub message: String,
}

/// Returns the errors of single items from the trailers of a call; `None` if it failed as a whole.
/// BFRT's error message is P4Runtime's under another name.
pub(crate) fn item_errors(status: &Status) -> Option<Vec<ItemError>> {
    let inner = rpc::Status::decode(status.details()).ok()?;
    let failed = inner.details.iter().enumerate().filter_map(|(place, any)| {
        // In any package: p4.v1.Error, bfrt_proto.Error.
        let name = any.type_url.ends_with(".Error");
        let error = name.then(|| p4::Error::decode(any.value.as_slice()).ok())??;
        let (code, message) = (error.canonical_code, error.message);
        (code != 0).then_some(ItemError {
            place,
            code,
            message,
        })
    });
    Some(failed.collect()).filter(|all: &Vec<ItemError>| !all.is_empty())
}

/// Returns `found` if it equals `wanted`, else [`Error::ReadBack`].
pub(crate) fn read_back(
    address: &str,
    port: u32,
    wanted: Limit,
    found: Limit,
) -> Result<Limit, Error> {
    if found == wanted {
        return Ok(found);
    }
    Err(Error::ReadBack {
        address: address.to_owned(),
        port,
        wanted,
        found,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    async fn failed(status: Status) -> Error {
        let call = async { Err::<(), _>(status) };
        let switch = SwitchAddress::default();
        let result = switch.in_time("subscribing", call).await;
        result.expect_err("the call failed")
    }

    fn of_connection(code: Code) -> Status {
        let mut status = Status::new(code, "operation was canceled: connection closed");
        status.set_source(Arc::new(std::io::Error::other("connection closed")));
        status
    }

    /// A server that refuses a certificate closes the connection, perhaps after a call has begun.
    #[tokio::test]
    async fn a_connection_that_ends_in_a_call_is_no_answer() {
        for code in [
            Code::Unavailable,
            Code::Unknown,
            Code::Cancelled,
            Code::Internal,
        ] {
            let e = failed(of_connection(code)).await;
            assert!(matches!(e, Error::Connect { .. }), "{code:?}: {e}");
            assert!(e.is_shut_out(), "{code:?}");
        }
    }

    #[test]
    fn items_that_failed_are_found_in_the_trailers() {
        let any = |name: &str, code, message: &str| prost_types::Any {
            type_url: format!("type.googleapis.com/{name}"),
            value: p4::Error {
                canonical_code: code,
                message: message.into(),
                ..Default::default()
            }
            .encode_to_vec(),
        };
        let status = |details| {
            let inner = rpc::Status {
                code: 2,
                message: "Write Error Status".into(),
                details,
            };
            Status::with_details(Code::Unknown, "…", inner.encode_to_vec().into())
        };
        let found = item_errors(&status(vec![
            any("bfrt_proto.Error", 0, ""),
            any("bfrt_proto.Error", 6, "there"),
            any("p4.v1.Error", 5, "gone"),
        ]));
        let all: Vec<_> = found.iter().flatten().map(|e| (e.place, e.code)).collect();
        assert_eq!(all, [(1, 6), (2, 5)]);
        for none in [vec![], vec![any("google.rpc.ErrorInfo", 7, "")]] {
            assert_eq!(item_errors(&status(none)), None);
        }
        // A failed call whose details name no failed item failed as a whole.
        assert_eq!(item_errors(&status(vec![any("p4.v1.Error", 0, "")])), None);
        assert_eq!(item_errors(&Status::new(Code::Unknown, "no")), None);
    }

    #[tokio::test]
    async fn what_a_server_answers_is_its_answer() {
        for code in [
            Code::Unknown,
            Code::Cancelled,
            Code::Internal,
            Code::NotFound,
        ] {
            let e = failed(Status::new(code, "no such table")).await;
            assert!(matches!(e, Error::Rpc { code: c, .. } if c == code), "{e}");
            assert!(!e.is_shut_out(), "{code:?}");
        }
    }
}
