// SPDX-License-Identifier: Apache-2.0
//! `tidemark-collector export`: a table of a capture as text.

use anyhow::{Context, Result};
use clap::{ArgGroup, Args};
use daemon_kit::cli::{Progress, Usage, stdout};
use std::io::{BufWriter, IsTerminal as _, Write};
use std::path::{Path, PathBuf};
use tidemark_capture::{
    CaptureError, CaptureMeta, Export, Integrity, Moment, Selection, TextFormat, export, locate,
};

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("format").required(true)))]
pub(crate) struct ExportArgs {
    /// Directory of a run, or of its capture.
    #[arg(value_name = "RUN")]
    capture: PathBuf,
    /// Write comma-separated values with a header line.
    #[arg(long, group = "format")]
    csv: bool,
    /// Write one JSON object per line.
    #[arg(long, group = "format")]
    jsonl: bool,
    /// Table to write.
    #[arg(long, default_value = "postcards", value_parser = tidemark_capture::TABLES)]
    table: String,
    /// Start, in seconds after the first packet of the row's node in the capture.
    #[arg(long, conflicts_with = "from_ns")]
    from_s: Option<f64>,
    /// End, in seconds after the first packet of the row's node in the capture.
    #[arg(long, conflicts_with = "to_ns")]
    to_s: Option<f64>,
    /// Start on the switch's clock, in ns, as phases give it.
    #[arg(long)]
    from_ns: Option<u64>,
    /// End on the switch's clock, in ns.
    #[arg(long)]
    to_ns: Option<u64>,
    /// Write only this flow, by its number in column `flow_id`; table `events` describes each flow.
    #[arg(long, value_name = "ID")]
    flow: Option<u64>,
    /// File to write; default: standard output.
    #[arg(long)]
    out: Option<PathBuf>,
}

impl ExportArgs {
    fn selection(&self) -> Result<Selection, Usage> {
        let times = [("--from-s", self.from_s), ("--to-s", self.to_s)];
        for (name, s) in times.into_iter().filter_map(|(n, s)| Some((n, s?))) {
            let sense = s >= 0.0 && s.is_finite();
            Usage::unless(sense, format!("{name}: must be a time of at least 0 s"))?;
        }
        let moment = |s: Option<f64>, ns: Option<u64>| {
            let ns = ns.map(Moment::Nanoseconds);
            s.map(Moment::Seconds).or(ns)
        };
        Ok(Selection {
            from: moment(self.from_s, self.from_ns),
            to: moment(self.to_s, self.to_ns),
            flow_id: self.flow,
        })
    }
}

pub(crate) fn run(args: &ExportArgs) -> Result<()> {
    let selection = args.selection()?;
    let format = if args.csv {
        TextFormat::Csv
    } else {
        TextFormat::Jsonl
    };
    let what = Export {
        table: &args.table,
        format,
        selection,
    };
    // Before creating the output file, in case there is no capture.
    let capture = locate(&args.capture)?;
    tell_notes(&capture)?;
    let result = match &args.out {
        Some(path) => {
            let file = std::fs::File::create(path)
                .with_context(|| format!("cannot write {}", path.display()))?;
            write(args, &capture, &what, BufWriter::new(file))
        }
        None => write(args, &capture, &what, BufWriter::new(stdout())),
    };
    let rows = result?;
    if args.out.is_some() {
        eprintln!("{rows} rows");
    }
    Ok(())
}

/// Prints to standard error which files cannot be checked, and which are not read.
pub(crate) fn tell_notes(capture: &Path) -> Result<()> {
    let is_closed = CaptureMeta::read(capture)?.ended_unix_ns.is_some();
    for note in Integrity::of(capture)?.notes(is_closed) {
        eprintln!("note: {note}");
    }
    Ok(())
}

fn write(
    args: &ExportArgs,
    capture: &Path,
    what: &Export<'_>,
    mut out: impl Write,
) -> Result<u64, CaptureError> {
    // Rows printed to a terminal show the progress themselves.
    let wanted = args.out.is_some() || !std::io::stdout().is_terminal();
    let mut progress = Progress::new("rows", wanted);
    let mut seen = 0;
    let rows = export(capture, what, &mut out, |rows, there| {
        seen = rows;
        progress.tick(rows, Some(rows as f64 / there.max(1) as f64));
    })?;
    progress.end(seen);
    Ok(rows)
}
