// SPDX-License-Identifier: Apache-2.0
//! Sends many frames with one system call, and many frames of one flow as one super-frame.

use std::io;
use std::mem::zeroed;
use std::ops::Range;
use std::os::fd::AsRawFd;

use traffic_manager::super_frame::{Run, Transport, VnetHeader};

use super::Interface;
use super::capture::Direction;

/// Frames per `sendmmsg`.
const TX_BATCH: usize = 64;

/// One message of the batch: a frame or a super-frame.
struct Planned {
    /// Range of the staged frames that it sends.
    frames: Range<usize>,
    vnet: [u8; VnetHeader::BYTES],
    merged: Option<Merged>,
}

/// A super-frame of the batch.
#[derive(Clone, Copy)]
struct Merged {
    /// Index into the headers.
    header: usize,
    /// Offset of the payload in each of its frames.
    payload_at: usize,
    transport: Transport,
}

impl Planned {
    fn single(at: usize) -> Self {
        Self {
            frames: at..at + 1,
            vnet: VnetHeader::NONE.write(),
            merged: None,
        }
    }
}

impl Interface {
    /// Stages a frame for [`Self::flush`].
    pub fn send(&mut self, frame: Vec<u8>) {
        if let Some(c) = &mut self.capture {
            c.add(Direction::Out, &frame);
        }
        self.staged.push(frame);
        if self.staged.len() >= TX_BATCH {
            self.flush();
        }
    }

    /// Sends the staged frames.
    pub fn flush(&mut self) {
        if let Some(c) = &mut self.capture {
            c.flush();
        }
        if self.staged.is_empty() {
            return;
        }
        let plan = self.plan();
        self.send_planned(&plan);
        self.spare.append(&mut self.staged);
    }

    /// Decides which staged frames are sent together.
    fn plan(&mut self) -> Vec<Planned> {
        let mut plan = Vec::with_capacity(self.staged.len());
        let mut headers = 0;
        let mut at = 0;
        while let Some(first) = self.staged.get(at) {
            let next = self.staged.get(at + 1).filter(|_| self.merge);
            let start = next.and_then(|next| {
                // A frame is examined closely only if the next belongs to its flow.
                let mut run = same_flow(first, next).then(|| Run::start(first))??;
                if !self.takes[run.transport() as usize] {
                    return None;
                }
                run.push(first, next).map(|_| run)
            });
            let Some(mut run) = start else {
                plan.push(Planned::single(at));
                at += 1;
                continue;
            };
            let mut end = at + 2;
            while let Some(f) = self.staged.get(end)
                && run.push(first, f).is_some()
            {
                end += 1;
            }
            if headers == self.headers.len() {
                self.headers.push(Vec::new());
            }
            let vnet = match self.headers.get_mut(headers) {
                Some(h) => run.header(first, h),
                None => VnetHeader::NONE,
            };
            plan.push(Planned {
                frames: at..end,
                vnet: vnet.write(),
                merged: Some(Merged {
                    header: headers,
                    payload_at: run.payload_at(),
                    transport: run.transport(),
                }),
            });
            headers += 1;
            at = end;
        }
        plan
    }

    fn send_planned(&mut self, plan: &[Planned]) {
        // The parts must not move once messages point to them.
        let parts_of = |p: &Planned| p.frames.len() + 2;
        let mut parts: Vec<libc::iovec> = Vec::with_capacity(plan.iter().map(parts_of).sum());
        let mut messages: Vec<libc::mmsghdr> = Vec::with_capacity(plan.len());
        for p in plan {
            let from = parts.len();
            parts.push(part(&p.vnet));
            let payload_at = p.merged.map_or(0, |m| {
                parts.extend(self.headers.get(m.header).map(|h| part(h)));
                m.payload_at
            });
            let frames = self.staged.get(p.frames.clone()).unwrap_or_default();
            parts.extend(frames.iter().filter_map(|f| f.get(payload_at..)).map(part));
            // SAFETY: all zero is a valid mmsghdr.
            let mut m: libc::mmsghdr = unsafe { zeroed() };
            m.msg_hdr.msg_iovlen = parts.len() - from;
            // SAFETY: `from` is within the reserved memory.
            m.msg_hdr.msg_iov = unsafe { parts.as_mut_ptr().add(from) };
            messages.push(m);
        }
        let mut done = 0;
        while let Some(rest) = messages.get_mut(done..).filter(|r| !r.is_empty()) {
            // SAFETY: the messages point into parts, and these into the plan, the
            // headers and the staged frames, which all outlive the call.
            let sent = unsafe {
                libc::sendmmsg(
                    self.fd.as_raw_fd(),
                    rest.as_mut_ptr(),
                    rest.len() as u32,
                    libc::MSG_DONTWAIT,
                )
            };
            if let Ok(sent @ 1..) = usize::try_from(sent) {
                for p in plan.get(done..done + sent).unwrap_or_default() {
                    self.count_sent(p);
                }
                done += sent;
                continue;
            }
            let e = io::Error::last_os_error();
            if e.kind() == io::ErrorKind::Interrupted {
                continue;
            }
            if let Some(p) = plan.get(done) {
                self.not_sent(p, &e);
            }
            done += 1;
        }
    }

    fn count_sent(&mut self, p: &Planned) {
        for f in self.staged.get(p.frames.clone()).unwrap_or_default() {
            self.stats.tx_packets += 1;
            self.stats.tx_bytes += f.len() as u64;
        }
        self.stats.tx_super_frames += u64::from(p.merged.is_some());
    }

    /// Handles a failure. A single frame is lost, and the frames after it are sent. A super-frame
    /// is sent as its segments, and so are later ones: the kernel gives a super-frame up if the
    /// device cannot cut it, as if there were no room (`dev_direct_xmit`).
    fn not_sent(&mut self, p: &Planned, e: &io::Error) {
        let given_up = matches!(
            e.raw_os_error(),
            Some(libc::ENOBUFS | libc::EINVAL | libc::EMSGSIZE | libc::EOPNOTSUPP)
        );
        if let (Some(m), true) = (p.merged, given_up) {
            self.takes[m.transport as usize] = false;
            tracing::info!(
                interface = self.name,
                "does not take super-frames of {:?}; from now on segments are sent one by one: {e}",
                m.transport
            );
            let singles: Vec<Planned> = p.frames.clone().map(Planned::single).collect();
            self.send_planned(&singles);
            return;
        }
        self.stats.tx_errors += p.frames.len() as u64;
        if !self.warned_tx {
            self.warned_tx = true;
            tracing::warn!(
                interface = self.name,
                "frame not sent (more are only counted): {e}"
            );
        }
    }
}

fn part(bytes: &[u8]) -> libc::iovec {
    libc::iovec {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: bytes.len(),
    }
}

/// Returns whether addresses and ethertype are equal, and both frames are long enough to carry
/// more than an acknowledgement.
fn same_flow(first: &[u8], next: &[u8]) -> bool {
    const LEAST_BYTES: usize = 67;
    first.len() >= LEAST_BYTES && next.len() >= LEAST_BYTES && first.get(..14) == next.get(..14)
}
