// SPDX-License-Identifier: Apache-2.0
//! Sets `shared_data` where tests of the whole runs can run, or must.

use std::path::Path;

fn main() {
    println!("cargo::rustc-check-cfg=cfg(shared_data)");
    println!("cargo::rerun-if-env-changed=TIDEMARK_SHARED_DATA");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    println!("cargo::rerun-if-changed={}", folder.display());
    let required = std::env::var_os("TIDEMARK_SHARED_DATA").is_some_and(|v| v == "required");
    if required || folder.is_dir() {
        println!("cargo::rustc-cfg=shared_data");
    }
}
