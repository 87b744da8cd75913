// SPDX-License-Identifier: Apache-2.0
//! Writes entries from files.

mod commands;
mod runtime_json;
mod words;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use p4runtime_server::Server;
use p4runtime_server::errors::errors_of;
use prost::Message as _;
use tidemark_proto::p4::config::v1::P4Info;
use tidemark_proto::p4::v1::{Update, WriteRequest};
use tidemark_proto::text_format;

use crate::data_plane::Handle;

/// Writes files of entries one after the other; each file entirely or with an error. `plane`:
/// data plane on which queues can be set.
///
/// # Errors
/// A file that cannot be read, does not fit the program, or is refused, with its name.
pub(crate) async fn write(
    server: &Server,
    plane: Option<&Handle>,
    files: &[PathBuf],
) -> Result<()> {
    for file in files {
        write_file(server, plane, file)
            .await
            .with_context(|| format!("entries {}", file.display()))?;
    }
    Ok(())
}

async fn write_file(server: &Server, plane: Option<&Handle>, file: &Path) -> Result<()> {
    let bytes = std::fs::read(file).context("cannot read")?;
    let text = std::str::from_utf8(&bytes).unwrap_or_default();
    if commands::are_in(text) {
        return commands::run(&server.runtime(), plane, text).await;
    }
    let info = server.runtime().p4info().await;
    let info = info.context("there is no program yet")?;
    let written = server.write(&parse(&bytes, &info)?).await;
    written.map_err(|s| anyhow!(refusal(&s)))
}

/// Parses a `p4.v1.WriteRequest` in protobuf text or binary format, or JSON by name.
fn parse(bytes: &[u8], info: &P4Info) -> Result<Vec<Update>> {
    if bytes.trim_ascii_start().starts_with(b"{") {
        return runtime_json::parse(bytes, info);
    }
    let request: WriteRequest = match text_format::as_text(bytes) {
        Some(text) => text_format::parse(text)
            .map_err(|e| anyhow!("not a p4.v1.WriteRequest in text format: {e}"))?,
        None => WriteRequest::decode(bytes).context("not a p4.v1.WriteRequest in binary format")?,
    };
    Ok(request.updates)
}

/// Describes which update was refused, and why.
fn refusal(s: &tonic::Status) -> String {
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
        let info = P4Info::default();
        let updates = parse(text.as_bytes(), &info).unwrap();
        assert_eq!(updates.len(), 1);
        let binary = WriteRequest {
            updates: updates.clone(),
            ..WriteRequest::default()
        };
        assert_eq!(parse(&binary.encode_to_vec(), &info).unwrap(), updates);
        let e = parse(b"updates { entity { table_entry { nonsense: 1 } } }", &info).unwrap_err();
        assert!(e.to_string().contains("nonsense"), "{e}");
    }
}
