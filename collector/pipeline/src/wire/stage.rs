// SPDX-License-Identifier: Apache-2.0
//! The stage: decodes a few datagrams at a time and prefetches the memory of their flows before the
//! first of them is processed.
//!
//! Each datagram is decoded once. The fast path recognises the layout that Tidemark's own switches
//! send and reads fields at fixed places when they are needed; everything else goes through
//! `int_report::decode` into a list. A property test in `int-report` checks that both decoders
//! agree; `pipeline/fast_path_tests.rs` compares the pipeline with and without a stage.
//!
//! Justified by the benchmark row "decode, flow, join, intervals; 1000 flows"
//! of `make bench-collector`.

use super::Datagram;
use crate::flow::{FlowHint, FlowTable, PackedKey};
use crate::prefetch::distance;
use int_report::tag::{self, Tagged};
use int_report::{DecodeError, FastPath, InnerError, InnerPacket, Report, fast_path, parse_inner};
use std::net::IpAddr;

/// Number of reports on the slow path that end a stage early: a datagram may hold thousands, and
/// memory must stay bounded.
const MAX_DECODED: usize = 64;

/// A report of the slow path with its inner packet.
pub(crate) struct Decoded<'a> {
    pub report: Report<'a>,
    pub inner: Result<InnerPacket, InnerError>,
}

/// A datagram that is decoded but not processed yet.
#[derive(Clone, Copy)]
pub(crate) struct Staged<'a> {
    pub exporter: IpAddr,
    pub rx_ns: u64,
    pub contents: Contents<'a>,
    /// Its tag, not verified.
    pub tagged: Option<Tagged<'a>>,
    /// Probable slot of the flow of its first report.
    pub hint: Option<FlowHint>,
}

/// Contents of a staged datagram.
#[derive(Clone, Copy)]
pub(crate) enum Contents<'a> {
    /// One report, read at fixed places.
    FastPath(FastPath<'a>),
    /// Reports `start..end` of the stage's list; `error` says why decoding
    /// stopped before the end of the datagram.
    Decoded {
        start: usize,
        end: usize,
        error: Option<DecodeError>,
    },
}

/// Datagrams decoded ahead of their turn.
#[derive(Default)]
pub(crate) struct Stage<'a> {
    staged: [Option<Staged<'a>>; distance::DATAGRAMS_OF_MANY_FLOWS],
    count: usize,
    /// Reports of the slow path. Empty, and without memory, on the fast path.
    decoded: Vec<Decoded<'a>>,
}

impl<'a> Stage<'a> {
    /// Replaces the staged datagrams by the next ones and prefetches their flows. Returns false
    /// once the input has ended.
    #[inline(always)]
    pub(crate) fn fill(
        &mut self,
        datagrams: &mut impl Iterator<Item = Datagram<'a>>,
        flows: &FlowTable,
    ) -> bool {
        self.count = 0;
        self.decoded.clear();
        let mut keys = [None; distance::DATAGRAMS_OF_MANY_FLOWS];
        let mut more = true;
        let large = flows.is_large();
        let room = match large {
            true => distance::DATAGRAMS_OF_MANY_FLOWS,
            false => distance::DATAGRAMS,
        };
        for (place, key) in self.staged.iter_mut().zip(&mut keys).take(room) {
            let Some(datagram) = datagrams.next() else {
                more = false;
                break;
            };
            let (contents, tagged) = match fast_path(datagram.payload) {
                Some(fast) => {
                    *key = Some(PackedKey::of_fast_path(&fast));
                    (Contents::FastPath(fast), None)
                }
                None => slow_path(&mut self.decoded, datagram.payload, key),
            };
            let mut hint = None;
            if let Some(key) = *key {
                if large {
                    flows.prefetch_index(key);
                } else {
                    hint = flows.look_ahead(key);
                }
            }
            *place = Some(Staged {
                exporter: datagram.exporter,
                rx_ns: datagram.rx_ns,
                contents,
                tagged,
                hint,
            });
            self.count += 1;
            if self.decoded.len() >= MAX_DECODED {
                break;
            }
        }
        if large {
            for (staged, key) in self.staged.iter_mut().flatten().zip(keys) {
                staged.hint = key.and_then(|key| flows.look_ahead(key));
            }
        }
        more
    }

    #[inline(always)]
    pub(crate) fn datagrams(&self) -> &[Option<Staged<'a>>] {
        self.staged.get(..self.count).unwrap_or_default()
    }

    /// Reports of a datagram on the slow path.
    #[inline]
    pub(crate) fn decoded(&self, start: usize, end: usize) -> &[Decoded<'a>] {
        self.decoded.get(start..end).unwrap_or_default()
    }
}

/// Decodes a datagram other than a single report; a tagged single report may still take the fast
/// path. Sets `key` to that of the first report's flow.
#[inline(never)]
fn slow_path<'a>(
    decoded: &mut Vec<Decoded<'a>>,
    payload: &'a [u8],
    key: &mut Option<PackedKey>,
) -> (Contents<'a>, Option<Tagged<'a>>) {
    let tagged = tag::split(payload);
    let contents = match tagged.and_then(|t| fast_path(t.body)) {
        Some(fast) => {
            *key = Some(PackedKey::of_fast_path(&fast));
            Contents::FastPath(fast)
        }
        None => decode(decoded, payload, key),
    };
    (contents, tagged)
}

/// Decodes any datagram into the list.
#[inline(never)]
fn decode<'a>(
    decoded: &mut Vec<Decoded<'a>>,
    payload: &'a [u8],
    key: &mut Option<PackedKey>,
) -> Contents<'a> {
    let start = decoded.len();
    let result = int_report::decode(payload, |report| {
        let inner = parse_inner(&report.inner);
        if report.first_in_datagram
            && let Ok(inner) = &inner
        {
            *key = Some(PackedKey::of(&inner.flow_key()));
        }
        decoded.push(Decoded {
            report: *report,
            inner,
        });
    });
    Contents::Decoded {
        start,
        end: decoded.len(),
        error: result.err(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use int_report::encode::{encode, postcard};
    use std::net::Ipv4Addr;

    fn stage_of(payloads: &[Vec<u8>]) -> (Vec<(usize, bool, bool)>, Vec<bool>) {
        let flows = FlowTable::new(16, usize::MAX, crate::FlowIds::default());
        let mut stage = Stage::default();
        let mut datagrams = payloads.iter().map(|payload| Datagram {
            exporter: IpAddr::V4(Ipv4Addr::LOCALHOST),
            rx_ns: 1,
            payload,
        });
        let (mut seen, mut fills) = (Vec::new(), Vec::new());
        loop {
            let more = stage.fill(&mut datagrams, &flows);
            for s in stage.datagrams().iter().flatten() {
                seen.push(match s.contents {
                    Contents::FastPath(_) => (1, true, false),
                    Contents::Decoded { start, end, error } => {
                        (stage.decoded(start, end).len(), false, error.is_some())
                    }
                });
            }
            fills.push(more);
            if !more {
                return (seen, fills);
            }
        }
    }

    #[test]
    fn datagrams_of_any_kind_are_decoded_once_and_in_order() {
        let inner = crate::testing::headers(&crate::testing::Packet::default());
        let one = encode(&[postcard(1, 1, (2, 1), &inner)]).unwrap();
        let report = postcard(1, 1, (2, 1), &inner);
        let second = Report {
            first_in_datagram: false,
            ..report
        };
        let two = encode(&[report, second]).unwrap();
        let mut cut = two.clone();
        cut.truncate(two.len() - 50);
        let (seen, fills) = stage_of(&[one.clone(), two.clone(), cut, vec![], one]);
        assert_eq!(
            seen,
            [
                (1, true, false),
                (2, false, false),
                (1, false, true),
                (0, false, true),
                (1, true, false),
            ]
        );
        assert_eq!(fills, [false]);
        // Many reports in one datagram end the stage, and nothing is lost.
        let many: Vec<Report<'_>> = (0..MAX_DECODED)
            .map(|i| Report {
                first_in_datagram: i == 0,
                ..report
            })
            .collect();
        let many = encode(&many).unwrap();
        let (seen, fills) = stage_of(&[many.clone(), many, two]);
        let counts: Vec<usize> = seen.iter().map(|s| s.0).collect();
        assert_eq!(counts, [MAX_DECODED, MAX_DECODED, 2]);
        assert_eq!(fills, [true, true, false]);
    }
}
