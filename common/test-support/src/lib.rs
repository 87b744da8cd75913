// SPDX-License-Identifier: Apache-2.0
//! Doubles and truth for the tests of every room.
//!
//! [`disk`] is a disk in memory that fills, fails and loses power; [`rng`] gives random numbers that are
//! the same everywhere; [`service`] and [`terminal`] start programs as a service manager and a terminal do; [`golden`] holds simulated runs with known truth; `certificates` (a feature of that
//! name) makes certificates for one test.

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
/// A file that cannot be written.
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
