// SPDX-License-Identifier: Apache-2.0
//! A verdict in words.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tidemark_advice::Verdict;

/// The sentences of a verdict: the answer, its reason, the limits that would change it.
#[pyfunction]
pub(crate) fn verdict_words(verdict: &str) -> PyResult<(String, String, Vec<String>)> {
    let verdict: Verdict = serde_json::from_str(verdict)
        .map_err(|e| PyValueError::new_err(format!("this is no verdict: {e}")))?;
    let headline = verdict.headline();
    Ok((headline, verdict.because, verdict.would_change))
}
