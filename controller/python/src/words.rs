// SPDX-License-Identifier: Apache-2.0
//! A verdict in words and as a picture.

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use tidemark_advice::Verdict;
use tidemark_picture::{About, Figure, Format, Layout, render, theme};

/// Returns the sentences of a verdict: the answer, its reason, the limits that would change it.
#[pyfunction]
pub(crate) fn verdict_words(verdict: &str) -> PyResult<(String, String, Vec<String>)> {
    let verdict = read(verdict)?;
    let headline = verdict.headline();
    Ok((headline, verdict.because, verdict.would_change))
}

/// Renders the picture of a verdict: `format` is svg, png, pdf or txt, `colours` light or dark.
#[pyfunction]
pub(crate) fn verdict_picture(
    py: Python<'_>,
    verdict: &str,
    origin: (String, Option<String>, Option<String>),
    format: &str,
    colours: &str,
) -> PyResult<Vec<u8>> {
    let format = Format::named(format).map_err(PyValueError::new_err)?;
    let theme = theme(colours).map_err(PyValueError::new_err)?;
    let (link, run, date) = origin;
    let about = About { link, run, date };
    let figure = Figure::of(&read(verdict)?, &about)
        .ok_or_else(|| PyValueError::new_err("there is no picture: too little was measured"))?;
    py.detach(|| render(&figure, format, theme, &Layout::PAPER))
        .map_err(|e| PyRuntimeError::new_err(e.to_string()))
}

fn read(verdict: &str) -> PyResult<Verdict> {
    serde_json::from_str(verdict)
        .map_err(|e| PyValueError::new_err(format!("this is not a verdict: {e}")))
}
