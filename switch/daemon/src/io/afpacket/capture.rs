// SPDX-License-Identifier: Apache-2.0
//! Copies an interface's frames to files, like BMv2's `--pcap`.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use tidemark_pcap::Writer;

const ETHERNET: u32 = 1;

/// Two capture files, one for each direction.
pub(super) struct Capture {
    files: [Writer<BufWriter<File>>; 2],
    dirty: bool,
    failed: bool,
}

#[derive(Clone, Copy)]
pub(super) enum Direction {
    In,
    Out,
}

impl Capture {
    /// Creates `NAME_in.pcap` and `NAME_out.pcap` in `folder`.
    pub(super) fn new(folder: &Path, name: &str) -> Result<Self> {
        let make = |direction: &str| {
            let path = folder.join(format!("{name}_{direction}.pcap"));
            let file = File::create(&path);
            let file = file.with_context(|| format!("--pcap: {}", path.display()))?;
            let mut writer = Writer::new(BufWriter::new(file), ETHERNET)?;
            writer.flush()?;
            Ok::<_, anyhow::Error>(writer)
        };
        Ok(Self {
            files: [make("in")?, make("out")?],
            dirty: false,
            failed: false,
        })
    }

    pub(super) fn add(&mut self, direction: Direction, frame: &[u8]) {
        if self.failed {
            return;
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let ns = now.map_or(0, |d| u64::try_from(d.as_nanos()).unwrap_or(0));
        let [input, output] = &mut self.files;
        let file = match direction {
            Direction::In => input,
            Direction::Out => output,
        };
        let written = file.write(ns, frame);
        self.dirty = true;
        self.check(written);
    }

    /// Flushes after frames, so that readers of the file see whole frames.
    pub(super) fn flush(&mut self) {
        if std::mem::take(&mut self.dirty) {
            let flushed = self.files.iter_mut().try_for_each(Writer::flush);
            self.check(flushed);
        }
    }

    fn check(&mut self, result: io::Result<()>) {
        if let Err(e) = result
            && !std::mem::replace(&mut self.failed, true)
        {
            tracing::warn!("a capture ends here, but the switch continues: {e}");
        }
    }
}
