// SPDX-License-Identifier: Apache-2.0
//! Replays a recording: the writes through P4Runtime, the frames one after the other through
//! the data plane in virtual time.
//!
//! If a program uses `random()` or the time, no two switches send the same frames. So a recording
//! that differs is replayed with other random numbers at other times: bytes that change between
//! replays are not compared with BMv2's, all others are.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::path::Path;

use anyhow::{Result, anyhow, bail};
use p4runtime_server::Server;
use traffic_manager::Switch;

use super::late::Late;
use super::recording::{Recording, Sent, Step};
use super::report::{Report, Tally};
use crate::offline::configured;
use crate::{program, stf};

/// Logical time between two frames.
const STEP_NS: u64 = 20_000_000;
/// Ports on which BMv2 had interfaces.
const PORTS: RangeInclusive<u32> = 0..=7;
/// An interface sends nothing shorter than an Ethernet header.
const SHORTEST_BYTES: usize = 14;
/// Number of replays that show what depends on chance or time.
const REPLAYS: u64 = 16;

pub(super) fn against(program: &Path, r: &Recording, name: &str, report: &mut Report) {
    let first = match replay(program, r, 0) {
        Ok((writes, sent)) => {
            report.add(Tally::Program, name, Ok(()));
            report.writes(&writes);
            sent
        }
        Err(e) => return report.add(Tally::Program, name, Err(e)),
    };
    let mut others = Vec::new();
    if r.steps.iter().zip(&first).any(|(s, sent)| s.sent != *sent) {
        let more = (1..=REPLAYS).filter_map(|n| replay(program, r, n).ok());
        others.extend(more.map(|(_, sent)| sent));
    }
    let late = Late::find(&r.steps, &first);
    for (n, (step, sent)) in r.steps.iter().zip(&first).enumerate() {
        let what = || format!("{name}, frame {n} (port {})", step.port);
        if step.sent == *sent {
            report.add(Tally::Frame, name, Ok(()));
            continue;
        }
        if late.explains(n) {
            report.late(&what());
            continue;
        }
        let replays = others.iter().filter_map(|o| o.get(n)).chain([sent]);
        let replays: BTreeSet<&Sent> = replays.collect();
        match replays.len() {
            1 => report.add(Tally::Frame, &what(), Err(difference(step, sent))),
            _ => report.varies(&what(), held_against(step, &replays)),
        }
    }
}

/// Whether each write was accepted, and the frames sent after each step.
type Replay = (Vec<bool>, Vec<Sent>);

/// Runs one replay; `n` selects the random numbers and the time.
fn replay(program: &Path, r: &Recording, n: u64) -> Result<Replay> {
    let config = program::pipeline_config(program, None)?;
    if config.p4info.is_none() {
        bail!("{}: has no NAME.p4info.txtpb", program.display());
    }
    let mut writes = Vec::new();
    let mut switch = configured::switch(config, async |server: &Server| {
        for update in &r.writes {
            let written = server.write(std::slice::from_ref(update)).await;
            writes.push(written.is_ok());
        }
        Ok(())
    })?;
    if let Some(l) = switch.loaded_mut() {
        l.engine.seed(n);
    }
    let start_ns = STEP_NS + n * 1_234_567_891_000;
    Ok((writes, frames(&mut switch, &r.steps, start_ns)))
}

fn frames(switch: &mut Switch, steps: &[Step], start_ns: u64) -> Vec<Sent> {
    let mut at = start_ns;
    let one = |s: &Step| {
        let mut wire = stf::Sent::default();
        for f in &s.frames {
            switch.run_until(at, &mut wire);
            switch.receive(s.port, f, at);
            at += STEP_NS;
            switch.run_until(at, &mut wire);
        }
        on_interfaces(wire.0)
    };
    steps.iter().map(one).collect()
}

/// Removes frames that BMv2's interfaces did not send.
fn on_interfaces(mut sent: Sent) -> Sent {
    sent.retain(|port, frames| {
        frames.retain(|f| f.len() >= SHORTEST_BYTES);
        PORTS.contains(port) && !frames.is_empty()
    });
    sent
}

/// Compares BMv2's frames with those of the replays, in all bytes that the replays have in common.
fn held_against(step: &Step, replays: &BTreeSet<&Sent>) -> Result<()> {
    let alike: Vec<&&Sent> = replays
        .iter()
        .filter(|s| shape(s) == shape(&step.sent))
        .collect();
    let Some((first, rest)) = alike.split_first() else {
        // Chance decides which frames are sent at all, and BMv2's choice was another.
        return Ok(());
    };
    for (port, frames) in &step.sent {
        for (f, frame) in frames.iter().enumerate() {
            for (i, want) in frame.iter().enumerate() {
                let byte = |s: &Sent| s.get(port)?.get(f)?.get(i).copied();
                let have = byte(first);
                if have != Some(*want) && rest.iter().all(|s| byte(s) == have) {
                    return Err(difference(step, first));
                }
            }
        }
    }
    Ok(())
}

/// Returns the length of every frame by port.
fn shape(s: &Sent) -> Vec<(u32, Vec<usize>)> {
    let lengths = |frames: &Vec<Vec<u8>>| frames.iter().map(Vec::len).collect();
    s.iter().map(|(p, frames)| (*p, lengths(frames))).collect()
}

/// Describes the first port that differs, with the bytes.
fn difference(step: &Step, sent: &Sent) -> anyhow::Error {
    let ports: BTreeSet<&u32> = step.sent.keys().chain(sent.keys()).collect();
    let port = ports.into_iter().find(|p| step.sent.get(p) != sent.get(p));
    let Some(port) = port else {
        return anyhow!("internal error: no port differs");
    };
    let show = |s: &Sent| match s.get(port) {
        None => "nothing".to_owned(),
        Some(frames) => frames.iter().map(|f| hex(f)).collect::<Vec<_>>().join(" "),
    };
    anyhow!(
        "port {port}: BMv2 sent {}, this switch {}",
        show(&step.sent),
        show(sent)
    )
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut out, b| {
        let _ = write!(out, "{b:02x}");
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(frames: &[&[u8]]) -> Sent {
        [(1, frames.iter().map(|f| f.to_vec()).collect())].into()
    }

    #[test]
    fn bytes_that_change_are_not_compared_and_others_are() {
        let step = |frame: &[u8]| Step {
            port: 0,
            frames: Vec::new(),
            sent: sent(&[frame]),
        };
        let (a, b) = (sent(&[&[1, 2, 3]]), sent(&[&[1, 9, 3]]));
        let replays: BTreeSet<&Sent> = [&a, &b].into();
        assert!(held_against(&step(&[1, 7, 3]), &replays).is_ok());
        let e = held_against(&step(&[1, 7, 4]), &replays).unwrap_err();
        assert_eq!(
            e.to_string(),
            "port 1: BMv2 sent 010704, this switch 010203"
        );
        // Another length: none of the replays sent that.
        assert!(held_against(&step(&[1, 7]), &replays).is_ok());
    }
}
