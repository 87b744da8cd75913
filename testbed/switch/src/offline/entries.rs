// SPDX-License-Identifier: Apache-2.0
//! P4Runtime writes from a file.

use std::sync::LazyLock;

use anyhow::{Context, Result, anyhow};
use prost::Message as _;
use prost_reflect::{DescriptorPool, DynamicMessage};
use tidemark_proto::google::rpc;
use tidemark_proto::p4::v1::{Error, WriteRequest};

static POOL: LazyLock<Option<DescriptorPool>> = LazyLock::new(|| {
    DescriptorPool::decode(include_bytes!(concat!(env!("OUT_DIR"), "/p4runtime.fds")).as_slice())
        .ok()
});

/// A `p4.v1.WriteRequest` in protobuf text or binary format.
pub fn parse(bytes: &[u8]) -> Result<WriteRequest> {
    let text = std::str::from_utf8(bytes).ok().filter(|t| {
        !t.chars()
            .any(|c| c.is_control() && !c.is_ascii_whitespace())
    });
    let Some(text) = text else {
        return WriteRequest::decode(bytes).context("not a p4.v1.WriteRequest in binary format");
    };
    let descriptor = POOL
        .as_ref()
        .and_then(|p| p.get_message_by_name("p4.v1.WriteRequest"))
        .context("internal error: built-in descriptors are unusable")?;
    let message = DynamicMessage::parse_text_format(descriptor, text)
        .map_err(|e| anyhow!("not a p4.v1.WriteRequest in text format: {e}"))?;
    Ok(message.transcode_to()?)
}

/// Which update was refused, and why.
pub fn refusal(s: &tonic::Status) -> String {
    let details = rpc::Status::decode(s.details()).unwrap_or_default().details;
    let refused: Vec<String> = details
        .iter()
        .enumerate()
        .filter_map(|(i, any)| {
            let e = Error::decode(any.value.as_slice()).ok()?;
            (e.canonical_code != 0).then(|| format!("update {}: {}", i + 1, e.message))
        })
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
