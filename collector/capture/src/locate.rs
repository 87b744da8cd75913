// SPDX-License-Identifier: Apache-2.0
//! Finds the capture that a path refers to.

use crate::error::CaptureError;
use crate::meta::FILE;
use std::path::{Path, PathBuf};

/// Finds the capture at `path`: the directory itself or, as in a run's directory, the only
/// capture directly inside it.
///
/// # Errors
/// There is no capture, or there are several.
pub fn locate(path: &Path) -> Result<PathBuf, CaptureError> {
    if path.join(FILE).is_file() {
        return Ok(path.to_path_buf());
    }
    if path.is_file() {
        return Err(CaptureError::IsFile(path.to_path_buf()));
    }
    match <[PathBuf; 1]>::try_from(captures_in(path).map_err(CaptureError::io(path))?) {
        Ok([one]) => Ok(one),
        Err(none) if none.is_empty() => Err(CaptureError::NoCapture {
            path: path.to_path_buf(),
            below: runs_in(path),
        }),
        Err(several) => Err(CaptureError::Several {
            path: path.to_path_buf(),
            found: several,
        }),
    }
}

/// Lists the directories in `path`, sorted by name.
fn directories(path: &Path) -> std::io::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(path)?.map(|entry| Ok(entry?.path()));
    let mut found: Vec<PathBuf> = entries.collect::<std::io::Result<_>>()?;
    found.retain(|inner| inner.is_dir());
    found.sort();
    Ok(found)
}

fn captures_in(path: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = directories(path)?;
    found.retain(|inner| inner.join(FILE).is_file());
    Ok(found)
}

/// Lists the runs directly inside `path`, for the hint in an error. Unreadable directories
/// count as empty.
fn runs_in(path: &Path) -> Vec<PathBuf> {
    let mut found = directories(path).unwrap_or_default();
    found.retain(|run| captures_in(run).is_ok_and(|c| !c.is_empty()));
    found
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
        let file = first.join(FILE);
        let said = locate(&file).unwrap_err().to_string();
        assert!(said.contains("is a file"), "{said}");
        let missing = dir.path().join("nowhere");
        assert!(
            locate(&missing)
                .unwrap_err()
                .to_string()
                .contains("nowhere")
        );
    }

    #[test]
    fn a_directory_of_runs_names_them() {
        let dir = tempfile::tempdir().unwrap();
        for run in ["e", "d", "c", "b", "a"] {
            let capture = dir.path().join(run).join("capture");
            std::fs::create_dir_all(&capture).unwrap();
            std::fs::write(capture.join(FILE), "{}").unwrap();
        }
        std::fs::create_dir(dir.path().join("0")).unwrap();
        let said = locate(dir.path()).unwrap_err().to_string();
        let path = dir.path().display();
        let named = format!("name a run: {path}/a, {path}/b, {path}/c or 2 more");
        assert!(said.ends_with(&named), "{said}");
        let empty = locate(&dir.path().join("0")).unwrap_err().to_string();
        assert!(empty.contains("an import or the lab wrote"), "{empty}");
    }
}
