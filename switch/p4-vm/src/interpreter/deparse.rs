// SPDX-License-Identifier: Apache-2.0
//! Checksums and the deparser: from header vector to frame.

use super::exec::Exec;
use super::fields::store_number;
use super::hash::calculate;
use crate::image::{Checksum, Image};
use crate::layout::deparser;
use crate::packet::Packet;
use crate::vector::{field_bits, own_words};
use p4_ir::Header;
use p4_ir::bits::BitWriter;

impl Exec<'_> {
    /// Returns `false` if a checksum that the program verifies is wrong.
    pub(crate) fn verify_checksums(&mut self, p: &Packet) -> bool {
        let image = self.image;
        let mut good = true;
        for c in image.checksums.iter().filter(|c| c.verify) {
            if self.applies(c, p) {
                let have = c.target.get(&p.words);
                good &= self.checksum(c, p) == have;
            }
        }
        good
    }

    fn update_checksums(&mut self, p: &mut Packet) {
        let image = self.image;
        for c in image.checksums.iter().filter(|c| c.update) {
            if self.applies(c, p) {
                let v = self.checksum(c, p);
                store_number(&mut p.words, c.target, v);
            }
        }
    }

    #[inline]
    fn applies(&self, c: &Checksum, p: &Packet) -> bool {
        c.guard.iter().all(|g| g.holds(&p.words))
            && c.condition
                .as_ref()
                .is_none_or(|e| e.truth(self.env(p, &[])))
    }

    fn checksum(&mut self, c: &Checksum, p: &Packet) -> u64 {
        let calculation = self.image.calculations.get(c.calculation as usize);
        calculation.map_or(0, |c| calculate(c, p, self.cells))
    }

    /// Replaces `out` with the outgoing frame; `whole` prevents truncation.
    pub(crate) fn deparse(&mut self, p: &mut Packet, out: &mut Vec<u8>, whole: bool) {
        self.update_checksums(p);
        let image = self.image;
        if !image.code.deparser.is_empty() {
            self.run_list(&image.code.deparser, &[], p);
        }
        let headers = &mut self.cells.scratch;
        let bytes = write_headers(image, &p.words, headers);
        out.clear();
        out.extend_from_slice(headers.get(..bytes).unwrap_or_default());
        // Bytes that truncation would remove need not be copied.
        let payload = p.payload();
        let cut = p.requests.truncate_bytes.filter(|_| !whole);
        let room = match cut {
            Some(n) => (n as usize).saturating_sub(out.len()),
            None => payload.len(),
        };
        out.extend_from_slice(payload.get(..room).unwrap_or(payload));
        if let Some(n) = cut {
            out.truncate(n as usize);
        }
    }
}

/// Writes the headers to the start of the buffer, which stays longer to avoid refilling it;
/// returns their length in bytes.
fn write_headers(image: &Image, words: &[u64], buffer: &mut Vec<u8>) -> usize {
    let layout = &image.deparser;
    let room = layout.room_bytes();
    let mut at = 0;
    let mut items = layout.items.as_slice();
    loop {
        if buffer.len() < at + room {
            buffer.resize(at + room, 0);
        }
        let next;
        (items, next, at) = deparser::write(items, words, buffer, at);
        let Some(h) = next else { return at };
        if let Some(h) = image.program.headers.get(h as usize) {
            buffer.truncate(at);
            emit(h, words, buffer);
            at = buffer.len();
        }
    }
}

/// Appends a header field by field.
fn emit(h: &Header, words: &[u64], out: &mut Vec<u8>) {
    let mut w = BitWriter::default();
    for f in &h.fields {
        if f.width <= 64 && !f.variable {
            w.push(out, f.get(words), f.width);
        } else {
            w.push_wide(out, own_words(words, *f), field_bits(words, *f));
        }
    }
    w.finish(out);
}
