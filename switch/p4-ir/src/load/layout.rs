// SPDX-License-Identifier: Apache-2.0
//! Divides a header into words of whole bytes, so that it can be parsed, copied, summed
//! and deparsed word by word.

/// Position of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// Number of the word within the header.
    pub word: u32,
    pub shift: u8,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Packed {
    /// One per field.
    pub places: Vec<Place>,
    /// Number of packet bytes in each word.
    pub word_bytes: Vec<u8>,
}

/// Consecutive fields between two byte boundaries.
struct Run {
    fields: usize,
    bits: u32,
    wide: bool,
}

/// Packs fields given as (width in bits, variable). `None` if a variable-length field
/// or a field across a word boundary prevents it.
pub(super) fn pack(fields: impl Iterator<Item = (u32, bool)> + Clone) -> Option<Packed> {
    let mut words: Vec<Run> = Vec::new();
    let mut run = Run {
        fields: 0,
        bits: 0,
        wide: false,
    };
    for (width, variable) in fields.clone() {
        run.fields += 1;
        if variable || width == 0 {
            return None;
        }
        if width > 64 {
            if run.bits != 0 || width % 8 != 0 {
                return None;
            }
            run.wide = true;
        }
        run.bits += width;
        if !run.wide && run.bits > 64 {
            return None;
        }
        if !run.bits.is_multiple_of(8) {
            continue;
        }
        match words.last_mut() {
            Some(w) if !w.wide && !run.wide && w.bits + run.bits <= 64 => {
                w.bits += run.bits;
                w.fields += run.fields;
            }
            _ => words.push(run),
        }
        run = Run {
            fields: 0,
            bits: 0,
            wide: false,
        };
    }
    if run.fields > 0 {
        return None;
    }
    Some(place(&words, fields.map(|(width, _)| width)))
}

fn place(words: &[Run], mut widths: impl Iterator<Item = u32>) -> Packed {
    let mut out = Packed {
        places: Vec::new(),
        word_bytes: Vec::new(),
    };
    for w in words {
        let word = out.word_bytes.len() as u32;
        if w.wide {
            widths.next();
            out.places.push(Place { word, shift: 0 });
            // Right-aligned: the first word may be short.
            out.word_bytes.push((((w.bits - 1) % 64 + 1) / 8) as u8);
            let rest = (w.bits - 1) / 64;
            out.word_bytes.extend((0..rest).map(|_| 8));
            continue;
        }
        let mut left = w.bits;
        for width in widths.by_ref().take(w.fields) {
            left -= width;
            out.places.push(Place {
                word,
                shift: left as u8,
            });
        }
        out.word_bytes.push((w.bits / 8) as u8);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    type Places = Vec<(u32, u8)>;

    fn packed(widths: &[u32]) -> Option<(Places, Vec<u8>)> {
        let p = pack(widths.iter().map(|w| (*w, false)))?;
        let places = p.places.iter().map(|p| (p.word, p.shift)).collect();
        Some((places, p.word_bytes))
    }

    #[test]
    fn words_end_on_bytes() {
        // Ethernet; then a field that would straddle a full first word.
        assert_eq!(
            packed(&[48, 48, 16]),
            Some((vec![(0, 0), (1, 16), (1, 0)], vec![6, 8]))
        );
        assert_eq!(
            packed(&[8, 4, 60]),
            Some((vec![(0, 0), (1, 60), (1, 0)], vec![1, 8]))
        );
        // IPv6 addresses have words of their own; 72 bits are 1 + 8 bytes.
        assert_eq!(
            packed(&[32, 128, 8, 72]),
            Some((vec![(0, 0), (1, 0), (3, 0), (4, 0)], vec![4, 8, 8, 1, 1, 8]))
        );
    }

    #[test]
    fn what_cannot_be_packed() {
        assert_eq!(packed(&[4, 72, 4]), None);
        assert_eq!(packed(&[8, 3]), None);
        assert_eq!(packed(&[60, 60, 8]), None);
        assert_eq!(packed(&[8, 0]), None);
        assert_eq!(pack([(8, false), (64, true)].into_iter()), None);
    }
}
