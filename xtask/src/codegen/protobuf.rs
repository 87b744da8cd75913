// SPDX-License-Identifier: Apache-2.0
//! Rust for the `.proto` files of the contract: messages (prost) and services
//! (tonic). Committed, so that a build needs neither `protoc` nor its
//! replacements.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use prost_types::FileDescriptorSet;

use super::{Generated, read, rust};

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
pub(super) fn folder() -> PathBuf {
    Path::new(PROTO).join("src/generated")
}

/// Descriptors of all `.proto` files.
pub(super) fn descriptors(root: &Path) -> Result<FileDescriptorSet> {
    protox::compile(FILES, [root.join(PROTO)]).context("cannot compile the .proto files")
}

pub(super) fn generate(root: &Path) -> Result<Vec<Generated>> {
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
            let text = rust::format(&read(&out.path().join(&name))?, PROTO)?;
            Ok(Generated::file(folder().join(name), text))
        })
        .collect()
}
