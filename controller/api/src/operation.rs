// SPDX-License-Identifier: Apache-2.0
//! Definition of an operation.

use crate::LinkPath;
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use std::any::TypeId;

/// HTTP method of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Reads; open to everybody who can reach the address.
    Get,
    /// Changes something; needs the bearer token.
    Post,
}

/// One operation of the interface: its path, its parameters and its answer. Implemented by the
/// marker types of [`crate::operations`].
pub trait Operation: Send + Sync + 'static {
    /// Parameters of the path.
    type Path: DeserializeOwned + Serialize + JsonSchema + Send + 'static;
    /// Parameters of the query.
    type Query: DeserializeOwned + Serialize + JsonSchema + Send + 'static;
    /// Body of the request; [`crate::Nothing`] for `GET`.
    type Body: DeserializeOwned + Serialize + JsonSchema + Send + 'static;
    /// Body of a successful answer.
    type Answer: DeserializeOwned + Serialize + JsonSchema + Send + 'static;
    /// HTTP method.
    const METHOD: Method;
    /// Path below `/api/v1`, with `{name}` for its parameters.
    const PATH: &'static str;
    /// Its effect, in one line.
    const SUMMARY: &'static str;
    /// Status codes of successful answers.
    const STATUS: &'static [u16] = &[200];
    /// Media types of successful answers; [`Operation::Answer`] is the first.
    const MEDIA: &'static [&'static str] = &["application/json"];
}

/// Returns the path of a link's operation for a queue other than 0; `None` for other operations.
pub fn path_of_queue<O: Operation>() -> Option<String> {
    let of_link = TypeId::of::<O::Path>() == TypeId::of::<LinkPath>();
    of_link.then(|| O::PATH.replace("{port}", "{port}/{queue}"))
}

/// Action carried out for every operation, see [`crate::operations::visit`].
pub trait Visitor {
    /// Visits one operation.
    fn visit<O: Operation>(&mut self);
}
