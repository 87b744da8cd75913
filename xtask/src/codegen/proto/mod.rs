// SPDX-License-Identifier: Apache-2.0
//! Rust for the `.proto` files of the contract: messages (prost) and services
//! (tonic). Committed, so that a build needs neither `protoc` nor its
//! replacements.

pub(super) mod text_schema;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use prost_types::FileDescriptorSet;

use super::{Generated, head, read};

const PROTO: &str = "contract/proto";
/// What is compiled; files they import come along.
const FILES: [&str; 6] = [
    "bfrt/bfruntime.proto",
    "google/rpc/status.proto",
    "p4/v1/p4runtime.proto",
    "tidemark/switch/v1/switch.proto",
    "tidemark/v1/agent.proto",
    "tidemark/v1/telemetry.proto",
];

/// Where generated Rust of the contract's protobuf goes.
fn folder() -> PathBuf {
    Path::new(PROTO).join("src/generated")
}

/// Descriptors of all `.proto` files.
fn descriptors(root: &Path) -> Result<FileDescriptorSet> {
    protox::compile(FILES, [root.join(PROTO)]).context("cannot compile the .proto files")
}

pub(in crate::codegen) fn generate(root: &Path) -> Result<Vec<Generated>> {
    let out = tempfile::tempdir()?;
    tonic_prost_build::configure()
        .out_dir(out.path())
        .emit_rerun_if_changed(false)
        .compile_fds(descriptors(root)?)?;
    let mut names = std::fs::read_dir(out.path())?
        .map(|e| Ok(e?.file_name()))
        .collect::<Result<Vec<_>>>()?;
    names.sort();
    names
        .into_iter()
        .map(|name| {
            let text = format(&read(&out.path().join(&name))?)?;
            Ok(Generated::file(folder().join(name), text))
        })
        .collect()
}

/// Rust source laid out for reading, below a line that says where it comes from.
fn format(source: &str) -> Result<String> {
    let file = syn::parse_file(source).context("generated Rust does not parse")?;
    let text = prettyplease::unparse(&file);
    Ok(format!("{}\n{text}", head(PROTO)))
}
