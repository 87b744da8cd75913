// SPDX-License-Identifier: Apache-2.0
//! The agent without a collector: writes a text trace that `import --tcp-probe` reads.

use anyhow::{Context, Result};
use daemon_kit::notify::Stop;
use serde::Serialize;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tcp_probe::perf::{Options, PerfReader};
use tcp_probe::text::Line;

/// Counters of an agent that writes a file.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct FileReport {
    /// Events read from the kernel.
    pub events: u64,
    /// Events lost in this kernel's rings; the file notes them.
    pub ring_lost: u64,
    /// Lines written.
    pub written: u64,
}

/// Reads the tracepoints into a new file until it is told to end.
///
/// # Errors
/// The file exists or cannot be written, or the tracepoints cannot be opened.
pub(super) fn run(out: &Path, user: Option<&str>, probe: &Options) -> Result<FileReport> {
    let shown = format!("--out {}", out.display());
    let reader = PerfReader::open(probe).context("tcp_probe")?;
    let given_up = daemon_kit::privileges::give_up("--user", user)?;
    tracing::info!("goes on {given_up}");
    // Never overwrites an earlier trace.
    let file = File::create_new(out).with_context(|| shown.clone())?;
    let stop = Arc::new(AtomicBool::new(false));
    let reading = {
        let stop = stop.clone();
        std::thread::Builder::new()
            .name("tcp_probe".into())
            .spawn(move || write(reader, &stop, BufWriter::with_capacity(1 << 20, file)))
            .context("cannot start a thread")?
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    runtime.block_on(async {
        let mut asked = Stop::listen()?;
        eprintln!("ready: tcp_probe of this host to {}", out.display());
        // A full disk also ends the reader.
        let mut look = tokio::time::interval(std::time::Duration::from_millis(100));
        loop {
            tokio::select! {
                _ = asked.asked() => break,
                _ = look.tick() => if reading.is_finished() { break },
            }
        }
        Ok::<_, anyhow::Error>(())
    })?;
    stop.store(true, Ordering::Relaxed);
    let joined = reading.join();
    joined
        .map_err(|_| anyhow::anyhow!("the reader's thread panicked"))?
        .context(shown)
}

fn write(
    reader: PerfReader,
    stop: &AtomicBool,
    mut out: BufWriter<File>,
) -> std::io::Result<FileReport> {
    let mut report = FileReport::default();
    let mut result: std::io::Result<()> = Ok(());
    crate::probe::read(reader, stop, |events, counts, last| {
        report.events += events.len() as u64;
        result = (|| {
            let lost = counts.lost.saturating_sub(report.ring_lost);
            report.ring_lost = counts.lost;
            if lost > 0 {
                writeln!(out, "CPU:0 [LOST {lost} EVENTS]")?;
            }
            for event in &events {
                writeln!(out, "{}", Line(event))?;
                report.written += 1;
            }
            if last || !events.is_empty() {
                out.flush()?;
            }
            Ok(())
        })();
        result.is_ok()
    });
    result?;
    out.into_inner()?.sync_all()?;
    Ok(report)
}
