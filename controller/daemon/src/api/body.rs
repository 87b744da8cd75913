// SPDX-License-Identifier: Apache-2.0
//! Bodies and queries whose errors name the field at fault.

use super::error::ApiError;
use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

/// A JSON body.
pub struct Body<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = ApiError;

    async fn from_request(req: Request, state: &S) -> Result<Self, ApiError> {
        let bytes = Bytes::from_request(req, state)
            .await
            .map_err(|e| ApiError::new(e.status(), e.body_text()))?;
        let de = &mut serde_json::Deserializer::from_slice(&bytes);
        let value = serde_path_to_error::deserialize(de)
            .map_err(|e| at_fault(&e.path().to_string(), &e.inner().to_string()))?;
        Ok(Body(value))
    }
}

/// The query string.
pub struct Query<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let query = parts.uri.query().unwrap_or_default();
        let de = serde_urlencoded::Deserializer::new(form_urlencoded::parse(query.as_bytes()));
        let value = serde_path_to_error::deserialize(de)
            .map_err(|e| at_fault(&e.path().to_string(), &e.inner().to_string()))?;
        Ok(Query(value))
    }
}

/// The field is the path to it, or what serde puts between backticks where the
/// field is missing or unknown.
fn at_fault(path: &str, message: &str) -> ApiError {
    let named = message
        .split_once("field `")
        .and_then(|(_, rest)| rest.split_once('`'))
        .map(|(name, _)| name);
    let field = match (path, named) {
        ("." | "?", Some(name)) => name.to_string(),
        (path, Some(name)) if !path.ends_with(name) => format!("{path}.{name}"),
        (path, _) => path.to_string(),
    };
    ApiError::bad(&field, message)
}

#[cfg(test)]
mod tests {
    use super::at_fault;

    #[test]
    fn field_is_found() {
        let field = |p, m| at_fault(p, m).field.unwrap();
        assert_eq!(field(".", "missing field `bytes` at line 1"), "bytes");
        assert_eq!(field("byte", "unknown field `byte`, expected"), "byte");
        assert_eq!(field("bytes", "invalid type: string"), "bytes");
        assert_eq!(field("targets", "missing field `x`"), "targets.x");
    }
}
