// SPDX-License-Identifier: Apache-2.0
//! Reads programs and their P4Info from files.

use std::path::Path;

use anyhow::{Context, Result};
use p4_ir::Program;
use tidemark_proto::p4::v1::ForwardingPipelineConfig;

use crate::offline::configured;

/// Reads p4c's JSON.
///
/// # Errors
/// The file cannot be read, or the program cannot be loaded.
pub(crate) fn read(path: &Path) -> Result<Program> {
    let bytes =
        std::fs::read(path).with_context(|| format!("program {}: cannot read", path.display()))?;
    p4_ir::load(&bytes).with_context(|| format!("program {}", path.display()))
}

/// Loads a program as a P4Runtime client would, with the P4Info found next to it.
///
/// # Errors
/// A file cannot be read, or the program or P4Info is refused.
pub(crate) fn load(path: &Path) -> Result<()> {
    configured::switch(pipeline_config(path, None)?, async |_| Ok(())).map(|_| ())
}

/// Reads program and P4Info in P4Runtime's form. The P4Info is `given`, or found next to the
/// program; it may be missing.
///
/// # Errors
/// A file cannot be read or has the wrong format.
pub(crate) fn pipeline_config(
    program: &Path,
    given: Option<&Path>,
) -> Result<ForwardingPipelineConfig> {
    let next_to_it = program.with_extension("p4info.txtpb");
    let path = match given {
        Some(p) => Some(p),
        None => next_to_it.exists().then_some(next_to_it.as_path()),
    };
    let read = |p: &Path| std::fs::read(p).with_context(|| format!("{}: cannot read", p.display()));
    let info = path.map(|p| {
        let info = tidemark_proto::p4info::parse(&read(p)?);
        info.with_context(|| format!("P4Info {}", p.display()))
    });
    Ok(ForwardingPipelineConfig {
        p4info: info.transpose()?,
        p4_device_config: read(program)?,
        cookie: None,
    })
}
