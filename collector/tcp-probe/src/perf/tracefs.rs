// SPDX-License-Identifier: Apache-2.0
//! Files of the kernel's tracing and CPU directories.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::error::OpenError;
use super::options::Options;
use crate::format::Format;

const MOUNT_POINTS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
const ONLINE_CPUS: &str = "/sys/devices/system/cpu/online";

/// Finds the directory of the TCP tracepoints.
pub(super) fn find(options: &Options) -> Result<PathBuf, OpenError> {
    let places: Vec<PathBuf> = match &options.tracefs {
        Some(place) => vec![place.clone()],
        None => MOUNT_POINTS.iter().map(PathBuf::from).collect(),
    };
    for place in &places {
        // The mount point exists even if nothing is mounted there.
        match fs::metadata(place.join("events")) {
            Ok(_) => return Ok(place.join("events/tcp")),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Err(OpenError::TracefsPermission {
                    path: place.clone(),
                });
            }
            Err(_) => {}
        }
    }
    Err(OpenError::TracefsNotMounted { looked_at: places })
}

/// Reads the format file of a tracepoint.
pub(super) fn format(directory: &Path, event: &'static str) -> Result<Format, OpenError> {
    let path = directory.join(event).join("format");
    match fs::read_to_string(&path) {
        Ok(text) => Format::parse(&text).map_err(|source| OpenError::Format { path, source }),
        Err(error) => Err(match error.kind() {
            io::ErrorKind::NotFound => OpenError::NoTracepoint { event, path },
            io::ErrorKind::PermissionDenied => OpenError::TracefsPermission { path },
            _ => OpenError::Io {
                what: format!("read {}", path.display()),
                source: error,
            },
        }),
    }
}

pub(super) fn online_cpus() -> Result<Vec<u32>, OpenError> {
    let failed = |source| OpenError::Io {
        what: format!("read {ONLINE_CPUS}"),
        source,
    };
    let text = fs::read_to_string(ONLINE_CPUS).map_err(failed)?;
    cpu_list(text.trim()).ok_or_else(|| failed(io::Error::other(format!("cannot read `{text}`"))))
}

/// Parses a list such as `0-3,8,10-11`.
fn cpu_list(text: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if last > 65_535 {
            return None;
        }
        cpus.extend(first..=last);
    }
    (!cpus.is_empty()).then_some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_lists() {
        assert_eq!(cpu_list("0"), Some(vec![0]));
        assert_eq!(cpu_list("0-2,8,10-11"), Some(vec![0, 1, 2, 8, 10, 11]));
        assert_eq!(cpu_list(""), None);
        assert_eq!(cpu_list("0-4294967295"), None);
    }

    #[test]
    fn an_unmounted_tracefs_names_the_remedy() {
        let options = Options {
            tracefs: Some(PathBuf::from("/nonexistent")),
            ..Options::default()
        };
        let message = find(&options).unwrap_err().to_string();
        assert!(
            message.contains("mount -t tracefs nodev /sys/kernel/tracing"),
            "{message}"
        );
        assert!(message.contains("/nonexistent"), "{message}");
        assert!(message.contains("nsenter --net"), "{message}");
    }

    #[test]
    fn a_missing_tracepoint_is_named() {
        let error = format(Path::new("/nonexistent/events/tcp"), "tcp_probe").unwrap_err();
        assert!(
            error.to_string().contains("no tracepoint tcp:tcp_probe"),
            "{error}"
        );
    }
}
