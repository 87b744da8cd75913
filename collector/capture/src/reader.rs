// SPDX-License-Identifier: Apache-2.0
//! Reads the rows of a capture, table by table or merged in order.

use crate::capture_file::CaptureFile;
use crate::error::CaptureError;
use crate::open::{Open, Table};
use crate::table::{Column, Stored};
use parquet::file::metadata::RowGroupMetaData;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use tidemark_rows::{EventRow, FlatEvent, NamedProbe, PostcardRow, ProbeRow};

/// Lists the completed files of a table, in order.
pub(crate) fn files(dir: &Path, table: &str) -> Result<Vec<PathBuf>, CaptureError> {
    let prefix = format!("{table}-");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(CaptureError::io(dir))? {
        let path = entry.map_err(CaptureError::io(dir))?.path();
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("");
        let number = name
            .strip_prefix(&prefix)
            .and_then(|n| n.strip_suffix(".parquet"))
            .and_then(|n| n.parse::<u64>().ok());
        if let Some(number) = number {
            found.push((number, path));
        }
    }
    found.sort();
    let mut files = Vec::new();
    for (_, path) in found {
        // Spark and similar programs write a folder of parts with the name of the file.
        if path.is_dir() {
            files.extend(parts(&path)?);
        } else {
            files.push(path);
        }
    }
    Ok(files)
}

/// Lists the Parquet files in a folder, sorted by name.
fn parts(dir: &Path) -> Result<Vec<PathBuf>, CaptureError> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(CaptureError::io(dir))? {
        let path = entry.map_err(CaptureError::io(dir))?.path();
        if path.extension().is_some_and(|e| e == "parquet") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Returns a table's number of rows, from the footers of its files.
pub(crate) fn rows_of(dir: &Path, table: &str) -> Result<u64, CaptureError> {
    let mut rows = 0;
    for path in files(dir, table)? {
        let there = CaptureFile::open(path)?.metadata.file_metadata().num_rows();
        rows += u64::try_from(there).unwrap_or(0);
    }
    Ok(rows)
}

/// Number of rows read in one batch.
const BATCH_ROWS: usize = 8192;

/// Decides by a row group's metadata whether to read it.
type Wanted = Box<dyn Fn(&RowGroupMetaData) -> bool + Send>;

/// Reader of a table's rows, or of some of its columns and row groups.
pub struct Rows<R> {
    files: std::vec::IntoIter<PathBuf>,
    table: Table,
    columns: Vec<Column<R>>,
    wanted: Option<Wanted>,
    open: Option<Open>,
    rows: VecDeque<R>,
}

impl Open {
    /// Reads the next rows of the present row group.
    fn batch<R: Stored>(&mut self, columns: &[Column<R>]) -> Result<Vec<R>, CaptureError> {
        let mut rows = vec![R::default(); self.rows_left.min(BATCH_ROWS)];
        let group = self.group();
        for (column, chunk) in columns.iter().zip(&mut self.chunks) {
            if let Some((place, form, chunk)) = chunk {
                let read = || (column.read)(chunk, *form, &mut rows);
                self.file.read(group, *place, read)?;
            }
        }
        self.rows_left -= rows.len();
        rows.iter_mut().for_each(R::complete);
        Ok(rows)
    }
}

impl<R: Stored> Rows<R> {
    /// # Errors
    /// When the directory cannot be read.
    pub fn open(dir: &Path) -> Result<Self, CaptureError> {
        Ok(Self {
            files: files(dir, R::TABLE)?.into_iter(),
            table: Table::of::<R>(dir)?,
            columns: R::columns(),
            wanted: None,
            open: None,
            rows: VecDeque::new(),
        })
    }

    /// Opens only the wanted row groups and these columns; every other field has its
    /// default value.
    pub(crate) fn open_part(
        dir: &Path,
        columns: &[&str],
        wanted: impl Fn(&RowGroupMetaData) -> bool + Send + 'static,
    ) -> Result<Self, CaptureError> {
        let mut rows = Self::open(dir)?;
        rows.columns.retain(|c| columns.contains(&c.name));
        rows.table.names.retain(|name| columns.contains(name));
        rows.wanted = Some(Box::new(wanted));
        Ok(rows)
    }

    /// Returns the next row without taking it.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn peek(&mut self) -> Result<Option<&R>, CaptureError> {
        while self.rows.is_empty() {
            if let Some(open) = &mut self.open {
                let wanted = |group: &_| self.wanted.as_ref().is_none_or(|w| w(group));
                if open.rows_left > 0 || open.next_group(&self.table, wanted)? {
                    self.rows = open.batch(&self.columns)?.into();
                    continue;
                }
                self.open = None;
            }
            let Some(path) = self.files.next() else {
                return Ok(None);
            };
            self.open = Some(Open::new(path)?);
        }
        Ok(self.rows.front())
    }

    /// Returns whether the file of the next row lacks a column, because it is older.
    fn lacks(&self, column: &str) -> bool {
        let place = self.table.names.iter().position(|&name| name == column);
        let chunk = place.and_then(|place| self.open.as_ref()?.chunks.get(place));
        chunk.is_some_and(Option::is_none)
    }

    /// Takes the next row.
    pub fn take(&mut self) -> Option<R> {
        self.rows.pop_front()
    }
}

/// A row of any table.
#[derive(Clone, Debug, PartialEq)]
pub enum AnyRow {
    /// One reported packet.
    Postcard(Box<PostcardRow>),
    /// One sample of a sender's TCP, with its host's name.
    Probe(Box<NamedProbe>),
    /// Anything else.
    Event(Box<EventRow>),
}

impl AnyRow {
    /// Position among all rows of the capture.
    pub fn order(&self) -> u64 {
        match self {
            Self::Postcard(r) => r.order,
            Self::Probe(r) => r.row.order,
            Self::Event(r) => r.order,
        }
    }
}

/// Queues of flows, for samples stored before they had a queue: the queue of the flow's last
/// packet at the node and port. Flows of queue 0 have no entry.
#[derive(Default)]
struct FlowQueues(FxHashMap<(u32, u32, u64), u8>);

impl FlowQueues {
    fn packet(&mut self, row: &PostcardRow) {
        let flow = (row.node_id, row.port, row.flow_id);
        if row.queue > 0 {
            self.0.insert(flow, row.queue);
        } else if !self.0.is_empty() {
            self.0.remove(&flow);
        }
    }

    fn of_sample(&self, row: &ProbeRow) -> u8 {
        let flow = (row.node_id, row.port, row.flow_id);
        self.0.get(&flow).copied().unwrap_or(0)
    }
}

/// Reader of the rows of all tables, in the order in which the pipeline produced them.
pub struct Merged {
    postcards: Rows<PostcardRow>,
    probes: Rows<NamedProbe>,
    events: Rows<FlatEvent>,
    queues: FlowQueues,
    read: u64,
    /// Smallest position that the next row can have.
    least: u64,
}

impl Merged {
    /// # Errors
    /// When the directory cannot be read.
    pub fn open(dir: &Path) -> Result<Self, CaptureError> {
        Ok(Self {
            postcards: Rows::open(dir)?,
            probes: Rows::open(dir)?,
            events: Rows::open(dir)?,
            queues: FlowQueues::default(),
            read: 0,
            least: 0,
        })
    }

    /// Number of rows taken so far.
    pub fn rows_read(&self) -> u64 {
        self.read
    }

    /// Returns the number of rows of all tables, from the footers of their files.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn rows(dir: &Path) -> Result<u64, CaptureError> {
        let tables = [PostcardRow::TABLE, NamedProbe::TABLE, FlatEvent::TABLE];
        tables.into_iter().map(|table| rows_of(dir, table)).sum()
    }

    /// Takes the next row; `None` at the end.
    ///
    /// # Errors
    /// A file cannot be read, or holds something that this format does not know.
    pub fn next_row(&mut self) -> Result<Option<AnyRow>, CaptureError> {
        let order = |row: Option<u64>| row.unwrap_or(u64::MAX);
        let p = order(self.postcards.peek()?.map(Stored::order));
        let t = order(self.probes.peek()?.map(Stored::order));
        let e = order(self.events.peek()?.map(Stored::order));
        let least = p.min(t).min(e);
        if least < self.least {
            return Err(CaptureError::Order(least));
        }
        self.least = least;
        self.read += u64::from(least < u64::MAX);
        if p == least
            && let Some(row) = self.postcards.take()
        {
            self.queues.packet(&row);
            return Ok(Some(AnyRow::Postcard(Box::new(row))));
        }
        let without_queue = self.probes.lacks("queue");
        if t == least
            && let Some(mut row) = self.probes.take()
        {
            if without_queue {
                row.row.queue = self.queues.of_sample(&row.row);
            }
            return Ok(Some(AnyRow::Probe(Box::new(row))));
        }
        let Some(row) = self.events.take() else {
            return Ok(None);
        };
        let event = row.event().ok_or(CaptureError::Event(row.order))?;
        Ok(Some(AnyRow::Event(Box::new(event))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_of_before_queues_is_of_its_flow_s_last_packet() {
        let mut queues = FlowQueues::default();
        let sample = |flow_id, port| ProbeRow {
            node_id: 1,
            port,
            flow_id,
            ..ProbeRow::default()
        };
        let packet = |flow_id, queue| PostcardRow {
            node_id: 1,
            port: 2,
            queue,
            flow_id,
            ..PostcardRow::default()
        };
        assert_eq!(queues.of_sample(&sample(7, 2)), 0);
        queues.packet(&packet(7, 3));
        queues.packet(&packet(8, 0));
        let of = |queues: &FlowQueues, flow, port| queues.of_sample(&sample(flow, port));
        assert_eq!(
            [of(&queues, 7, 2), of(&queues, 8, 2), of(&queues, 7, 1)],
            [3, 0, 0]
        );
        queues.packet(&packet(7, 0));
        assert_eq!(of(&queues, 7, 2), 0);
    }

    #[test]
    fn a_capture_of_before_queues_is_told_from_one_that_has_them() {
        let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
        let mut probes = Rows::<NamedProbe>::open(&tests.join("capture-63e1e1a")).unwrap();
        assert!(probes.peek().unwrap().is_some());
        assert!(probes.lacks("queue") && !probes.lacks("egress_port"));
        let dir = tempfile::tempdir().unwrap();
        crate::tests::store(
            &dir.path().join("c"),
            100,
            (0..9).map(|order| PostcardRow {
                order,
                ..PostcardRow::default()
            }),
        );
        let mut packets = Rows::<PostcardRow>::open(&dir.path().join("c")).unwrap();
        assert!(packets.peek().unwrap().is_some());
        assert!(!packets.lacks("queue"));
    }
}
