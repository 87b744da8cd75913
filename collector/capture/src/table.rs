// SPDX-License-Identifier: Apache-2.0
//! Rows to columns of values and back from record batches, by one list of columns
//! per table.

use crate::error::CaptureError;
use crate::values::Values;
use arrow_array::types::{
    Float64Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrowPrimitiveType, BooleanArray, DictionaryArray, PrimitiveArray, RecordBatch,
    StringArray,
};
use arrow_schema::{DataType, Field, Schema};
use std::sync::Arc;

/// How a column is laid out in Parquet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Few distinct values.
    Dictionary,
    /// Neighbours are close.
    Delta,
    /// Neither.
    Plain,
}

/// A column's type.
pub trait Kind {
    type Value;
    /// What a row gives; of text, a part of it.
    type Given<'a>;
    fn data_type() -> DataType;
    /// Adds the column of `rows`; one that is not `nullable` has every value.
    fn gather<R>(
        rows: &[R],
        nullable: bool,
        get: impl for<'a> Fn(&'a R) -> Option<Self::Given<'a>>,
        to: &mut Values,
    );
    fn get(array: &dyn Array) -> Option<Vec<Option<Self::Value>>>;
}

/// Gathers what is a number of some kind.
#[inline(always)]
fn gather<R, V>(
    rows: &[R],
    nullable: bool,
    get: impl Fn(&R) -> Option<V>,
    bits: impl Fn(V) -> u64,
    to: &mut Values,
) {
    if nullable {
        for row in rows {
            let value = get(row);
            to.valid.push(value.is_some());
            to.bits.extend(value.map(&bits));
        }
    } else {
        let value = |row| get(row).map_or(0, &bits);
        to.bits.extend(rows.iter().map(value));
    }
}

/// Numbers as 64 bits: unsigned ones filled with zeros, signed with their sign.
pub trait Bits {
    fn bits(self) -> u64;
}

macro_rules! bits {
    ($($number:ty: $as:expr;)*) => {$(
        impl Bits for $number {
            #[inline(always)]
            fn bits(self) -> u64 {
                $as(self)
            }
        }
    )*};
}
bits! {
    u8: u64::from;
    u16: u64::from;
    u32: u64::from;
    u64: |v| v;
    i32: |v| i64::from(v) as u64;
    i64: |v| v as u64;
    f64: f64::to_bits;
}

/// Numbers.
pub struct Number<T>(T);

impl<T: ArrowPrimitiveType<Native: Bits>> Kind for Number<T> {
    type Value = T::Native;
    type Given<'a> = T::Native;
    fn data_type() -> DataType {
        T::DATA_TYPE
    }
    fn gather<R>(
        rows: &[R],
        nullable: bool,
        get: impl Fn(&R) -> Option<T::Native>,
        to: &mut Values,
    ) {
        gather(rows, nullable, get, Bits::bits, to);
    }
    fn get(array: &dyn Array) -> Option<Vec<Option<T::Native>>> {
        let array = array.as_any().downcast_ref::<PrimitiveArray<T>>()?;
        Some(array.iter().collect())
    }
}

pub type U8 = Number<UInt8Type>;
pub type U16 = Number<UInt16Type>;
pub type U32 = Number<UInt32Type>;
pub type U64 = Number<UInt64Type>;
pub type I32 = Number<Int32Type>;
pub type I64 = Number<Int64Type>;
pub type F64 = Number<Float64Type>;

/// Truth values.
pub struct Bool;

impl Kind for Bool {
    type Value = bool;
    type Given<'a> = bool;
    fn data_type() -> DataType {
        DataType::Boolean
    }
    fn gather<R>(rows: &[R], nullable: bool, get: impl Fn(&R) -> Option<bool>, to: &mut Values) {
        gather(rows, nullable, get, u64::from, to);
    }
    fn get(array: &dyn Array) -> Option<Vec<Option<bool>>> {
        let array = array.as_any().downcast_ref::<BooleanArray>()?;
        Some(array.iter().collect())
    }
}

/// Strings of few distinct values.
pub struct Text;

impl Kind for Text {
    type Value = Arc<str>;
    type Given<'a> = &'a str;
    fn data_type() -> DataType {
        DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
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
    fn get(array: &dyn Array) -> Option<Vec<Option<Arc<str>>>> {
        let own = |v: Option<&str>| v.map(Arc::from);
        if let Some(a) = array.as_any().downcast_ref::<DictionaryArray<Int32Type>>() {
            let a = a.downcast_dict::<StringArray>()?;
            return Some(a.into_iter().map(own).collect());
        }
        let a = array.as_any().downcast_ref::<StringArray>()?;
        Some(a.iter().map(own).collect())
    }
}

/// One column of a table of `R`.
pub struct Column<R> {
    pub name: &'static str,
    pub layout: Layout,
    pub nullable: bool,
    data_type: fn() -> DataType,
    /// Adds the column of some rows to its values.
    pub gather: fn(&[R], &mut Values),
    read: fn(&dyn Array, &mut [R]) -> bool,
}

impl<R> Column<R> {
    pub fn new(
        name: &'static str,
        layout: Layout,
        nullable: bool,
        data_type: fn() -> DataType,
        gather: fn(&[R], &mut Values),
        read: fn(&dyn Array, &mut [R]) -> bool,
    ) -> Self {
        Self {
            name,
            layout,
            nullable,
            data_type,
            gather,
            read,
        }
    }
}

/// Defines the columns of a row type: name, kind, layout, reader, writer.
macro_rules! columns {
    ($row:ty; $($name:literal $kind:ident $layout:ident $(? $null:tt)?
        |$r:ident| $get:expr, |$w:ident, $v:ident| $set:expr;)*) => {
        vec![$({
            #[allow(unused_mut, unused_assignments)]
            let mut nullable = false;
            $(nullable = columns!(@null $null);)?
            $crate::table::Column::<$row>::new(
                $name,
                $crate::table::Layout::$layout,
                nullable,
                <$crate::table::$kind as $crate::table::Kind>::data_type,
                |rows, to| {
                    let nullable = [$(columns!(@null $null))?].contains(&true);
                    <$crate::table::$kind as $crate::table::Kind>::gather(
                        rows, nullable, |$r| $get, to);
                },
                |array, rows| {
                    let Some(values) = <$crate::table::$kind as $crate::table::Kind>::get(array)
                    else { return false };
                    for ($w, $v) in rows.iter_mut().zip(values) { $set }
                    true
                },
            )
        }),*]
    };
    (@null null) => { true };
}
pub(crate) use columns;

/// A row type that is stored.
pub trait Stored: Clone + Default + Send + 'static {
    /// File name prefix.
    const TABLE: &'static str;
    /// Its columns, `order` first.
    fn columns() -> Vec<Column<Self>>;
    fn order(&self) -> u64;
}

/// Arrow schema of a table.
pub fn schema<R: Stored>() -> Arc<Schema> {
    let fields: Vec<Field> = R::columns()
        .iter()
        .map(|c| Field::new(c.name, (c.data_type)(), c.nullable))
        .collect();
    Arc::new(Schema::new(fields))
}

/// # Errors
/// When a column is missing or of another type.
pub fn from_batch<R: Stored>(batch: &RecordBatch) -> Result<Vec<R>, CaptureError> {
    let mut rows = vec![R::default(); batch.num_rows()];
    for column in R::columns() {
        let wrong = |what| CaptureError::Column {
            table: R::TABLE,
            column: column.name,
            what,
        };
        let array = batch
            .column_by_name(column.name)
            .ok_or_else(|| wrong("is missing"))?;
        if !(column.read)(array.as_ref(), &mut rows) {
            return Err(wrong("has another type"));
        }
    }
    Ok(rows)
}
