// SPDX-License-Identifier: Apache-2.0
//! The Rust part of the Python package `tidemark_buffer`: tables as Arrow streams, and the
//! links of a run as JSON. Its classes and their documentation are Python, in
//! `tidemark_buffer`.

#![warn(missing_docs)]

mod arrow;
mod errors;
mod flows;
mod run;
mod tables;
mod words;

/// Module `tidemark_buffer._native`.
#[pyo3::pymodule(name = "_native")]
mod native {
    #[pymodule_export]
    use super::errors::RunError;
    #[pymodule_export]
    use super::run::NativeRun;
    #[pymodule_export]
    use super::tables::NativeTable;
    #[pymodule_export]
    use super::words::{verdict_picture, verdict_words};
}
