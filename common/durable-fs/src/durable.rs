// SPDX-License-Identifier: Apache-2.0
//! Makes files and names durable: operations in the order that survives a power cut.

use crate::Disk;
use std::io::{ErrorKind, Result, Write as _};
use std::path::Path;

/// The directory that a path is in.
fn directory_of(path: &Path) -> &Path {
    let parent = path.parent().filter(|d| !d.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

/// Puts the name of a file on the disk.
///
/// # Errors
/// Errors of the disk.
pub fn sync_name(disk: &dyn Disk, path: &Path) -> Result<()> {
    disk.sync_directory(directory_of(path))
}

/// Puts a new file in the place of `path`, whole or not at all, and on the disk.
/// Its owner alone reads it.
///
/// # Errors
/// A directory that cannot be written to. The file before is still there.
pub fn replace_private(disk: &dyn Disk, path: &Path, content: &[u8]) -> Result<()> {
    let mut partial = path.to_path_buf().into_os_string();
    partial.push(".part");
    let partial = Path::new(&partial);
    // Removes the rest of a crash, or another's file: a link is removed, not followed.
    match disk.remove(partial) {
        Err(e) if e.kind() != ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    let mut file = disk.create_private(partial)?;
    file.write_all(content)?;
    file.sync()?;
    disk.rename(partial, path)?;
    sync_name(disk, path)
}

/// Makes a directory and those above it, where they are missing, and puts their
/// names on the disk.
///
/// # Errors
/// Errors of the disk.
pub fn make_directories(disk: &dyn Disk, directory: &Path) -> Result<()> {
    let mut made = false;
    let above: Vec<&Path> = directory.ancestors().collect();
    for path in above.iter().rev() {
        if path.as_os_str().is_empty() || disk.exists(path)? {
            continue;
        }
        match disk.make_directory(path) {
            // Somebody else was faster.
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            result => result?,
        }
        made = true;
        sync_name(disk, path)?;
    }
    if !made && directory.file_name().is_some() {
        // Its maker may have been killed before its name was on the disk.
        return match sync_name(disk, directory) {
            // It is not ours: somebody made it for us, and let it last.
            Err(e) if e.kind() == ErrorKind::PermissionDenied => Ok(()),
            result => result,
        };
    }
    Ok(())
}
