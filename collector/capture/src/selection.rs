// SPDX-License-Identifier: Apache-2.0
//! Selects rows of a table by time span and flow. Row groups that their statistics rule out
//! are not read.

use crate::error::CaptureError;
use crate::packets::bounds;
use crate::reader::Rows;
use parquet::file::metadata::RowGroupMetaData;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use tidemark_rows::PostcardRow;

const NANOSECONDS: f64 = 1e9;

/// A time in a capture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Moment {
    /// Seconds after the first packet arrived at the row's node.
    Seconds(f64),
    /// Time on the row's node's clock, in ns.
    Nanoseconds(u64),
}

/// The rows to select; all by default.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Selection {
    /// Start of the time span (inclusive). A row without a time is in no span.
    pub from: Option<Moment>,
    /// End of the time span (exclusive).
    pub to: Option<Moment>,
    /// Flow to select. A row without a flow matches no flow.
    pub flow_id: Option<u64>,
}

/// A selection, resolved for the rows of one table.
pub(crate) struct Wanted {
    /// Name of the table's time column.
    time: &'static str,
    span: Option<Spans>,
    flow_id: Option<u64>,
}

/// The time span on the clock of each node.
struct Spans {
    of_nodes: BTreeMap<u32, Range<u64>>,
    /// Span for nodes that have no packet.
    others: Range<u64>,
}

impl Wanted {
    pub(crate) fn of(selection: &Selection, dir: &Path, table: &str) -> Result<Self, CaptureError> {
        let Selection { from, to, flow_id } = *selection;
        let in_seconds = |m| matches!(m, Some(Moment::Seconds(_)));
        let first = match in_seconds(from) || in_seconds(to) {
            true => first_arrivals(dir)?,
            false => BTreeMap::new(),
        };
        let of_nodes = first.into_iter().map(|(n, t)| (n, span(from, to, t)));
        let span = (from.is_some() || to.is_some()).then(|| Spans {
            of_nodes: of_nodes.collect(),
            others: span(from, to, 0),
        });
        let time = match table {
            "postcards" => "ingress_ns",
            _ => "time_ns",
        };
        Ok(Self {
            time,
            span,
            flow_id,
        })
    }

    /// Returns whether a row group may have selected rows, as one without statistics may.
    pub(crate) fn may_be_in(&self, group: &RowGroupMetaData) -> bool {
        let of_flow = |id| bounds(group, "flow_id").is_none_or(|b| b.contains(&id));
        let in_span = |spans: &Spans| {
            bounds(group, self.time).is_none_or(|b| spans.overlap(*b.start(), *b.end()))
        };
        self.flow_id.is_none_or(of_flow) && self.span.as_ref().is_none_or(in_span)
    }

    /// The columns that [`Self::has`] needs.
    pub(crate) fn columns(&self) -> [&'static str; 3] {
        ["flow_id", "node_id", self.time]
    }

    /// Returns whether a row is selected; `cell` returns the row's value in a column by its index.
    pub(crate) fn has(&self, cell: impl Fn(usize) -> Option<u64>) -> bool {
        let of_flow = self.flow_id.is_none_or(|id| cell(0) == Some(id));
        let in_span = self.span.as_ref().is_none_or(|spans| {
            let node = cell(1).and_then(|n| u32::try_from(n).ok());
            let span = node.and_then(|n| spans.of_nodes.get(&n));
            let span = span.unwrap_or(&spans.others);
            cell(2).is_some_and(|time_ns| span.contains(&time_ns))
        });
        of_flow && in_span
    }
}

impl Spans {
    /// Returns whether a time from `first` to `last` may lie in the span of any node.
    fn overlap(&self, first: u64, last: u64) -> bool {
        let mut all = self.of_nodes.values().chain([&self.others]);
        all.any(|span| first < span.end && last >= span.start)
    }
}

fn span(from: Option<Moment>, to: Option<Moment>, first_ns: u64) -> Range<u64> {
    let at = |m| match m {
        Moment::Nanoseconds(ns) => ns,
        Moment::Seconds(s) => first_ns.saturating_add((s * NANOSECONDS).round() as u64),
    };
    from.map_or(0, at)..to.map_or(u64::MAX, at)
}

/// Returns the arrival time of each node's first packet, in ns of the node's clock.
fn first_arrivals(dir: &Path) -> Result<BTreeMap<u32, u64>, CaptureError> {
    let mut first = BTreeMap::new();
    let mut rows = Rows::<PostcardRow>::open_part(dir, &["node_id", "ingress_ns"], |_| true)?;
    while rows.peek()?.is_some() {
        let Some(row) = rows.take() else { break };
        let earliest = first.entry(row.node_id).or_insert(row.ingress_ns);
        *earliest = row.ingress_ns.min(*earliest);
    }
    Ok(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::files;
    use crate::tests::store;
    use crate::{Export, TextFormat, export};
    use parquet::file::reader::{FileReader as _, SerializedFileReader};

    const MS: u64 = 1_000_000;
    const ROWS: u64 = 20_000;
    /// Time by which the clock of node 2 is ahead of node 1's.
    const AHEAD_NS: u64 = 1_000_000_000_000;

    /// Writes a capture of two nodes with a packet every 2 ms each; their flows change halfway.
    fn capture() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let row = |n: u64| {
            let node_id = 1 + (n % 2) as u32;
            PostcardRow {
                order: n,
                node_id,
                flow_id: u64::from(node_id) + 2 * u64::from(n >= ROWS / 2),
                ingress_ns: 5 * MS + n * MS + AHEAD_NS * u64::from(node_id - 1),
                ..PostcardRow::default()
            }
        };
        store(dir.path(), 1000, (0..ROWS).map(row));
        dir
    }

    /// Returns the `order` of each exported row.
    fn exported(dir: &Path, selection: Selection) -> Vec<u64> {
        let what = Export {
            table: "postcards",
            format: TextFormat::Csv,
            selection,
        };
        let (mut text, mut looked_at) = (Vec::new(), (0, 0));
        let rows = export(dir, &what, &mut text, |n, of| looked_at = (n, of)).unwrap();
        // Skipped rows count as handled.
        assert_eq!(looked_at, (ROWS, ROWS));
        let text = String::from_utf8(text).unwrap();
        let lines = text.lines().skip(1).map(|l| l.split(',').next().unwrap());
        let orders: Vec<u64> = lines.map(|order| order.parse().unwrap()).collect();
        assert_eq!(orders.len() as u64, rows);
        orders
    }

    /// Returns the number of row groups that are read, and of all row groups.
    fn groups(dir: &Path, selection: Selection) -> (usize, usize) {
        let wanted = Wanted::of(&selection, dir, "postcards").unwrap();
        let (mut read, mut all) = (0, 0);
        for path in files(dir, "postcards").unwrap() {
            let file = std::fs::File::open(path).unwrap();
            for group in SerializedFileReader::new(file)
                .unwrap()
                .metadata()
                .row_groups()
            {
                read += usize::from(wanted.may_be_in(group));
                all += 1;
            }
        }
        (read, all)
    }

    #[test]
    fn a_span_counts_from_the_first_packet_of_each_node() {
        let dir = capture();
        let seconds = |from, to| Selection {
            from: Some(Moment::Seconds(from)),
            to: Some(Moment::Seconds(to)),
            flow_id: None,
        };
        // Node 2 gets its first packet 1 ms after node 1.
        assert_eq!(exported(dir.path(), seconds(0.0, 0.004)), [0, 1, 2, 3]);
        let late = exported(dir.path(), seconds(19.99, 1e9));
        assert_eq!(late, (19_990..ROWS).collect::<Vec<u64>>());
        assert_eq!(
            exported(dir.path(), Selection::default()).len() as u64,
            ROWS
        );
    }

    #[test]
    fn rows_of_a_node_without_packets_and_of_the_last_flow_are_not_skipped() {
        let dir = capture();
        let selection = Selection {
            from: Some(Moment::Seconds(1.0)),
            to: Some(Moment::Seconds(2.0)),
            flow_id: None,
        };
        let spans = Wanted::of(&selection, dir.path(), "events").unwrap().span;
        let spans = spans.unwrap();
        // On the clocks of node 1, of node 2, of a node without packets, and between them.
        let second = 1_000_000_000;
        for (at, overlaps) in [
            (second + 5 * MS, true),
            (AHEAD_NS + second + 6 * MS, true),
            (second, true),
            (AHEAD_NS / 2, false),
        ] {
            assert_eq!(spans.overlap(at, at + MS), overlaps, "{at}");
        }
        let last = tempfile::tempdir().unwrap();
        let row = |n| PostcardRow {
            order: n,
            flow_id: u64::MAX,
            ..PostcardRow::default()
        };
        store(last.path(), 1000, (0..10).map(row));
        let flow = Selection {
            flow_id: Some(u64::MAX),
            ..Selection::default()
        };
        let (read, all) = groups(last.path(), flow);
        assert!(all > 0 && read == all, "{read} of {all}");
    }

    #[test]
    fn a_span_of_a_clock_and_a_flow_leave_the_rest_unread() {
        let dir = capture();
        let clock = Selection {
            from: Some(Moment::Nanoseconds(AHEAD_NS + 105 * MS)),
            to: Some(Moment::Nanoseconds(AHEAD_NS + 110 * MS)),
            flow_id: None,
        };
        assert_eq!(exported(dir.path(), clock), [101, 103]);
        let flow = Selection {
            flow_id: Some(4),
            ..Selection::default()
        };
        let of_flow = (ROWS / 2..ROWS).filter(|n| n % 2 == 1);
        assert_eq!(exported(dir.path(), flow), of_flow.collect::<Vec<u64>>());
        let (read, all) = groups(dir.path(), flow);
        assert!(all >= 4 && read < all, "{read} of {all}");
        let nobody = Selection {
            flow_id: Some(99),
            ..flow
        };
        assert_eq!(groups(dir.path(), nobody).0, 0);
        assert!(exported(dir.path(), nobody).is_empty());
    }
}
