// SPDX-License-Identifier: Apache-2.0
//! Makes files and names durable, with operations in an order that survives a power cut.

use crate::Disk;
use std::io::{ErrorKind, Result, Write as _};
use std::path::Path;

/// Returns the directory that contains a path.
fn directory_of(path: &Path) -> &Path {
    let parent = path.parent().filter(|d| !d.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

/// Syncs the name of a file to the disk.
///
/// # Errors
/// The disk failed.
pub fn sync_name(disk: &dyn Disk, path: &Path) -> Result<()> {
    disk.sync_directory(directory_of(path))
}

/// Replaces `path` atomically with a new file, synced to the disk, that only its
/// owner can read.
///
/// # Errors
/// The directory cannot be written to. The old file is still there.
pub fn replace_private(disk: &dyn Disk, path: &Path, content: &[u8]) -> Result<()> {
    let mut partial = path.to_path_buf().into_os_string();
    partial.push(".part");
    let partial = Path::new(&partial);
    // Removes a leftover of a crash or a foreign file; a link is removed, not followed.
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

/// Creates a directory and its parents if they are missing, and syncs their names to
/// the disk.
///
/// # Errors
/// The disk failed.
pub fn make_directories(disk: &dyn Disk, directory: &Path) -> Result<()> {
    let mut made = false;
    let above: Vec<&Path> = directory.ancestors().collect();
    for path in above.iter().rev() {
        if path.as_os_str().is_empty() || disk.exists(path)? {
            continue;
        }
        match disk.make_directory(path) {
            // Another process was faster.
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            result => result?,
        }
        made = true;
        sync_name(disk, path)?;
    }
    if !made && directory.file_name().is_some() {
        // Its creator may have been killed before the name was on the disk.
        return match sync_name(disk, directory) {
            // The directory is not ours: somebody else made it for us, and made it durable.
            Err(e) if e.kind() == ErrorKind::PermissionDenied => Ok(()),
            result => result,
        };
    }
    Ok(())
}
