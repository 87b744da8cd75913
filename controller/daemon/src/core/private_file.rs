// SPDX-License-Identifier: Apache-2.0
//! Files that nobody else reads, and that no link leads elsewhere.

use std::fs::{File, OpenOptions, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

/// Read and written by their owner alone.
const MODE: u32 = 0o600;

/// Opens a file for appending and reading; makes it where it is not there.
///
/// # Errors
/// A symbolic link in its place, or a file that cannot be opened.
pub(crate) fn append_to(path: &Path) -> std::io::Result<File> {
    let file = OpenOptions::new()
        .create(true)
        .append(true)
        .read(true)
        .mode(MODE)
        .custom_flags(libc::O_NOFOLLOW)
        .open(path)?;
    // One made by an older version.
    let meta = file.metadata()?;
    if meta.is_file() && meta.permissions().mode() & 0o777 != MODE {
        file.set_permissions(Permissions::from_mode(MODE))?;
    }
    Ok(file)
}

/// Puts a new file in the place of `path`, whole or not at all, and on the disk.
///
/// # Errors
/// A directory that cannot be written to.
pub(crate) fn replace(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let mut partial = path.to_path_buf().into_os_string();
    partial.push(".part");
    // What a crash, or someone else, left there: a link is removed, not followed.
    match std::fs::remove_file(&partial) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(MODE)
        .custom_flags(libc::O_NOFOLLOW)
        .open(&partial)?;
    file.write_all(content)?;
    file.sync_all()?;
    std::fs::rename(&partial, path)?;
    // The name is on the disk when its directory is.
    let directory = path.parent().filter(|d| !d.as_os_str().is_empty());
    File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn no_link_is_followed_and_nobody_else_reads() {
        let dir = tempfile::tempdir().unwrap();
        let victim = dir.path().join("victim");
        std::fs::write(&victim, "untouched").unwrap();
        let path = dir.path().join("state.json");
        std::os::unix::fs::symlink(&victim, dir.path().join("state.json.part")).unwrap();
        replace(&path, b"new").unwrap();
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "untouched");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(mode(&path), 0o600);
        replace(&path, b"newer").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "newer");

        let link = dir.path().join("audit.jsonl");
        std::os::unix::fs::symlink(&victim, &link).unwrap();
        assert!(append_to(&link).is_err());
        std::fs::remove_file(&link).unwrap();
        std::fs::write(&link, "old").unwrap();
        std::fs::set_permissions(&link, Permissions::from_mode(0o644)).unwrap();
        append_to(&link).unwrap();
        assert_eq!(mode(&link), 0o600);
    }
}
