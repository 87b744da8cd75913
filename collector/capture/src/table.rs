// SPDX-License-Identifier: Apache-2.0
//! Converts rows to columns of values, and column chunks back to rows, with one list of
//! columns per table.

use crate::form::{Cell, Form};
use crate::levels::{read, spread};
use crate::values::Values;
use parquet::basic::{LogicalType, Repetition};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type,
};
use parquet::errors::{ParquetError, Result};
use parquet::schema::types::{SchemaDescriptor, Type};
use std::sync::Arc;

/// Kind of values in a column, which decides its Parquet encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// The column has few distinct values.
    Dictionary,
    /// Consecutive values are close.
    Delta,
    /// Neither of the above.
    Plain,
}

/// Physical Parquet type of a column.
pub trait Physical: DataType + Sized {
    /// Returns the typed reader; `None` if the column has another type.
    fn reader(column: &mut ColumnReader) -> Option<&mut ColumnReaderImpl<Self>>;
}

macro_rules! physical {
    ($($stored:ident $reader:ident;)*) => {$(
        impl Physical for $stored {
            fn reader(column: &mut ColumnReader) -> Option<&mut ColumnReaderImpl<Self>> {
                match column {
                    ColumnReader::$reader(reader) => Some(reader),
                    _ => None,
                }
            }
        }
    )*};
}
physical! {
    BoolType BoolColumnReader;
    Int32Type Int32ColumnReader;
    Int64Type Int64ColumnReader;
    DoubleType DoubleColumnReader;
    ByteArrayType ByteArrayColumnReader;
}

/// Type of a column.
pub trait Kind {
    type Value;
    /// Value that a row provides; text is borrowed from the row.
    type Given<'a>;
    type Stored: Physical;
    /// Logical type of the values, if it says more than the stored type.
    fn logical_type() -> Option<LogicalType>;
    /// Appends this column of `rows`; if not `nullable`, every row has a value.
    fn gather<R>(
        rows: &[R],
        nullable: bool,
        get: impl for<'a> Fn(&'a R) -> Option<Self::Given<'a>>,
        to: &mut Values,
    );
    fn value(stored: <Self::Stored as DataType>::T) -> Result<Self::Value>;
    /// Converts a value stored in another form.
    fn converted(cell: Cell) -> Result<Self::Value>;
    /// Reads the next `rows` values of a column in this form.
    fn read(
        column: &mut ColumnReader,
        form: Form,
        rows: usize,
    ) -> Result<Vec<Option<Self::Value>>> {
        if form != Form::Own {
            let cells = form.cells(column, rows)?.into_iter();
            return cells
                .map(|cell| cell.map(Self::converted).transpose())
                .collect();
        }
        let Some(column) = Self::Stored::reader(column) else {
            let stored = Self::Stored::get_physical_type();
            return Err(ParquetError::General(format!("is not stored as {stored}")));
        };
        let (stored, levels) = read(column, rows)?;
        spread(stored.into_iter().map(Self::value), levels)
    }
}

/// Appends a numeric column of rows.
#[inline(always)]
fn gather<R, V>(
    rows: &[R],
    nullable: bool,
    get: impl Fn(&R) -> Option<V>,
    bits: impl Fn(V) -> u64,
    to: &mut Values,
) {
    if nullable {
        to.valid.reserve(rows.len());
        to.bits.reserve(rows.len());
        for row in rows {
            let value = get(row);
            to.valid.push(value.is_some());
            if let Some(value) = value {
                to.bits.push(bits(value));
            }
        }
    } else {
        let value = |row| get(row).map_or(0, &bits);
        to.bits.extend(rows.iter().map(value));
    }
}

/// Numbers as 64 bits: unsigned numbers are zero-extended, signed numbers sign-extended.
macro_rules! numbers {
    ($($name:ident: $number:ty, $stored:ty, $logical:expr, $bits:expr, $value:expr, $cell:expr;)*) => {$(
        pub(crate) struct $name;

        impl Kind for $name {
            type Value = $number;
            type Given<'a> = $number;
            type Stored = $stored;
            fn logical_type() -> Option<LogicalType> {
                $logical
            }
            fn gather<R>(
                rows: &[R],
                nullable: bool,
                get: impl Fn(&R) -> Option<$number>,
                to: &mut Values,
            ) {
                gather(rows, nullable, get, $bits, to);
            }
            fn value(stored: <$stored as DataType>::T) -> Result<$number> {
                Ok($value(stored))
            }
            fn converted(cell: Cell) -> Result<$number> {
                $cell(cell)
            }
        }
    )*};
}
numbers! {
    U8: u8, Int32Type, unsigned(8), u64::from, |v| v as u8, Cell::whole;
    U16: u16, Int32Type, unsigned(16), u64::from, |v| v as u16, Cell::whole;
    U32: u32, Int32Type, unsigned(32), u64::from, |v| v as u32, Cell::whole;
    U64: u64, Int64Type, unsigned(64), |v| v, |v| v as u64, Cell::whole;
    I32: i32, Int32Type, None, |v| i64::from(v) as u64, |v| v, Cell::whole;
    I64: i64, Int64Type, None, |v| v as u64, |v| v, Cell::whole;
    F64: f64, DoubleType, None, f64::to_bits, |v| v, |c: Cell| Ok(c.float());
    Bool: bool, BoolType, None, u64::from, |v| v, |c: Cell| c.whole::<u8>().map(|v| v != 0);
}

fn unsigned(bit_width: i8) -> Option<LogicalType> {
    Some(LogicalType::integer(bit_width, false))
}

/// Strings with few distinct values.
pub(crate) struct Text;

impl Kind for Text {
    type Value = Arc<str>;
    type Given<'a> = &'a str;
    type Stored = ByteArrayType;
    fn logical_type() -> Option<LogicalType> {
        Some(LogicalType::String)
    }
    fn gather<R>(
        rows: &[R],
        nullable: bool,
        get: impl for<'a> Fn(&'a R) -> Option<&'a str>,
        to: &mut Values,
    ) {
        for row in rows {
            let word = get(row);
            if nullable {
                to.valid.push(word.is_some());
            }
            if word.is_some() || !nullable {
                to.word(word.unwrap_or_default());
            }
        }
    }
    fn value(stored: ByteArray) -> Result<Arc<str>> {
        stored.as_utf8().map(Arc::from)
    }
    fn converted(_: Cell) -> Result<Arc<str>> {
        Err(ParquetError::General("holds numbers, not text".into()))
    }
}

/// Reads a column of the next rows into them.
type ReadColumn<R> = fn(&mut ColumnReader, Form, &mut [R]) -> Result<()>;

/// One column of a table with rows of type `R`.
pub struct Column<R> {
    pub name: &'static str,
    pub layout: Layout,
    pub nullable: bool,
    /// Returns the column's field in the file's schema.
    parquet_type: fn(name: &str, nullable: bool) -> Result<Type>,
    /// Appends this column of some rows to the column's values.
    pub gather: fn(&[R], &mut Values),
    pub read: ReadColumn<R>,
}

impl<R> Column<R> {
    pub fn new<K: Kind>(
        name: &'static str,
        layout: Layout,
        nullable: bool,
        gather: fn(&[R], &mut Values),
        read: ReadColumn<R>,
    ) -> Self {
        Self {
            name,
            layout,
            nullable,
            parquet_type: parquet_type::<K>,
            gather,
            read,
        }
    }
}

fn parquet_type<K: Kind>(name: &str, nullable: bool) -> Result<Type> {
    Type::primitive_type_builder(name, K::Stored::get_physical_type())
        .with_logical_type(K::logical_type())
        .with_repetition(if nullable {
            Repetition::OPTIONAL
        } else {
            Repetition::REQUIRED
        })
        .build()
}

/// Defines the columns of a row type: name, kind, layout, reader, writer.
macro_rules! columns {
    ($row:ty; $($name:literal $kind:ident $layout:ident $(? $null:tt)?
        |$r:ident| $get:expr, |$w:ident, $v:ident| $set:expr;)*) => {
        vec![$({
            #[allow(unused_mut, unused_assignments)]
            let mut nullable = false;
            $(nullable = columns!(@null $null);)?
            $crate::table::Column::<$row>::new::<$crate::table::$kind>(
                $name,
                $crate::table::Layout::$layout,
                nullable,
                |rows, to| {
                    let nullable = [$(columns!(@null $null))?].contains(&true);
                    <$crate::table::$kind as $crate::table::Kind>::gather(
                        rows, nullable, |$r| $get, to);
                },
                |column, form, rows| {
                    let values = <$crate::table::$kind as $crate::table::Kind>::read(
                        column, form, rows.len())?;
                    if ![$(columns!(@null $null))?].contains(&true) {
                        $crate::levels::all_there(&values)?;
                    }
                    for ($w, $v) in rows.iter_mut().zip(values) { $set }
                    Ok(())
                },
            )
        }),*]
    };
    (@null null) => { true };
}
pub(crate) use columns;

/// A type of row that is stored in a table.
pub trait Stored: Clone + Default + Send + 'static {
    /// Name of the table, which starts its file names.
    const TABLE: &'static str;
    /// Columns that older captures lack; they are read as the default value.
    const ADDED: &'static [&'static str] = &[];
    /// Columns of the table, `order` first.
    fn columns() -> Vec<Column<Self>>;
    fn order(&self) -> u64;
    /// Called when all columns that are read have been set.
    fn complete(&mut self) {}
}

/// Returns the schema of a table's files.
pub(crate) fn schema<R: Stored>() -> Result<SchemaDescriptor> {
    let fields: Result<Vec<_>> = R::columns()
        .iter()
        .map(|c| (c.parquet_type)(c.name, c.nullable).map(Arc::new))
        .collect();
    let root = Type::group_type_builder("schema").with_fields(fields?);
    Ok(SchemaDescriptor::new(Arc::new(root.build()?)))
}
