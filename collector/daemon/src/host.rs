// SPDX-License-Identifier: Apache-2.0
//! What identifies this process and this machine.

/// A random name for this start of the program.
pub(crate) fn instance() -> String {
    let mut bytes = [0u8; 8];
    let random = std::fs::File::open("/dev/urandom")
        .and_then(|mut f| std::io::Read::read_exact(&mut f, &mut bytes));
    if random.is_err() {
        bytes =
            (crate::time::unix_ns() as u64 ^ (u64::from(std::process::id()) << 48)).to_be_bytes();
    }
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// Name and release of the kernel.
pub(crate) fn kernel() -> String {
    nix::sys::utsname::uname().map_or_else(
        |_| "unknown".to_owned(),
        |u| {
            format!(
                "{} {} {}",
                u.sysname().to_string_lossy(),
                u.release().to_string_lossy(),
                u.machine().to_string_lossy()
            )
        },
    )
}
