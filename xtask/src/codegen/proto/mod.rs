// SPDX-License-Identifier: Apache-2.0
//! Generates Rust for the contract's `.proto` files: messages (prost) and services (tonic).
//! Committed, so that a build needs no `protoc` or replacement.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use prost::Message as _;
use prost_types::FileDescriptorSet;

use super::{Generated, head, read};

const PROTO: &str = "contract/proto";
/// Files to compile, together with their imports.
const FILES: [&str; 6] = [
    "bfrt/bfruntime.proto",
    "google/rpc/status.proto",
    "p4/v1/p4runtime.proto",
    "tidemark/switch/v1/switch.proto",
    "tidemark/v1/agent.proto",
    "tidemark/v1/telemetry.proto",
];

/// Messages that also have a JSON form: for `tidemark-switch port list` and `capture.json`.
const PORT_STATE: &str = ".tidemark.switch.v1.PortState";
const CLOCK: &str = ".tidemark.v1.ClockMapping";

/// Returns the folder of the Rust generated from the contract's protobuf.
fn folder() -> PathBuf {
    Path::new(PROTO).join("src/generated")
}

/// Returns the descriptors of all `.proto` files.
fn descriptors(root: &Path) -> Result<FileDescriptorSet> {
    protox::compile(FILES, [root.join(PROTO)]).context("cannot compile the .proto files")
}

pub(in crate::codegen) fn generate(root: &Path) -> Result<Vec<Generated>> {
    let out = tempfile::tempdir()?;
    let descriptors = descriptors(root)?;
    let binary = Generated::file(
        folder().join("descriptors.bin"),
        without_comments(&descriptors),
    );
    tonic_prost_build::configure()
        .out_dir(out.path())
        .emit_rerun_if_changed(false)
        .type_attribute(PORT_STATE, "#[derive(serde::Serialize)]")
        .btree_map(PORT_STATE)
        .type_attribute(CLOCK, "#[derive(serde::Serialize, serde::Deserialize)]")
        .compile_fds(descriptors)?;
    let mut names = std::fs::read_dir(out.path())?
        .map(|e| Ok(e?.file_name()))
        .collect::<Result<Vec<_>>>()?;
    names.sort();
    let rust = names.into_iter().map(|name| {
        let text = format(&read(&out.path().join(&name))?)?;
        Ok(Generated::file(folder().join(name), text))
    });
    rust.chain([Ok(binary)]).collect()
}

/// Returns descriptors of P4Runtime's messages, for the text format reader.
fn without_comments(set: &FileDescriptorSet) -> Vec<u8> {
    let mut set = set.clone();
    set.file.retain(|f| f.package().starts_with("p4."));
    for file in &mut set.file {
        file.source_code_info = None;
    }
    set.encode_to_vec()
}

/// Formats Rust source, below a line that says where it comes from.
fn format(source: &str) -> Result<String> {
    let file = syn::parse_file(source).context("generated Rust does not parse")?;
    let text = prettyplease::unparse(&file);
    Ok(format!("{}\n{text}", head(PROTO)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use prost_reflect::{DescriptorPool, DynamicMessage};
    use std::fmt::Debug;
    use tidemark_proto::p4::config::v1::P4Info;
    use tidemark_proto::p4::v1::WriteRequest;
    use tidemark_proto::text_format::{self, FromText};

    /// Compares the reader with prost-reflect's on one text.
    fn same<M: FromText + PartialEq + Debug>(pool: &DescriptorPool, name: &str, file: &str) {
        let text = crate::codegen::read(&crate::root().join(file)).unwrap();
        let descriptor = pool.get_message_by_name(name).unwrap();
        let reflected = DynamicMessage::parse_text_format(descriptor, &text).unwrap();
        let wire = reflected.encode_to_vec();
        assert!(!wire.is_empty(), "{file} is empty");
        let expected = M::decode(wire.as_slice()).unwrap();
        assert_eq!(text_format::parse::<M>(&text).unwrap(), expected, "{file}");
    }

    /// All texts in the tree except the P4Info of Tofino's compiler: those have `Any` in its
    /// expanded form, with messages whose definitions are not public.
    #[test]
    fn the_reader_agrees_with_reflection() {
        let set = descriptors(&crate::root()).unwrap();
        let pool = DescriptorPool::from_file_descriptor_set(set).unwrap();
        for file in [
            "p4src/build/tidemark.p4info.txtpb",
            "switch/p4runtime-server/tests/data/mixed.p4info.txtpb",
            "switch/daemon/tests/data/entities/entities.p4info.txtpb",
        ] {
            same::<P4Info>(&pool, "p4.config.v1.P4Info", file);
        }
        for file in [
            "switch/daemon/tests/data/entities/writes.txtpb",
            "switch/daemon/tests/data/forward-and-report.txtpb",
        ] {
            same::<WriteRequest>(&pool, "p4.v1.WriteRequest", file);
        }
    }
}
