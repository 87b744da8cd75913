// SPDX-License-Identifier: Apache-2.0
//! The P4Runtime error model: plain gRPC statuses for whole RPCs; for batches
//! `UNKNOWN` with one `p4.v1.Error` per item in `grpc-status-details-bin`.

use crate::target::{TargetError, TargetErrorKind};
use prost::Message as _;
use tidemark_proto::google::rpc;
use tidemark_proto::p4::v1 as p4;
use tonic::{Code, Status};

/// Common clients refuse trailers beyond 8 KiB; this leaves room for base64 and the
/// other trailers.
const MAX_DETAILS_BYTES: usize = 5_500;
const MAX_MESSAGE_BYTES: usize = 400;
const ERROR_TYPE: &str = "type.googleapis.com/p4.v1.Error";

/// Returns a refusal: its kind, a colon, then arguments of `format!`.
macro_rules! refuse {
    ($kind:ident: $($what:tt)*) => {
        return Err($crate::errors::Failure::$kind(format!($($what)*)))
    };
}
pub(crate) use refuse;

/// Like `refuse!`, with the place that the closure `at` adds in front.
macro_rules! refuse_at {
    ($at:ident, $kind:ident: $($what:tt)*) => {
        return Err($at($crate::errors::Failure::$kind(format!($($what)*))))
    };
}
pub(crate) use refuse_at;

/// Reason why one item of a request (or a whole request) was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// gRPC status code.
    pub code: Code,
    /// The fault, its place, and the remedy.
    pub message: String,
}

/// Result of a check or change.
pub type Outcome<T> = Result<T, Failure>;

impl Failure {
    /// Makes a failure with any code.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    /// `INVALID_ARGUMENT`.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(Code::InvalidArgument, message)
    }

    /// `NOT_FOUND`.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(Code::NotFound, message)
    }

    /// `OUT_OF_RANGE`.
    pub fn out_of_range(message: impl Into<String>) -> Self {
        Self::new(Code::OutOfRange, message)
    }

    /// `RESOURCE_EXHAUSTED`.
    pub fn exhausted(message: impl Into<String>) -> Self {
        Self::new(Code::ResourceExhausted, message)
    }

    /// `PERMISSION_DENIED`.
    pub fn denied(message: impl Into<String>) -> Self {
        Self::new(Code::PermissionDenied, message)
    }

    /// `FAILED_PRECONDITION`.
    pub fn precondition(message: impl Into<String>) -> Self {
        Self::new(Code::FailedPrecondition, message)
    }

    /// `UNIMPLEMENTED`.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(Code::Unimplemented, message)
    }

    /// Adds the place in front of the message.
    #[must_use]
    pub fn at(mut self, place: impl std::fmt::Display) -> Self {
        self.message = format!("{place}: {}", self.message);
        self
    }
}

impl From<TargetError> for Failure {
    fn from(e: TargetError) -> Self {
        let code = match e.kind {
            TargetErrorKind::InvalidProgram | TargetErrorKind::InvalidArgument => {
                Code::InvalidArgument
            }
            TargetErrorKind::NotFound => Code::NotFound,
            TargetErrorKind::ResourceExhausted => Code::ResourceExhausted,
            TargetErrorKind::Unsupported => Code::Unimplemented,
            TargetErrorKind::Internal => Code::Internal,
        };
        Self::new(code, e.message)
    }
}

impl From<Failure> for Status {
    fn from(f: Failure) -> Self {
        Status::new(f.code, f.message)
    }
}

/// Returns the status of a batch with one result per item, in the order of the request;
/// `None` if all succeeded.
pub fn batch_status(results: &[Outcome<()>]) -> Option<Status> {
    let failed: Vec<(usize, &Failure)> = results
        .iter()
        .enumerate()
        .filter_map(|(i, r)| r.as_ref().err().map(|f| (i, f)))
        .collect();
    let (first, failure) = failed.first()?;
    let message = format!(
        "{} of {} failed; first is item {first}: {}",
        failed.len(),
        results.len(),
        cut(&failure.message, MAX_MESSAGE_BYTES),
    );
    // Long messages are shortened before the details are dropped altogether.
    for longest in [MAX_MESSAGE_BYTES, 100, 0] {
        let details = details(results, &message, longest);
        if details.len() <= MAX_DETAILS_BYTES {
            return Some(Status::with_details(Code::Unknown, message, details.into()));
        }
    }
    Some(Status::unknown(format!(
        "{message} (too many items to list; send smaller batches for the result of each)"
    )))
}

fn details(results: &[Outcome<()>], message: &str, longest: usize) -> Vec<u8> {
    let details = results
        .iter()
        .map(|r| {
            let error = match r {
                Ok(()) => p4::Error::default(),
                Err(f) => p4::Error {
                    canonical_code: f.code as i32,
                    message: cut(&f.message, longest).to_owned(),
                    ..Default::default()
                },
            };
            prost_types::Any {
                type_url: ERROR_TYPE.to_owned(),
                value: error.encode_to_vec(),
            }
        })
        .collect();
    rpc::Status {
        code: Code::Unknown as i32,
        message: message.to_owned(),
        details,
    }
    .encode_to_vec()
}

fn cut(text: &str, longest: usize) -> &str {
    let mut end = longest.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Extracts the `p4.v1.Error` of each item from a status that a client received; `None`
/// if the status carries none.
pub fn errors_of(status: &Status) -> Option<Vec<p4::Error>> {
    let details = rpc::Status::decode(status.details()).ok()?.details;
    if details.is_empty() {
        return None;
    }
    details
        .iter()
        .map(|any| p4::Error::decode(any.value.as_slice()).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_detail_per_item_in_order() {
        let results = vec![
            Ok(()),
            Err(Failure::not_found("no such entry")),
            Ok(()),
            Err(Failure::invalid("bad")),
        ];
        let status = batch_status(&results).unwrap();
        assert_eq!(status.code(), Code::Unknown);
        let codes: Vec<_> = errors_of(&status)
            .unwrap()
            .iter()
            .map(|e| e.canonical_code)
            .collect();
        assert_eq!(codes, [0, 5, 0, 3]);
        assert!(batch_status(&[Ok(()), Ok(())]).is_none());
    }

    #[test]
    fn stays_within_what_clients_accept() {
        for (items, text) in [(30, 2_000), (120, 300), (5_000, 10)] {
            let results = vec![Err(Failure::invalid("ü".repeat(text))); items];
            let status = batch_status(&results).unwrap();
            assert!(status.details().len() <= MAX_DETAILS_BYTES);
            assert!(status.message().len() < 1_000);
            if items <= 100 {
                assert_eq!(errors_of(&status).unwrap().len(), items);
            }
        }
    }
}
