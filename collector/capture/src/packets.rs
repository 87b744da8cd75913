// SPDX-License-Identifier: Apache-2.0
//! Reads the packets of one port in a time span straight from the files. Row groups that
//! their statistics rule out are not read, and no more packets than requested are kept in
//! memory.

use crate::error::CaptureError;
use crate::reader::Rows;
use parking_lot::Mutex;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::statistics::Statistics;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;
use tidemark_rows::PostcardRow;

/// The packets to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketSpan {
    /// Node id of the switch.
    pub node_id: u32,
    /// Egress port.
    pub port: u32,
    /// Queue of the port; `None` for all queues.
    pub queue: Option<u32>,
    /// Earliest arrival time, in ns of the switch's clock.
    pub from_ns: u64,
    /// End of the span (exclusive), in ns of the switch's clock.
    pub to_ns: u64,
    /// Largest number of packets returned: the first of the span.
    pub most: usize,
}

/// The packets found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Packets {
    /// Rows of the packets, sorted by arrival time.
    pub rows: Vec<PostcardRow>,
    /// Whether the span has more packets than were requested.
    pub truncated: bool,
    /// Time in ns before which no row of the node and port arrived; `None` if the capture
    /// has no such row.
    pub oldest_ns: Option<u64>,
    /// Numbers of row groups that were read and skipped.
    pub row_groups: (usize, usize),
}

/// Columns that are read; other fields of the rows have their default value.
const COLUMNS: [&str; 13] = [
    "order",
    "node_id",
    "flow_id",
    "egress_port",
    "queue",
    "ingress_ns",
    "egress_ns",
    "occupancy_bytes",
    "ip_bytes",
    "tcp_seq",
    "ce_marked",
    "dropped",
    "cwnd_segments",
];

/// Row groups so far: the oldest time, and how many were read and skipped.
#[derive(Debug, Default)]
struct Seen {
    oldest_ns: Option<u64>,
    read: usize,
    skipped: usize,
}

/// Reads the packets of a port.
///
/// # Errors
/// A file cannot be read.
pub fn packets(dir: &Path, span: &PacketSpan) -> Result<Packets, CaptureError> {
    let seen = Arc::new(Mutex::new(Seen::default()));
    let wanted = {
        let (seen, span) = (Arc::clone(&seen), *span);
        move |group: &RowGroupMetaData| {
            let mut seen = seen.lock();
            let wanted = seen.take(group, &span);
            *(if wanted {
                &mut seen.read
            } else {
                &mut seen.skipped
            }) += 1;
            wanted
        }
    };
    let mut rows = Rows::<PostcardRow>::open_part(dir, &COLUMNS, wanted)?;
    // Sorted by arrival time, and by stored order if the times are equal.
    let mut first: BTreeMap<(u64, u64), PostcardRow> = BTreeMap::new();
    let mut truncated = false;
    while rows.peek()?.is_some() {
        let Some(row) = rows.take() else { break };
        let here = (row.node_id, row.port) == (span.node_id, span.port)
            && span.queue.is_none_or(|queue| queue == u32::from(row.queue));
        if !here || !(span.from_ns..span.to_ns).contains(&row.ingress_ns) {
            continue;
        }
        first.insert((row.ingress_ns, row.order), row);
        if first.len() > span.most {
            truncated = true;
            first.pop_last();
        }
    }
    let seen = seen.lock();
    Ok(Packets {
        rows: first.into_values().collect(),
        truncated,
        oldest_ns: seen.oldest_ns,
        row_groups: (seen.read, seen.skipped),
    })
}

impl Seen {
    /// Returns whether a row group may have packets of the span, as one without statistics may.
    fn take(&mut self, group: &RowGroupMetaData, span: &PacketSpan) -> bool {
        let may = |column, value: u32| {
            bounds(group, column).is_none_or(|b| b.contains(&u64::from(value)))
        };
        if !may("node_id", span.node_id) || !may("egress_port", span.port) {
            return false;
        }
        let Some(times) = bounds(group, "ingress_ns") else {
            return true;
        };
        let oldest = self.oldest_ns.unwrap_or(u64::MAX);
        self.oldest_ns = Some(oldest.min(*times.start()));
        *times.start() < span.to_ns && *times.end() >= span.from_ns
    }
}

/// Returns the smallest and largest value of an unsigned column, if its statistics have them.
pub(crate) fn bounds(group: &RowGroupMetaData, column: &str) -> Option<RangeInclusive<u64>> {
    let mut columns = group.columns().iter();
    let column = columns.find(|c| c.column_descr().name() == column)?;
    let (least, most) = match column.statistics()? {
        // The statistics hold signed numbers with unsigned order.
        Statistics::Int32(s) => (
            u64::from(*s.min_opt()? as u32),
            u64::from(*s.max_opt()? as u32),
        ),
        Statistics::Int64(s) => (*s.min_opt()? as u64, *s.max_opt()? as u64),
        _ => return None,
    };
    Some(least..=most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::store;

    /// Writes files of packets, one per millisecond, to two ports in turn; some packets are
    /// stored after later packets.
    fn capture() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let row = |n: u64| PostcardRow {
            order: n,
            node_id: 1,
            port: 2 + (n % 2) as u32,
            ingress_ns: 1_000_000 * n,
            egress_ns: 1_000_000 * n + 5,
            occupancy_bytes: n,
            dropped: n == 150,
            ..PostcardRow::default()
        };
        let rows = (0..30_000).map(|n| row(n ^ 1));
        store(&dir.path().join("c"), 100, rows);
        dir
    }

    fn ask(dir: &tempfile::TempDir, ms: std::ops::Range<u64>, most: usize) -> Packets {
        let span = PacketSpan {
            node_id: 1,
            port: 2,
            queue: None,
            from_ns: ms.start * 1_000_000,
            to_ns: ms.end * 1_000_000,
            most,
        };
        packets(&dir.path().join("c"), &span).unwrap()
    }

    fn numbers(p: &Packets) -> Vec<u64> {
        p.rows.iter().map(|r| r.occupancy_bytes).collect()
    }

    #[test]
    fn a_span_has_its_packets_by_arrival_and_reads_no_other_file() {
        let dir = capture();
        let found = ask(&dir, 145..155, 100);
        assert_eq!(numbers(&found), [146, 148, 150, 152, 154]);
        let (read, skipped) = found.row_groups;
        assert!(read == 1 && skipped >= 2, "{read} {skipped}");
        assert!(!found.truncated && found.rows[2].dropped && found.rows[2].egress_ns == 0);
        assert_eq!(found.oldest_ns, Some(0));
        let all = ask(&dir, 0..30_000, 30_000);
        assert_eq!((all.rows.len(), all.row_groups), (15_000, (1 + skipped, 0)));
    }

    #[test]
    fn the_first_are_given_and_that_there_are_more_is_said() {
        let dir = capture();
        let found = ask(&dir, 90..30_000, 3);
        assert_eq!((numbers(&found), found.truncated), (vec![90, 92, 94], true));
        assert!(!ask(&dir, 90..96, 3).truncated);
    }

    #[test]
    fn what_is_not_there_is_nothing() {
        let dir = capture();
        assert!(ask(&dir, 30_000..40_000, 3).rows.is_empty());
        let span = PacketSpan {
            node_id: 9,
            port: 2,
            queue: None,
            from_ns: 0,
            to_ns: u64::MAX,
            most: 9,
        };
        let found = packets(&dir.path().join("c"), &span).unwrap();
        assert_eq!((found.rows.len(), found.oldest_ns), (0, None));
        assert_eq!(found.row_groups.0, 0);
    }
}
