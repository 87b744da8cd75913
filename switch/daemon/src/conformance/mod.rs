// SPDX-License-Identifier: Apache-2.0
//! `tidemark-switch conformance`: compares the switch with BMv2.
//!
//! A folder contains any of these: `programs/NAME.json` with `NAME.p4info.txtpb` and
//! `frames/NAME.golden.json`, a recording of BMv2 with that program; `must-load/NAME.json`, which
//! BMv2 accepts; `stf/NAME.json` with `NAME.stf`, a packet test of p4c.

mod late;
mod recording;
mod replay;
mod report;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::{program, stf};
use recording::Recording;
use report::{Report, Tally};

/// Replays the folder and prints the result.
///
/// # Errors
/// Nothing to replay, or a difference from BMv2.
pub(crate) fn run(folder: &Path) -> Result<()> {
    let mut report = Report::default();
    for path in files(folder, "frames", "golden.json")? {
        let name = name_of(&path, ".golden.json");
        let program = folder.join("programs").join(format!("{name}.json"));
        let recording = Recording::read(&path)?;
        replay::against(&program, &recording, &name, &mut report);
    }
    for path in files(folder, "must-load", "json")? {
        let loaded = program::load(&path).map(|_| ());
        report.add(Tally::MustLoad, &name_of(&path, ".json"), loaded);
    }
    for path in files(folder, "stf", "stf")? {
        let passed = packet_test(&path);
        report.add(Tally::Stf, &name_of(&path, ".stf"), passed);
    }
    if report.is_empty() {
        bail!(
            "{}: nothing to replay; frames/, must-load/ or stf/ is expected there",
            folder.display()
        );
    }
    report.print()?;
    match report.differences() {
        0 => Ok(()),
        n => bail!("{n} differences from BMv2"),
    }
}

fn packet_test(path: &Path) -> Result<()> {
    let program = path.with_extension("json");
    if program.with_extension("p4info.txtpb").exists() {
        program::load(&program)?;
    }
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("test {}: cannot read", path.display()))?;
    stf::run(program::read(&program)?, &text)
}

/// Lists the files of an optional part, in order.
fn files(folder: &Path, part: &str, extension: &str) -> Result<Vec<PathBuf>> {
    let folder = folder.join(part);
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let unreadable = || format!("{}: cannot read", folder.display());
    let ending = format!(".{extension}");
    let mut out = Vec::new();
    for entry in std::fs::read_dir(&folder).with_context(unreadable)? {
        let path = entry.with_context(unreadable)?.path();
        let name = path.file_name().and_then(|n| n.to_str());
        if name.is_some_and(|n| n.ends_with(&ending)) {
            out.push(path);
        }
    }
    out.sort();
    Ok(out)
}

fn name_of(path: &Path, ending: &str) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.strip_suffix(ending).unwrap_or(&name).to_owned()
}
