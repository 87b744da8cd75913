// SPDX-License-Identifier: Apache-2.0
//! Reasons why a run gives no estimates.

use std::path::PathBuf;
use tidemark_capture::CaptureError;

/// Why a run cannot be analysed.
#[derive(Debug, thiserror::Error)]
pub enum AnalysisError {
    /// No capture is there, or several.
    #[error(transparent)]
    Locate(#[from] CaptureError),
    /// The capture cannot be read.
    #[error("{path}: {error}")]
    Capture {
        /// Directory of the capture.
        path: PathBuf,
        /// Its fault, in words.
        error: CaptureError,
    },
    /// The span that was asked for is not there, or makes no sense.
    #[error("{0}")]
    Span(String),
    /// The capture is longer than what is held at once.
    #[error("{path}: about {times:.0} times as many records of flows as fit; ask for a span")]
    TooLong {
        /// Directory of the capture.
        path: PathBuf,
        /// Its records over those that fit.
        times: f64,
    },
    /// The capture has no records of any link.
    #[error("nothing was read: {0}: no link has a row in the capture")]
    Nothing(PathBuf),
    /// The link or phase that was asked for is not there.
    #[error("{0}")]
    NotThere(String),
}

impl AnalysisError {
    pub(crate) fn capture(path: impl Into<PathBuf>) -> impl FnOnce(CaptureError) -> Self {
        let path = path.into();
        move |error| Self::Capture { path, error }
    }
}
