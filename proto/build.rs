// SPDX-License-Identifier: Apache-2.0
//! Compiles the `.proto` files with `protox`, so that no `protoc` is needed.

use prost::Message as _;
use std::path::PathBuf;

/// Compiled in one go; the files they import are picked up by the compiler.
const FILES: [&str; 6] = [
    "bfrt/bfruntime.proto",
    "google/rpc/status.proto",
    "p4/v1/p4runtime.proto",
    "tidemark/switch/v1/switch.proto",
    "tidemark/v1/agent.proto",
    "tidemark/v1/telemetry.proto",
];
const IMPORTED: [&str; 3] = [
    "p4/config/v1/p4info.proto",
    "p4/config/v1/p4types.proto",
    "p4/v1/p4data.proto",
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for f in FILES.iter().chain(&IMPORTED) {
        println!("cargo:rerun-if-changed={f}");
    }
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    // Text format needs the descriptors at run time.
    let p4info = protox::compile(["p4/config/v1/p4info.proto"], ["."])?;
    std::fs::write(out.join("p4info.fds"), p4info.encode_to_vec())?;
    tonic_prost_build::configure().compile_fds(protox::compile(FILES, ["."])?)?;
    Ok(())
}
