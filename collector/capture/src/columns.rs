// SPDX-License-Identifier: Apache-2.0
//! Reads the rows of a table as columns of stored values, in batches of a few thousand;
//! missing values stay missing. `docs/reference/capture-format.md` has names and units.

use crate::error::CaptureError;
use crate::form::Form;
use crate::meta::CaptureMeta;
use crate::open::{Open, Table};
use crate::reader::files;
use crate::selection::{Selection, Wanted};
use crate::table::{Bool, F64, I32, I64, Kind as _, Stored, Text, U32, U64};
use parquet::basic::{ConvertedType, Type};
use parquet::column::reader::ColumnReader;
use parquet::errors::ParquetError;
use parquet::schema::types::ColumnDescriptor;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tidemark_rows::{FlatEvent, NamedProbe, PostcardRow};

/// Names of the tables.
pub const TABLES: [&str; 3] = [PostcardRow::TABLE, NamedProbe::TABLE, FlatEvent::TABLE];

/// Number of rows read in one batch.
const BATCH_ROWS: usize = 4096;

/// Type of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum CellType {
    U8,
    U16,
    U32,
    U64,
    I32,
    I64,
    F64,
    Bool,
    Text,
}

/// Values of one column, with numbers widened; `None` if a row has no value.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Cells {
    Unsigned(Vec<Option<u64>>),
    Signed(Vec<Option<i64>>),
    Float(Vec<Option<f64>>),
    Truth(Vec<Option<bool>>),
    Text(Vec<Option<Arc<str>>>),
}

/// Rows read in one batch.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The chosen columns, in the chosen order.
    pub columns: Vec<(&'static str, Cells)>,
    /// Indices into the columns of the selected rows.
    pub rows: Vec<usize>,
}

/// Reader of a table's columns from the first row to the last.
pub struct Columns {
    files: std::vec::IntoIter<PathBuf>,
    /// The chosen columns, followed by further columns that the selection needs.
    table: Table,
    types: Vec<(CellType, bool)>,
    chosen: usize,
    wanted: Wanted,
    open: Option<Open>,
    rows_seen: u64,
}

impl Columns {
    /// Opens a table of a capture, one of [`TABLES`], with all or only the `chosen` columns.
    ///
    /// # Errors
    /// No capture, table or column has that name, or a file cannot be read.
    pub fn open(
        dir: &Path,
        table: &str,
        chosen: Option<&[String]>,
        selection: &Selection,
    ) -> Result<Self, CaptureError> {
        CaptureMeta::read(dir)?;
        let mut described = match table {
            PostcardRow::TABLE => Table::of::<PostcardRow>(dir)?,
            NamedProbe::TABLE => Table::of::<NamedProbe>(dir)?,
            FlatEvent::TABLE => Table::of::<FlatEvent>(dir)?,
            _ => {
                return Err(CaptureError::NoTable {
                    table: table.to_owned(),
                    known: TABLES.join(", "),
                });
            }
        };
        let wanted = Wanted::of(selection, dir, table)?;
        let all = described.names.clone();
        if let Some(chosen) = chosen {
            let known = |name: &String| {
                let found = all.iter().find(|n| **n == name).copied();
                found.ok_or_else(|| CaptureError::NoColumn {
                    table: table.to_owned(),
                    column: name.clone(),
                    known: all.join(", "),
                })
            };
            described.names = chosen.iter().map(known).collect::<Result<_, _>>()?;
        }
        let chosen = described.names.len();
        let asked = wanted.columns().into_iter();
        for name in asked.filter(|_| *selection != Selection::default()) {
            if all.contains(&name) && !described.names.contains(&name) {
                described.names.push(name);
            }
        }
        let types = described.names.iter().map(|name| {
            let descr = described.expected(name);
            // Files older than a column have no values of it.
            let added = described.added.contains(name);
            descr.map_or((CellType::Text, true), |d| {
                (cell_type(d), added || is_nullable(d))
            })
        });
        Ok(Self {
            files: files(dir, table)?.into_iter(),
            types: types.collect(),
            table: described,
            chosen,
            wanted,
            open: None,
            rows_seen: 0,
        })
    }

    /// Returns each column's name and type, and whether it may lack values.
    pub fn columns(&self) -> impl Iterator<Item = (&'static str, CellType, bool)> {
        let types = self.table.names.iter().zip(&self.types).take(self.chosen);
        types.map(|(&name, &(cell_type, nullable))| (name, cell_type, nullable))
    }

    /// Number of rows handled so far, including rows that the selection skipped unread.
    pub fn rows_seen(&self) -> u64 {
        self.rows_seen
    }

    /// Reads the next batch; `None` after the last.
    ///
    /// # Errors
    /// A file cannot be read, or is damaged.
    pub fn next_batch(&mut self) -> Result<Option<Batch>, CaptureError> {
        loop {
            let Some(open) = &mut self.open else {
                let Some(path) = self.files.next() else {
                    return Ok(None);
                };
                self.open = Some(Open::new(path)?);
                continue;
            };
            let (wanted, seen) = (&self.wanted, &mut self.rows_seen);
            let there = open.rows_left > 0
                || open.next_group(&self.table, |group| {
                    let may = wanted.may_be_in(group);
                    if !may {
                        *seen += u64::try_from(group.num_rows()).unwrap_or(0);
                    }
                    may
                })?;
            if !there {
                self.open = None;
                continue;
            }
            let rows = open.rows_left.min(BATCH_ROWS);
            let types = self.types.iter().map(|t| t.0);
            let columns = open.cells(types, rows)?;
            *seen += rows as u64;
            return Ok(Some(self.batch(columns, rows)));
        }
    }

    fn batch(&self, columns: Vec<Cells>, rows: usize) -> Batch {
        let mut columns: Vec<_> = self.table.names.iter().copied().zip(columns).collect();
        let place = |name: &str| columns.iter().position(|c| c.0 == name);
        let places = self.wanted.columns().map(place);
        let cell = |i: usize, row| columns[places[i]?].1.unsigned(row);
        let rows = (0..rows).filter(|&row| self.wanted.has(|i| cell(i, row)));
        let rows = rows.collect();
        columns.truncate(self.chosen);
        Batch { columns, rows }
    }
}

impl Open {
    /// Reads the next `rows` of the present row group. A column that the file lacks, because
    /// the file is older, has no values.
    fn cells(
        &mut self,
        types: impl Iterator<Item = CellType>,
        rows: usize,
    ) -> Result<Vec<Cells>, CaptureError> {
        let group = self.group();
        let columns = types.zip(&mut self.chunks).map(|(cell_type, chunk)| {
            let Some((place, form, chunk)) = chunk else {
                return Ok(Cells::none(cell_type, rows));
            };
            self.file
                .read(group, *place, || Cells::read(cell_type, *form, chunk, rows))
        });
        let columns = columns.collect();
        self.rows_left -= rows;
        columns
    }
}

impl Cells {
    fn none(cell_type: CellType, rows: usize) -> Self {
        use CellType as T;
        match cell_type {
            T::U8 | T::U16 | T::U32 | T::U64 => Self::Unsigned(vec![None; rows]),
            T::I32 | T::I64 => Self::Signed(vec![None; rows]),
            T::F64 => Self::Float(vec![None; rows]),
            T::Bool => Self::Truth(vec![None; rows]),
            T::Text => Self::Text(vec![None; rows]),
        }
    }

    /// Reads the next `rows` values.
    fn read(
        cell_type: CellType,
        form: Form,
        chunk: &mut ColumnReader,
        rows: usize,
    ) -> Result<Self, ParquetError> {
        use CellType as T;
        Ok(match cell_type {
            T::U8 | T::U16 | T::U32 => Self::Unsigned(widened(U32::read(chunk, form, rows)?)),
            T::U64 => Self::Unsigned(U64::read(chunk, form, rows)?),
            T::I32 => Self::Signed(widened(I32::read(chunk, form, rows)?)),
            T::I64 => Self::Signed(I64::read(chunk, form, rows)?),
            T::F64 => Self::Float(F64::read(chunk, form, rows)?),
            T::Bool => Self::Truth(Bool::read(chunk, form, rows)?),
            T::Text => Self::Text(Text::read(chunk, form, rows)?),
        })
    }

    /// Returns the value of a row if the column is unsigned.
    pub fn unsigned(&self, row: usize) -> Option<u64> {
        match self {
            Self::Unsigned(v) => v.get(row).copied().flatten(),
            _ => None,
        }
    }
}

fn widened<T, U: From<T>>(values: Vec<Option<T>>) -> Vec<Option<U>> {
    values.into_iter().map(|v| v.map(U::from)).collect()
}

/// Returns the type of a column in the capture's own schema.
fn cell_type(descr: &ColumnDescriptor) -> CellType {
    match (descr.physical_type(), descr.converted_type()) {
        (_, ConvertedType::UINT_8) => CellType::U8,
        (_, ConvertedType::UINT_16) => CellType::U16,
        (_, ConvertedType::UINT_32) => CellType::U32,
        (_, ConvertedType::UINT_64) => CellType::U64,
        (Type::INT32, _) => CellType::I32,
        (Type::INT64, _) => CellType::I64,
        (Type::DOUBLE, _) => CellType::F64,
        (Type::BOOLEAN, _) => CellType::Bool,
        _ => CellType::Text,
    }
}

fn is_nullable(descr: &ColumnDescriptor) -> bool {
    descr.max_def_level() > 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::store;

    /// Writes 20 000 rows in several files; every tenth packet was dropped.
    fn capture() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let row = |n: u64| PostcardRow {
            order: n,
            node_id: 1,
            flow_id: n % 3,
            ingress_ns: 5_000_000 * n,
            egress_ns: 5_000_000 * n + 7,
            dropped: n % 10 == 3,
            ..PostcardRow::default()
        };
        store(dir.path(), 1000, (0..20_000).map(row));
        dir
    }

    fn read(dir: &Path, chosen: &[&str], selection: &Selection) -> Vec<Vec<Option<u64>>> {
        let chosen: Vec<String> = chosen.iter().map(|&c| c.to_owned()).collect();
        let mut columns = Columns::open(dir, "postcards", Some(&chosen), selection).unwrap();
        let mut all = vec![Vec::new(); chosen.len()];
        while let Some(batch) = columns.next_batch().unwrap() {
            assert_eq!(batch.columns.len(), chosen.len());
            for (to, (_, cells)) in all.iter_mut().zip(&batch.columns) {
                to.extend(batch.rows.iter().map(|&row| cells.unsigned(row)));
            }
        }
        assert_eq!(columns.rows_seen(), 20_000);
        all
    }

    #[test]
    fn every_row_of_every_file_is_given_and_absent_values_stay_absent() {
        let dir = capture();
        assert!(files(dir.path(), "postcards").unwrap().len() > 1);
        let all = read(dir.path(), &["egress_ns", "order"], &Selection::default());
        let order: Vec<_> = (0..20_000).map(Some).collect();
        assert_eq!(all[1], order);
        let left = |n: u64| (n % 10 != 3).then_some(5_000_000 * n + 7);
        assert_eq!(all[0], (0..20_000).map(left).collect::<Vec<_>>());
    }

    #[test]
    fn a_selection_works_by_columns_that_were_not_chosen() {
        let dir = capture();
        let flow = Selection {
            flow_id: Some(2),
            ..Selection::default()
        };
        let all = read(dir.path(), &["order"], &flow);
        let expected = (0..20_000).filter(|n| n % 3 == 2).map(Some);
        assert_eq!(all[0], expected.collect::<Vec<_>>());
    }

    #[test]
    fn what_is_not_there_is_an_error_that_names_what_is() {
        let dir = capture();
        let open = |table, column: &str| {
            let chosen = [column.to_owned()];
            let columns = Columns::open(dir.path(), table, Some(&chosen), &Selection::default());
            columns.err().unwrap().to_string()
        };
        let said = open("packets", "order");
        assert!(said.contains("postcards, tcp_probe, events"), "{said}");
        let said = open("events", "egress_ns");
        assert!(
            said.contains("egress_ns") && said.contains("handshake_rtt_ns"),
            "{said}"
        );
    }
}
