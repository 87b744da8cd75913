// SPDX-License-Identifier: Apache-2.0
//! Parses bodies and queries; errors name the field at fault.

use super::error::ApiError;
use serde::de::DeserializeOwned;

pub(super) fn json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    let de = &mut serde_json::Deserializer::from_slice(bytes);
    serde_path_to_error::deserialize(de)
        .map_err(|e| at_fault(&e.path().to_string(), &e.inner().to_string()))
}

pub(super) fn query<T: DeserializeOwned>(query: &str) -> Result<T, ApiError> {
    let de = serde_urlencoded::Deserializer::new(form_urlencoded::parse(query.as_bytes()));
    serde_path_to_error::deserialize(de)
        .map_err(|e| at_fault(&e.path().to_string(), &e.inner().to_string()))
}

/// Error that names the field at fault: the path to it, or the name that serde puts between
/// backticks if the field is missing or unknown.
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
