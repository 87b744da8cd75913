// SPDX-License-Identifier: Apache-2.0
//! `tidemark-switch pcap`: runs captures through the switch in virtual time.
//!
//! Time 0 of the switch is the first frame of all inputs. Frames of several inputs with the
//! same timestamp arrive in the order of their ports.

pub(crate) mod configured;

use daemon_kit::cli::print;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;

use crate::cli::args::PcapArgs;
use crate::entries;
use crate::program;
use anyhow::{Context, Result, bail};
use tidemark_pcap::{ETHERNET, Frames, Writer};
use traffic_manager::{Switch, Wire};

/// Time after the last frame at which frames that circulate for ever are cut off.
const LONGEST_TAIL_NS: u64 = 60_000_000_000;

/// Writes frames to their files. The first error is kept, as a wire cannot fail.
struct Files {
    folder: PathBuf,
    start_ns: u64,
    open: BTreeMap<u32, Writer<BufWriter<File>>>,
    spare: Vec<Vec<u8>>,
    frames: u64,
    error: Option<anyhow::Error>,
}

impl Files {
    fn write(&mut self, port: u32, frame: &[u8], time_ns: u64) -> Result<()> {
        let file = match self.open.entry(port) {
            std::collections::btree_map::Entry::Occupied(o) => o.into_mut(),
            std::collections::btree_map::Entry::Vacant(v) => {
                let path = self.folder.join(format!("port-{port}.pcap"));
                let file = File::create(&path)
                    .with_context(|| format!("{}: cannot write", path.display()))?;
                v.insert(Writer::new(BufWriter::new(file), ETHERNET)?)
            }
        };
        file.write(self.start_ns + time_ns, frame)?;
        Ok(())
    }
}

impl Wire for Files {
    fn transmit(&mut self, port: u32, frame: Vec<u8>, time_ns: u64) {
        self.frames += 1;
        if self.error.is_none()
            && let Err(e) = self.write(port, &frame, time_ns)
        {
            self.error = Some(e);
        }
        self.spare.push(frame);
    }
}

/// # Errors
/// A bad program, entries or capture, or output that cannot be written.
pub fn run(args: &PcapArgs) -> Result<()> {
    let mut inputs = Vec::new();
    for (port, file) in &args.inputs {
        inputs.push((*port, Frames::open(file).context("capture")?));
    }
    let mut switch = configured(args)?;
    switch.set_priority_queues(args.priority_queues.into());
    for (port, config) in &args.ports {
        switch.configure(*port, *config);
    }
    for aqm in &args.aqm {
        aqm.apply(&mut switch).map_err(anyhow::Error::msg)?;
    }
    std::fs::create_dir_all(&args.out)
        .with_context(|| format!("{}: cannot make the folder", args.out.display()))?;
    let mut files = Files {
        folder: args.out.clone(),
        start_ns: 0,
        open: BTreeMap::new(),
        spare: Vec::new(),
        frames: 0,
        error: None,
    };
    feed(&mut switch, &mut inputs, &mut files)?;
    for (port, file) in files.open {
        file.finish()
            .with_context(|| format!("port-{port}.pcap: cannot write"))?;
    }
    summary(&switch, files.frames)?;
    Ok(())
}

/// Returns the switch with program and entries, at time 0.
fn configured(args: &PcapArgs) -> Result<Switch> {
    let config = program::pipeline_config(&args.program, args.p4info.as_deref())?;
    configured::switch(config, async |server| {
        entries::write(server, None, &args.entries).await
    })
}

/// A port, and the frames that arrive on it.
type Input = (u32, Frames);

/// The next frame of an input.
struct Head {
    time_ns: u64,
    frame: Vec<u8>,
}

/// Merges the inputs by time.
fn feed(switch: &mut Switch, inputs: &mut [Input], files: &mut Files) -> Result<()> {
    let mut heads = Vec::new();
    for (_, frames) in inputs.iter_mut() {
        heads.push(next(frames)?);
    }
    let first = heads.iter().flatten().map(|f| f.time_ns).min();
    let Some(start_ns) = first else {
        return Ok(());
    };
    files.start_ns = start_ns;
    let mut last = 0;
    loop {
        let oldest = heads
            .iter()
            .zip(inputs.iter())
            .enumerate()
            .filter_map(|(i, (h, (port, _)))| Some((h.as_ref()?.time_ns, *port, i)))
            .min();
        let Some((time_ns, port, i)) = oldest else {
            break;
        };
        // If a capture goes back in time, its order is kept.
        last = time_ns.saturating_sub(start_ns).max(last);
        switch.run_until(last, files);
        let (Some(head), Some((_, frames))) = (heads.get_mut(i), inputs.get_mut(i)) else {
            break;
        };
        if let Some(head) = head {
            switch.receive(port, &head.frame, last);
        }
        *head = next(frames)?;
        reuse(switch, files)?;
    }
    while let Some(t) = switch
        .next_event_ns()
        .filter(|t| *t <= last + LONGEST_TAIL_NS)
    {
        switch.run_until(t, files);
        reuse(switch, files)?;
    }
    Ok(())
}

/// Reads the next frame; only whole Ethernet frames, as missing bytes would go unnoticed.
fn next(frames: &mut Frames) -> Result<Option<Head>> {
    let Some(f) = frames.next_frame().context("capture")? else {
        if frames.truncated {
            // Like a capture of a BMv2 that was stopped.
            let path = frames.path().display();
            tracing::warn!("capture {path}: ends within a frame, which is skipped");
        }
        return Ok(None);
    };
    let (link, wire_bytes) = (f.link, f.wire_bytes as usize);
    let head = Head {
        time_ns: f.time_ns,
        frame: f.data.to_vec(),
    };
    let path = frames.path().display();
    if link != ETHERNET {
        bail!("capture {path}: link type {link} is not Ethernet ({ETHERNET})");
    }
    let kept = head.frame.len();
    if kept < wire_bytes {
        bail!(
            "capture {path}: holds only {kept} of a frame's {wire_bytes} bytes: capture without a snap length"
        );
    }
    Ok(Some(head))
}

fn reuse(switch: &mut Switch, files: &mut Files) -> Result<()> {
    while let Some(f) = files.spare.pop() {
        switch.reuse(f);
    }
    files.error.take().map_or(Ok(()), Err)
}

fn summary(switch: &Switch, sent: u64) -> Result<()> {
    let s = switch.stats();
    print(format_args!(
        "{} frames in, {sent} out; dropped: {} in ingress, {} in egress; {} clones",
        s.received, s.dropped_ingress, s.dropped_egress, s.clones
    ))?;
    for (n, p) in switch.ports() {
        print(format_args!(
            "port {n}: {} frames, {} bytes sent; {} refused by the queue",
            p.tx_packets, p.tx_bytes, p.tail_dropped_packets
        ))?;
        if let Some(aqm) = p.aqm_counts() {
            print(format_args!(
                "port {n}: {} frames dropped and {} marked by queue management",
                aqm.dropped_packets, aqm.marked_packets
            ))?;
        }
    }
    Ok(())
}
