// SPDX-License-Identifier: Apache-2.0
//! Finds the capture that a path means.

use crate::error::CaptureError;
use crate::meta::FILE;
use std::path::{Path, PathBuf};

/// The capture at `path`: the directory itself, or the only one directly within it,
/// as a run's directory has it.
///
/// # Errors
/// No capture there, or several.
pub fn locate(path: &Path) -> Result<PathBuf, CaptureError> {
    if path.join(FILE).is_file() {
        return Ok(path.to_path_buf());
    }
    let entries = std::fs::read_dir(path).map_err(CaptureError::io(path))?;
    let mut found = Vec::new();
    for entry in entries {
        let inner = entry.map_err(CaptureError::io(path))?.path();
        if inner.join(FILE).is_file() {
            found.push(inner);
        }
    }
    found.sort();
    match <[PathBuf; 1]>::try_from(found) {
        Ok([one]) => Ok(one),
        Err(none) if none.is_empty() => Err(CaptureError::NoCapture(path.to_path_buf())),
        Err(several) => Err(CaptureError::Several {
            path: path.to_path_buf(),
            found: several,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_only_capture_within_is_meant() {
        let dir = tempfile::tempdir().unwrap();
        let capture = |name: &str| {
            let path = dir.path().join(name);
            std::fs::create_dir(&path).unwrap();
            std::fs::write(path.join(FILE), "{}").unwrap();
            path
        };
        let said = locate(dir.path()).unwrap_err().to_string();
        assert!(said.contains("is no capture"), "{said}");
        let first = capture("capture");
        assert_eq!(locate(dir.path()).unwrap(), first);
        assert_eq!(locate(&first).unwrap(), first);
        capture("capture-2");
        let said = locate(dir.path()).unwrap_err().to_string();
        assert!(said.contains("capture-2"), "{said}");
        let missing = dir.path().join("nowhere");
        assert!(
            locate(&missing)
                .unwrap_err()
                .to_string()
                .contains("nowhere")
        );
    }
}
