// SPDX-License-Identifier: Apache-2.0
//! Upper bound of the switch's sockets alone: sends every frame from one interface to another,
//! without program or queue, with super-frames cut and merged as the switch does, plus a frame of
//! `REPORT_BYTES` to a third for each. `repeater IN OUT REPORTS REPORT_BYTES SECONDS`; prints
//! `ready`, then the number of packets received. No program makes the switch faster than this.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use tidemark_switch::io::afpacket::{Arrived, Interface};
use traffic_manager::super_frame::{Cutter, Gso, VnetHeader};

/// Frames between two checks of the clock.
const BATCH: usize = 256;
const WAIT_MS: u16 = 10;
/// Length of a report's Ethernet, IPv4 and UDP headers.
const HEADER_BYTES: usize = 42;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let [_, from, to, reports, bytes, seconds] = args.as_slice() else {
        bail!("usage: repeater IN OUT REPORTS REPORT_BYTES SECONDS");
    };
    let mut from = Interface::open(from)?;
    let mut to = Interface::open(to)?;
    let mut reports = Interface::open(reports)?;
    let report = report(bytes.parse().context("REPORT_BYTES")?)?;
    let seconds: f64 = seconds.parse().context("SECONDS")?;
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    let (mut count, mut buffer) = (0u64, Vec::new());
    println!("ready");
    while Instant::now() < end {
        if from.peek().is_none() {
            poll(
                &mut [PollFd::new(from.fd(), PollFlags::POLLIN)],
                PollTimeout::from(WAIT_MS),
            )?;
        }
        for _ in 0..BATCH {
            if from.peek().is_none() {
                break;
            }
            from.take(|arrived| match arrived {
                Arrived::Frame(f) => {
                    let mut out = to.spare.pop().unwrap_or_default();
                    out.clear();
                    out.extend_from_slice(f);
                    to.send(out);
                    count += 1;
                    send_report(&mut reports, &report);
                }
                Arrived::SuperFrame(mut cutter) => {
                    let mut out = to.spare.pop().unwrap_or_default();
                    while cutter.next_into(&mut out) {
                        to.send(out);
                        count += 1;
                        send_report(&mut reports, &report);
                        out = to.spare.pop().unwrap_or_default();
                    }
                    to.spare.push(out);
                    buffer = cutter.into_buffer();
                }
            });
            if from.buffer.capacity() == 0 {
                from.buffer = std::mem::take(&mut buffer);
            }
        }
        to.flush();
        reports.flush();
    }
    println!("{count}");
    Ok(())
}

fn send_report(reports: &mut Interface, report: &[u8]) {
    let mut out = reports.spare.pop().unwrap_or_default();
    out.clear();
    out.extend_from_slice(report);
    reports.send(out);
}

/// Makes a UDP datagram with correct checksums; those of one flow leave as one super-frame.
fn report(bytes: usize) -> Result<Vec<u8>> {
    let Some(payload_bytes) = bytes.checked_sub(HEADER_BYTES).filter(|&n| n > 0) else {
        bail!("REPORT_BYTES: above {HEADER_BYTES}");
    };
    let mut f = vec![2u8; 12];
    f.extend([8, 0, 0x45, 0]);
    f.extend(((bytes - 14) as u16).to_be_bytes());
    f.extend([0, 0, 0x40, 0, 64, 17, 0, 0, 10, 9, 0, 1, 10, 9, 0, 2]);
    f.extend([0x80, 1, 0x7f, 0xfe]);
    f.extend(((bytes - 34) as u16).to_be_bytes());
    f.extend([0, 0]);
    f.resize(bytes, 0);
    let vnet = VnetHeader {
        needs_checksum: true,
        gso: Gso::Udp,
        ecn: false,
        header_bytes: HEADER_BYTES as u16,
        segment_bytes: payload_bytes as u16,
        checksum_start: 34,
        checksum_offset: 6,
    };
    let mut out = Vec::new();
    let mut cutter = Cutter::new(f, &vnet, bytes).map_err(|(why, _)| anyhow!("report: {why}"))?;
    cutter.next_into(&mut out);
    Ok(out)
}
