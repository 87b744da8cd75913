// SPDX-License-Identifier: Apache-2.0
//! Converts Rust's errors to Python's exceptions, with the same text.

use pyo3::PyErr;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use tidemark_analysis::AnalysisError;
use tidemark_capture::CaptureError;

create_exception!(
    tidemark_buffer,
    RunError,
    PyException,
    "A run or capture that cannot be read: which file, what is wrong, what to do."
);

/// Returns a `ValueError` for a request that the run cannot answer, otherwise a `RunError`.
pub(crate) fn of_analysis(e: AnalysisError) -> PyErr {
    match e {
        AnalysisError::Span(_) | AnalysisError::NotThere(_) => PyValueError::new_err(e.to_string()),
        AnalysisError::TooLong { .. } => {
            PyValueError::new_err(format!("{e} (from_s, to_s of estimates and verdict)"))
        }
        AnalysisError::Locate(_) | AnalysisError::Capture { .. } | AnalysisError::Nothing(_) => {
            RunError::new_err(e.to_string())
        }
    }
}

pub(crate) fn of_capture(e: CaptureError) -> PyErr {
    match e {
        CaptureError::NoTable { .. } | CaptureError::NoColumn { .. } => {
            PyValueError::new_err(e.to_string())
        }
        e => RunError::new_err(e.to_string()),
    }
}
