// SPDX-License-Identifier: Apache-2.0
//! Work that goes on if the client that started it disconnects.

use super::error::ApiError;
use axum::http::StatusCode;

/// Completes the work even if the connection that asked for it ends first, so that no limit is
/// written and left unrecorded.
///
/// # Errors
/// Errors of the work, and 500 if it panicked.
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
