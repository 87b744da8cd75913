// SPDX-License-Identifier: Apache-2.0
//! The console is embedded from its build directory; where it has not been
//! built yet the directory must exist all the same.

fn main() -> std::io::Result<()> {
    let dist = std::path::Path::new("../console/dist");
    std::fs::create_dir_all(dist)?;
    println!("cargo:rerun-if-changed=../console/dist");
    Ok(())
}
