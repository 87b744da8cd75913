// SPDX-License-Identifier: Apache-2.0
//! `tidemark-collector export`: a table of a capture as text.

use anyhow::{Context, Result};
use clap::{ArgGroup, Args};
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use tidemark_capture::{CaptureError, TextFormat, export};

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("format").required(true)))]
pub(crate) struct ExportArgs {
    /// Directory of the capture.
    capture: PathBuf,
    /// Comma-separated values with a line of names.
    #[arg(long, group = "format")]
    csv: bool,
    /// A JSON object per line.
    #[arg(long, group = "format")]
    jsonl: bool,
    /// Which table.
    #[arg(long, default_value = "postcards", value_parser = tidemark_capture::export::TABLES)]
    table: String,
    /// File to write; default standard output.
    #[arg(long)]
    out: Option<PathBuf>,
}

/// # Errors
/// When the capture cannot be read or the output not be written.
pub(crate) fn run(args: &ExportArgs) -> Result<()> {
    let format = if args.csv {
        TextFormat::Csv
    } else {
        TextFormat::Jsonl
    };
    let result = match &args.out {
        Some(path) => {
            let file = std::fs::File::create(path)
                .with_context(|| format!("cannot write {}", path.display()))?;
            write(args, format, BufWriter::new(file))
        }
        None => write(args, format, BufWriter::new(std::io::stdout().lock())),
    };
    match result {
        Ok(rows) => {
            if args.out.is_some() {
                eprintln!("{rows} rows");
            }
            Ok(())
        }
        // `export | head` has what it wanted.
        Err(CaptureError::Io { source, .. }) if source.kind() == std::io::ErrorKind::BrokenPipe => {
            Ok(())
        }
        Err(e) => Err(e.into()),
    }
}

fn write(args: &ExportArgs, format: TextFormat, mut out: impl Write) -> Result<u64, CaptureError> {
    export(&args.capture, &args.table, format, &mut out)
}
