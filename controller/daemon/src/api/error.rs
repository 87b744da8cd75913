// SPDX-License-Identifier: Apache-2.0
//! Errors of the API: a status, a message, and the field at fault.

use crate::core::phases::PhaseError;
use axum::Json;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use tidemark_api::{ErrorBody, Problem};
use tidemark_control::ControlError;

#[derive(Debug, thiserror::Error)]
#[error("{message} ({status})")]
pub(super) struct ApiError {
    pub status: StatusCode,
    pub message: String,
    pub field: Option<String>,
}

impl ApiError {
    pub(super) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            field: None,
        }
    }

    /// 400 with the field at fault.
    pub(super) fn bad(field: &str, message: impl Into<String>) -> Self {
        Self {
            field: Some(field.into()),
            ..Self::new(StatusCode::BAD_REQUEST, message)
        }
    }

    /// 409 with the field at fault.
    pub(super) fn conflict(field: &str, message: impl Into<String>) -> Self {
        Self {
            field: Some(field.into()),
            ..Self::new(StatusCode::CONFLICT, message)
        }
    }

    pub(super) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, message)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let error = Problem {
            message: self.message,
            field: self.field,
        };
        (self.status, Json(ErrorBody { error })).into_response()
    }
}

impl From<ControlError> for ApiError {
    fn from(e: ControlError) -> Self {
        let message = e.to_string();
        match e {
            ControlError::Bad(r) => Self::bad(r.field, message),
            ControlError::Refused(r) => Self::conflict(r.field, message),
            ControlError::NoSwitch(_) => Self::conflict("node", message),
            ControlError::NoPort(_) => Self::conflict("port", message),
            ControlError::NotRecorded(_) => Self::new(StatusCode::SERVICE_UNAVAILABLE, message),
            ControlError::Switch(_) => Self::new(StatusCode::BAD_GATEWAY, message),
        }
    }
}

impl From<PhaseError> for ApiError {
    fn from(e: PhaseError) -> Self {
        match e {
            PhaseError::Bad(m) => Self::bad("name", m),
            PhaseError::Unknown(m) => Self {
                field: Some("name".into()),
                ..Self::not_found(m)
            },
            PhaseError::Conflict(m) => Self::conflict("action", m),
        }
    }
}

/// Answers requests for routes below `/api/v1` that do not exist.
pub(super) async fn unknown_route(uri: Uri) -> ApiError {
    ApiError::not_found(format!("no route {}; see /api/v1/openapi.json", uri.path()))
}
