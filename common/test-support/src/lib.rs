// SPDX-License-Identifier: Apache-2.0
//! Test doubles and data with known truth, for the tests of all crates.
//!
//! [`disk`] simulates a disk; [`rng`] gives reproducible random numbers; [`service`] and
//! [`terminal`] run programs as a service manager and a terminal do; [`golden`] has simulated
//! runs with known truth; `certificates` (a feature of that name) makes certificates.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

#[cfg(feature = "certificates")]
pub mod certificates;
pub mod disk;
pub mod golden;
pub mod rng;
pub mod service;
pub mod terminal;

/// Writes a file that only its owner can read, as keys and tokens must be.
///
/// # Panics
/// The file cannot be written.
#[allow(clippy::expect_used)] // A test without its file has to fail.
pub fn write_private(path: impl AsRef<std::path::Path>, content: impl AsRef<[u8]>) {
    use std::io::Write as _;
    use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let mut file = options.open(path).expect("a directory to write to");
    let private = std::fs::Permissions::from_mode(0o600);
    file.set_permissions(private).expect("a file of one's own");
    file.write_all(content.as_ref()).expect("room for a file");
}
