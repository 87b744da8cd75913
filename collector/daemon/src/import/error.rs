// SPDX-License-Identifier: Apache-2.0
//! Why an import fails.

use crate::config::ConfigError;
use std::path::PathBuf;
use thiserror::Error;
use tidemark_capture::CaptureError;
use tidemark_pcap::PcapError;

/// Why an import fails.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the message of each variant says what it is")]
pub enum ImportError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("{path}: {source}")]
    Value {
        path: PathBuf,
        source: tidemark_pipeline::ConfigError,
    },
    #[error(transparent)]
    Pcap(#[from] PcapError),
    #[error("{path}: {source}")]
    Trace {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error(transparent)]
    Capture(#[from] CaptureError),
}
