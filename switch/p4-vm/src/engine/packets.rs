// SPDX-License-Identifier: Apache-2.0
//! Creates, copies and recycles packets; their buffers are kept for reuse.

use std::sync::Arc;

use super::core::Engine;
use super::pool::MOST;
use crate::metadata::put;
use crate::packet::{Frame, Packet, Requests};

impl Engine {
    /// Returns a packet whose header vector has yet to be overwritten.
    #[inline]
    fn blank(&mut self) -> Box<Packet> {
        self.pool.packets.pop().unwrap_or_else(|| {
            Box::new(Packet {
                words: self.fresh.clone(),
                frame: Frame::default(),
                payload: 0..0,
                requests: Requests::default(),
                length_bytes: 0,
                ingress_bytes: 0,
                ingress_port: 0,
            })
        })
    }

    /// Makes a packet as received, with the metadata that the receiver sets.
    pub fn receive(&mut self, port: u32, frame: &[u8], now_us: u64) -> Box<Packet> {
        let shared = self.frame_buffer(|buffer| buffer.extend_from_slice(frame));
        self.receive_shared(port, shared.into(), now_us)
    }

    /// Returns a buffer for a frame, filled by `write`, which receives it empty.
    pub fn frame_buffer(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Arc<Vec<u8>> {
        let mut shared = self.pool.frames.pop().unwrap_or_default();
        if let Some(buffer) = Arc::get_mut(&mut shared) {
            buffer.clear();
            write(buffer);
        } else {
            let mut buffer = Vec::new();
            write(&mut buffer);
            shared = Arc::new(buffer);
        }
        shared
    }

    /// Like [`Self::receive`], without copying the frame.
    pub fn receive_shared(&mut self, port: u32, frame: Frame, now_us: u64) -> Box<Packet> {
        let mut p = self.blank();
        p.words.copy_from_slice(&self.fresh);
        let length = frame.len() as u32;
        p.payload = 0..frame.len();
        p.frame = frame;
        p.requests = Requests::default();
        p.length_bytes = length;
        p.ingress_bytes = length;
        p.ingress_port = port;
        let std = &self.image.program.std;
        put(&mut p, std.ingress_port, u64::from(port));
        put(&mut p, std.packet_length, u64::from(length));
        put(&mut p, std.ingress_global_timestamp, now_us);
        p
    }

    /// Returns the packet's buffers to the pool.
    pub fn recycle(&mut self, mut p: Box<Packet>) {
        if let Some(frame) = p.frame.take_unshared()
            && self.pool.frames.len() < MOST
        {
            self.pool.frames.push(frame);
        }
        if self.pool.packets.len() < MOST {
            self.pool.packets.push(p);
        }
    }

    /// Zeroes all metadata.
    pub fn reset_metadata(&self, p: &mut Packet) {
        let metadata = ..self.image.program.metadata_words.end;
        if let (Some(m), Some(fresh)) = (p.words.get_mut(metadata), self.fresh.get(metadata)) {
            m.copy_from_slice(fresh);
        }
    }

    /// Makes a copy that shares the frame; requests are not copied.
    pub fn duplicate(&mut self, p: &Packet) -> Box<Packet> {
        let mut copy = self.blank();
        copy.words.copy_from_slice(&p.words);
        share(&mut copy, p);
        copy
    }

    /// Makes a copy with the metadata of a fresh packet.
    pub fn duplicate_headers(&mut self, p: &Packet) -> Box<Packet> {
        let mut copy = self.blank();
        let n = self.image.program.metadata_words.end;
        let all = copy.words.len();
        for (range, from) in [(0..n, &self.fresh), (n..all, &p.words)] {
            if let (Some(to), Some(from)) = (copy.words.get_mut(range.clone()), from.get(range)) {
                to.copy_from_slice(from);
            }
        }
        share(&mut copy, p);
        copy
    }

    /// Copies the fields of a field list between header vectors.
    pub fn copy_field_list(&self, list: u32, to: &mut Packet, from: &Packet) {
        let Some(fields) = self.image.program.field_lists.get(&list) else {
            return;
        };
        for f in &fields.parts {
            f.set(&mut to.words, f.get(&from.words));
        }
        for r in &fields.words {
            let range = r.start as usize..r.end as usize;
            if let (Some(d), Some(s)) = (to.words.get_mut(range.clone()), from.words.get(range)) {
                d.copy_from_slice(s);
            }
        }
    }
}

/// Copies everything except the header vector.
fn share(copy: &mut Packet, p: &Packet) {
    copy.frame = p.frame.clone();
    copy.payload = p.payload.clone();
    copy.requests = Requests::default();
    copy.length_bytes = p.length_bytes;
    copy.ingress_bytes = p.ingress_bytes;
    copy.ingress_port = p.ingress_port;
}
