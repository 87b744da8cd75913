// SPDX-License-Identifier: Apache-2.0
//! Work that a client sets off and cannot interrupt by going away.

use super::error::ApiError;
use axum::http::StatusCode;

/// Completes the work even if the connection that it is done for ends first: no limit is
/// left written and unrecorded.
///
/// # Errors
/// Errors of the work, and 500 when it panicked.
pub(super) async fn to_its_end<T, E>(
    work: impl Future<Output = Result<T, E>> + Send + 'static,
) -> Result<T, ApiError>
where
    T: Send + 'static,
    E: Into<ApiError> + Send + 'static,
{
    match tokio::spawn(work).await {
        Ok(done) => done.map_err(Into::into),
        Err(e) => {
            tracing::error!("a change: {e}");
            let text = "the change failed in the controller; its log says why";
            Err(ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, text))
        }
    }
}
