// SPDX-License-Identifier: Apache-2.0
//! gRPC calls as every driver makes them: addresses, limits of time, errors in
//! words, the check of what was written.

use crate::{Error, Limit};
use std::future::Future;
use std::time::Duration;
use tonic::transport::Endpoint;
use tonic::{Code, Status};

/// An endpoint of `host:port` or a URL; the address gets its scheme. No I/O.
///
/// # Errors
/// An address that is neither; `example` is shown.
pub(crate) fn endpoint(
    address: &mut String,
    example: &str,
    timeout: Duration,
) -> Result<Endpoint, Error> {
    if !address.contains("://") {
        *address = format!("http://{address}");
    }
    let endpoint = Endpoint::from_shared(address.clone()).map_err(|e| {
        let text = format!("\"{address}\" is not like {example}: {e}");
        Error::value("address", text)
    })?;
    Ok(endpoint.connect_timeout(timeout))
}

/// A call that failed, in words.
pub(crate) fn call_error(address: &str, operation: &str, code: Code, message: &str) -> Error {
    let (address, message) = (address.to_owned(), message.to_owned());
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

/// Ends a call that takes longer than `limit`.
///
/// # Errors
/// The call's own, or `DEADLINE_EXCEEDED`.
pub(crate) async fn in_time<T>(
    address: &str,
    operation: &str,
    limit: Duration,
    call: impl Future<Output = Result<T, Status>>,
) -> Result<T, Error> {
    match tokio::time::timeout(limit, call).await {
        Ok(Ok(v)) => Ok(v),
        Ok(Err(status)) => Err(call_error(
            address,
            operation,
            status.code(),
            status.message(),
        )),
        Err(_) => Err(call_error(
            address,
            operation,
            Code::DeadlineExceeded,
            &format!("no answer within {limit:?}"),
        )),
    }
}

/// The limit found, if it is the wanted one.
///
/// # Errors
/// [`Error::ReadBack`].
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
