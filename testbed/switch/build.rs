// SPDX-License-Identifier: Apache-2.0
//! Descriptors of P4Runtime, for entries in protobuf text format.

use prost::Message as _;
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let proto = Path::new(&std::env::var("CARGO_MANIFEST_DIR")?).join("../../proto");
    println!("cargo:rerun-if-changed={}", proto.join("p4").display());
    let set = protox::compile(["p4/v1/p4runtime.proto"], [&proto])?;
    let out = Path::new(&std::env::var("OUT_DIR")?).join("p4runtime.fds");
    std::fs::write(out, set.encode_to_vec())?;
    Ok(())
}
