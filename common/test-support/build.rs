// SPDX-License-Identifier: Apache-2.0
//! Sets the cfg `shared_data` if tests with the complete runs can or must run.

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
