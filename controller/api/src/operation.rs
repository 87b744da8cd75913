// SPDX-License-Identifier: Apache-2.0
//! Definition of an operation.

use crate::LinkPath;
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use std::any::TypeId;

/// HTTP method of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Reads; open to everybody who reaches the address.
    Get,
    /// Changes something; needs the bearer token.
    Post,
}

/// One operation of the interface: where it is, what it takes, what it gives.
/// Implemented by the marker types of [`crate::operations`].
pub trait Operation: Send + Sync + 'static {
    /// Parameters of the path.
    type Path: DeserializeOwned + Serialize + JsonSchema + Send + 'static;
    /// Parameters of the query.
    type Query: DeserializeOwned + Serialize + JsonSchema + Send + 'static;
    /// Body of the request; [`crate::Nothing`] for `GET`.
    type Body: DeserializeOwned + Serialize + JsonSchema + Send + 'static;
    /// Body of a good answer.
    type Answer: DeserializeOwned + Serialize + JsonSchema + Send + 'static;
    /// HTTP method.
    const METHOD: Method;
    /// Path below `/api/v1`, with `{name}` for its parameters.
    const PATH: &'static str;
    /// Its effect, in one line.
    const SUMMARY: &'static str;
    /// Status codes of good answers.
    const STATUS: &'static [u16] = &[200];
    /// Media types of good answers; [`Operation::Answer`] is the first.
    const MEDIA: &'static [&'static str] = &["application/json"];
}

/// Path of an operation on a link for a queue other than 0; `None` of others.
pub fn path_of_queue<O: Operation>() -> Option<String> {
    let of_link = TypeId::of::<O::Path>() == TypeId::of::<LinkPath>();
    of_link.then(|| O::PATH.replace("{port}", "{port}/{queue}"))
}

/// Something done for every operation, see [`crate::operations::visit`].
pub trait Visitor {
    /// One operation.
    fn visit<O: Operation>(&mut self);
}
