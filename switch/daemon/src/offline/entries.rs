// SPDX-License-Identifier: Apache-2.0
//! P4Runtime writes from a file.

use anyhow::{Context, Result, anyhow};
use p4runtime_server::errors::errors_of;
use prost::Message as _;
use tidemark_proto::p4::v1::WriteRequest;
use tidemark_proto::text_format;

/// A `p4.v1.WriteRequest` in protobuf text or binary format.
pub fn parse(bytes: &[u8]) -> Result<WriteRequest> {
    match text_format::as_text(bytes) {
        Some(text) => text_format::parse(text)
            .map_err(|e| anyhow!("not a p4.v1.WriteRequest in text format: {e}")),
        None => WriteRequest::decode(bytes).context("not a p4.v1.WriteRequest in binary format"),
    }
}

/// Which update was refused, and why.
pub fn refusal(s: &tonic::Status) -> String {
    let errors = errors_of(s).unwrap_or_default();
    let refused: Vec<String> = (1..)
        .zip(&errors)
        .filter(|(_, e)| e.canonical_code != 0)
        .map(|(n, e)| format!("update {n}: {}", e.message))
        .collect();
    if refused.is_empty() {
        s.message().to_owned()
    } else {
        refused.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_binary() {
        let text = "updates { type: INSERT entity { table_entry { table_id: 7 priority: 2 } } }";
        let request = parse(text.as_bytes()).unwrap();
        assert_eq!(request.updates.len(), 1);
        assert_eq!(parse(&request.encode_to_vec()).unwrap(), request);
        let e = parse(b"updates { entity { table_entry { nonsense: 1 } } }").unwrap_err();
        assert!(e.to_string().contains("nonsense"), "{e}");
    }
}
