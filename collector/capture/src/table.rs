// SPDX-License-Identifier: Apache-2.0
//! Rows to record batches and back, from one list of columns per table.

use crate::error::CaptureError;
use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, BooleanArray, DictionaryArray, Int32Array, PrimitiveArray,
    RecordBatch, StringArray,
};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use arrow::datatypes::{
    DataType, Field, Float64Type, Int32Type, Int64Type, Schema, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use std::collections::HashMap;
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
    fn data_type() -> DataType;
    /// The column of `rows`; a column that is not `nullable` has every value.
    fn build<R>(rows: &[R], nullable: bool, get: impl Fn(&R) -> Option<Self::Value>) -> ArrayRef;
    fn get(array: &dyn Array) -> Option<Vec<Option<Self::Value>>>;
}

fn nulls<R, V>(rows: &[R], get: &impl Fn(&R) -> Option<V>) -> NullBuffer {
    let valid = BooleanBuffer::collect_bool(rows.len(), |i| {
        rows.get(i).is_some_and(|r| get(r).is_some())
    });
    NullBuffer::new(valid)
}

/// Numbers.
pub struct Number<T>(T);

impl<T: ArrowPrimitiveType> Kind for Number<T> {
    type Value = T::Native;
    fn data_type() -> DataType {
        T::DATA_TYPE
    }
    fn build<R>(rows: &[R], nullable: bool, get: impl Fn(&R) -> Option<T::Native>) -> ArrayRef {
        let values: Vec<T::Native> = rows.iter().map(|r| get(r).unwrap_or_default()).collect();
        let nulls = nullable.then(|| nulls(rows, &get));
        Arc::new(PrimitiveArray::<T>::new(values.into(), nulls))
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
    fn data_type() -> DataType {
        DataType::Boolean
    }
    fn build<R>(rows: &[R], nullable: bool, get: impl Fn(&R) -> Option<bool>) -> ArrayRef {
        let values = BooleanBuffer::collect_bool(rows.len(), |i| {
            rows.get(i).and_then(&get).unwrap_or(false)
        });
        let nulls = nullable.then(|| nulls(rows, &get));
        Arc::new(BooleanArray::new(values, nulls))
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
    fn data_type() -> DataType {
        DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
    }
    fn build<R>(rows: &[R], _: bool, get: impl Fn(&R) -> Option<Arc<str>>) -> ArrayRef {
        let mut words: Vec<Arc<str>> = Vec::new();
        let mut known: HashMap<Arc<str>, i32> = HashMap::new();
        // Mostly the same word again and again.
        let mut last: Option<(Arc<str>, i32)> = None;
        let keys: Int32Array = rows
            .iter()
            .map(|r| {
                let word = get(r)?;
                if let Some((same, key)) = &last
                    && (Arc::ptr_eq(same, &word) || *same == word)
                {
                    return Some(*key);
                }
                let key = *known.entry(word.clone()).or_insert_with(|| {
                    words.push(word.clone());
                    (words.len() - 1) as i32
                });
                last = Some((word, key));
                Some(key)
            })
            .collect();
        let words: StringArray = words.iter().map(|w| Some(&**w)).collect();
        Arc::new(DictionaryArray::<Int32Type>::new(keys, Arc::new(words)))
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
    build: fn(&[R]) -> ArrayRef,
    read: fn(&dyn Array, &mut [R]) -> bool,
}

impl<R> Column<R> {
    pub fn new(
        name: &'static str,
        layout: Layout,
        nullable: bool,
        data_type: fn() -> DataType,
        build: fn(&[R]) -> ArrayRef,
        read: fn(&dyn Array, &mut [R]) -> bool,
    ) -> Self {
        Self {
            name,
            layout,
            nullable,
            data_type,
            build,
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
                |rows| {
                    let nullable = [$(columns!(@null $null))?].contains(&true);
                    <$crate::table::$kind as $crate::table::Kind>::build(
                        rows, nullable, |$r| $get)
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
/// When arrow refuses the columns, which would be a bug.
pub fn to_batch<R: Stored>(rows: &[R], schema: &Arc<Schema>) -> Result<RecordBatch, CaptureError> {
    let arrays = R::columns().iter().map(|c| (c.build)(rows)).collect();
    Ok(RecordBatch::try_new(schema.clone(), arrays)?)
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
