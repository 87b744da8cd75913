// SPDX-License-Identifier: Apache-2.0
//! Which rows of a table are meant: those of a span of time, or of one flow. Row groups
//! whose statistics rule them out are not read.

use crate::error::CaptureError;
use crate::packets::bounds;
use crate::reader::Rows;
use parquet::file::metadata::RowGroupMetaData;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use tidemark_rows::PostcardRow;

const NANOSECONDS: f64 = 1e9;

/// A time of a capture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Moment {
    /// Seconds after the arrival of the first packet at the node that a row is of.
    Seconds(f64),
    /// On that node's clock, ns.
    Nanoseconds(u64),
}

/// Which rows; by default all.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Selection {
    /// None before this. A row without a time is in no span.
    pub from: Option<Moment>,
    /// None at this time or after it.
    pub to: Option<Moment>,
    /// Only of this flow. A row without a flow is of none.
    pub flow_id: Option<u64>,
}

/// A selection, for the rows of one table.
pub(crate) struct Wanted {
    /// Column of the rows' times.
    time: &'static str,
    span: Option<Spans>,
    flow_id: Option<u64>,
}

/// The span on the clock of each node.
struct Spans {
    of_nodes: BTreeMap<u32, Range<u64>>,
    /// Of a node that has no packet.
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

    /// Whether a row group may have such rows; one without statistics may.
    pub(crate) fn may_be_in(&self, group: &RowGroupMetaData) -> bool {
        let may = |column, wanted: &Range<u64>| {
            bounds(group, column)
                .is_none_or(|b| *b.start() < wanted.end && *b.end() >= wanted.start)
        };
        let flow = self.flow_id.map(|id| id..id.saturating_add(1));
        let span = self.span.as_ref().map(Spans::widest);
        flow.is_none_or(|f| may("flow_id", &f)) && span.is_none_or(|s| may(self.time, &s))
    }

    /// The columns that [`Self::has`] asks for.
    pub(crate) fn columns(&self) -> [&'static str; 3] {
        ["flow_id", "node_id", self.time]
    }

    /// Whether a row is meant; `cell` gives its value in one of the columns.
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
    /// From the start of the first to the end of the last.
    fn widest(&self) -> Range<u64> {
        let all = self.of_nodes.values().fold(None, |all, s| match all {
            None => Some(s.clone()),
            Some(Range { start, end }) => Some(start.min(s.start)..end.max(s.end)),
        });
        all.unwrap_or_else(|| self.others.clone())
    }
}

fn span(from: Option<Moment>, to: Option<Moment>, first_ns: u64) -> Range<u64> {
    let at = |m| match m {
        Moment::Nanoseconds(ns) => ns,
        Moment::Seconds(s) => first_ns.saturating_add((s * NANOSECONDS).round() as u64),
    };
    from.map_or(0, at)..to.map_or(u64::MAX, at)
}

/// When the first packet came to each node, ns of its clock.
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
    /// The clock of node 2 is ahead of that of node 1.
    const AHEAD_NS: u64 = 1_000_000_000_000;

    /// Two nodes, a packet to each every 2 ms, of two flows of the node one after the other.
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

    /// The places of the rows that are exported.
    fn exported(dir: &Path, selection: Selection) -> Vec<u64> {
        let what = Export {
            table: "postcards",
            format: TextFormat::Csv,
            selection,
        };
        let (mut text, mut looked_at) = (Vec::new(), (0, 0));
        let rows = export(dir, &what, &mut text, |n, of| looked_at = (n, of)).unwrap();
        // Also what is skipped is done with.
        assert_eq!(looked_at, (ROWS, ROWS));
        let text = String::from_utf8(text).unwrap();
        let lines = text.lines().skip(1).map(|l| l.split(',').next().unwrap());
        let orders: Vec<u64> = lines.map(|order| order.parse().unwrap()).collect();
        assert_eq!(orders.len() as u64, rows);
        orders
    }

    /// Row groups that are read, and all.
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
        // Node 2 has its first packet 1 ms after that of node 1.
        assert_eq!(exported(dir.path(), seconds(0.0, 0.004)), [0, 1, 2, 3]);
        let late = exported(dir.path(), seconds(19.99, 1e9));
        assert_eq!(late, (19_990..ROWS).collect::<Vec<u64>>());
        assert_eq!(
            exported(dir.path(), Selection::default()).len() as u64,
            ROWS
        );
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
