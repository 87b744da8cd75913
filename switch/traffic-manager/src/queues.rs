// SPDX-License-Identifier: Apache-2.0
//! Ports, due events and time: state that outlives a change of program.

use crate::events::{Event, Events};
use crate::line::Line;
use crate::port::Ports;
use crate::stats::Stats;
use crate::wire::Wire;

/// Output buffers kept for reuse.
const POOL: usize = 8192;
/// Buffers of super-frames kept for reuse, of up to 64 KiB each.
const LINE_POOL: usize = 64;

/// Function that finishes the frame of a clone as it leaves its queue.
pub type FinishClone = Box<dyn FnMut(&mut Vec<u8>) + Send>;

#[derive(Default)]
pub(crate) struct Queues {
    pub ports: Ports,
    pub events: Events,
    pub free_frames: Vec<Vec<u8>>,
    /// Buffers of super-frames, for reuse.
    pub free_lines: Vec<Vec<u8>>,
    /// Frame from an input line while no program is loaded.
    pub scratch: Vec<u8>,
    /// Rate assumed for lines that have none of their own.
    pub usual_line_bps: u64,
    pub now_ns: u64,
    pub stats: Stats,
    /// Finishes the frames of clones, which are reports.
    pub finish_clone: Option<FinishClone>,
}

impl Queues {
    pub(crate) fn schedule(&mut self, time_ns: u64, event: Event) {
        self.events.schedule(time_ns, self.now_ns, event);
    }

    /// Transmits the first frame of a port, whose propagation delay has passed.
    pub(crate) fn arrive(&mut self, number: u32, t: u64, wire: &mut dyn Wire) {
        let Some(port) = self.ports.get_mut(number) else {
            return;
        };
        if let Some((_, frame)) = port.flying.pop_front() {
            port.tx_packets += 1;
            port.tx_bytes += frame.len() as u64;
            wire.transmit(number, frame, t);
            wire.give_back(&mut self.free_frames);
            self.free_frames.truncate(POOL);
        }
    }

    /// Returns the input line of a port, and its own rate.
    #[inline]
    pub(crate) fn line(&mut self, port: u32) -> Option<(&mut Line, Option<u64>)> {
        let p = self.ports.get_mut(port)?;
        Some((&mut p.line, p.config.in_rate_bps))
    }

    /// Takes the next frame that waits on a line; returns `false` if none waits.
    pub(crate) fn next_from_line(&mut self, port: u32, out: &mut Vec<u8>, t: u64) -> bool {
        let Some(p) = self.ports.get_mut(port) else {
            return false;
        };
        let rate = p.config.in_rate_bps.unwrap_or(self.usual_line_bps);
        let is_one = p.line.next_into(out, &mut self.free_lines, rate, t);
        self.free_lines.truncate(LINE_POOL);
        is_one
    }

    /// Schedules the next frame of a line after one has entered.
    pub(crate) fn next_on_line(&mut self, port: u32, t: u64) {
        let next = self.line(port).and_then(|(l, _)| l.next_event(t));
        if let Some(at) = next {
            self.schedule(at, Event::Receive(port));
        }
    }

    pub(crate) fn reuse(&mut self, frame: Vec<u8>) {
        if self.free_frames.len() < POOL {
            self.free_frames.push(frame);
        }
    }
}
