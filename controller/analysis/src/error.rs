// SPDX-License-Identifier: Apache-2.0
//! Reasons why a run yields no estimates.

use std::path::PathBuf;
use tidemark_capture::CaptureError;

/// Why a run cannot be analysed.
#[derive(Debug, thiserror::Error)]
pub enum AnalysisError {
    /// There is no capture, or there are several.
    #[error(transparent)]
    Locate(#[from] CaptureError),
    /// The capture cannot be read.
    #[error("{path}: {error}")]
    Capture {
        /// Directory of the capture.
        path: PathBuf,
        /// The problem, in words.
        error: CaptureError,
    },
    /// The requested span is not in the capture, or is invalid.
    #[error("{0}")]
    Span(String),
    /// The capture is longer than what fits in memory.
    #[error("{path}: about {times:.0} times as many flow records as fit; ask for a span")]
    TooLong {
        /// Directory of the capture.
        path: PathBuf,
        /// Number of its records over the number that fits.
        times: f64,
    },
    /// The capture has no records of any link.
    #[error("nothing was read: {0}: no link has a row in the capture")]
    Nothing(PathBuf),
    /// The requested link or phase does not exist.
    #[error("{0}")]
    NotThere(String),
}

impl AnalysisError {
    pub(crate) fn capture(path: impl Into<PathBuf>) -> impl FnOnce(CaptureError) -> Self {
        let path = path.into();
        move |error| Self::Capture { path, error }
    }
}
