// SPDX-License-Identifier: Apache-2.0
//! Reads files with secrets: keys and tokens.

use std::fs::File;
use std::io::{Error, Read as _, Result};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Longest file that is read, in bytes.
const MAX_BYTES: u64 = 1 << 20;
/// Mode bits that a secret must not have: others have no access, the group may only read,
/// as for a service manager's credentials and files of a package.
const FORBIDDEN_MODE: u32 = 0o037;

/// Reads a file with a key or a token in it.
///
/// # Errors
/// The file cannot be read, is longer than 1 MiB, or others can read or write it; the
/// message does not name the file.
pub fn read_secret(path: &Path) -> Result<Vec<u8>> {
    let unreadable = |e: Error| Error::new(e.kind(), format!("cannot be read: {e}"));
    let file = File::open(path).map_err(unreadable)?;
    // Check the opened file, because another file may have the name by now.
    let mode = file.metadata().map_err(unreadable)?.permissions().mode() & 0o777;
    if mode & FORBIDDEN_MODE != 0 {
        return Err(Error::other(format!(
            "others can read or write it (mode {mode:04o}), but it holds a secret; chmod 600"
        )));
    }
    let mut bytes = Vec::new();
    let read = file.take(MAX_BYTES + 1).read_to_end(&mut bytes);
    if read.map_err(unreadable)? as u64 > MAX_BYTES {
        return Err(Error::other("is longer than a key or token can be"));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{Permissions, set_permissions};

    #[test]
    fn a_secret_that_others_can_have_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("secret");
        std::fs::write(&path, "s3cret").unwrap();
        let read = |mode| {
            set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            read_secret(&path).map_err(|e| e.to_string())
        };
        for private in [0o400, 0o600, 0o640, 0o440] {
            assert_eq!(read(private).unwrap(), b"s3cret");
        }
        for open in [0o604, 0o620, 0o644, 0o666, 0o602, 0o610] {
            let e = read(open).unwrap_err();
            assert!(
                e.contains(&format!("{open:04o}")) && e.contains("chmod 600"),
                "{e}"
            );
        }
        std::fs::write(&path, vec![b'x'; MAX_BYTES as usize + 1]).unwrap();
        assert!(read(0o600).unwrap_err().contains("longer"));
        let e = read_secret(&dir.path().join("none")).unwrap_err();
        assert!(e.to_string().starts_with("cannot be read: "), "{e}");
    }
}
