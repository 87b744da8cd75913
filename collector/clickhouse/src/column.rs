// SPDX-License-Identifier: Apache-2.0
//! Columns in ClickHouse's Native format, filled from rows.

/// A fixed-width value.
pub trait Value: Copy + Default {
    const TYPE: &'static str;
    const NULLABLE: &'static str;
    const WIDTH: usize;
    /// Writes the value to `out`, which has `WIDTH` bytes.
    fn put(self, out: &mut [u8]);
}

macro_rules! number {
    ($($t:ty => $name:literal;)*) => {$(
        impl Value for $t {
            const TYPE: &'static str = $name;
            const NULLABLE: &'static str = concat!("Nullable(", $name, ")");
            const WIDTH: usize = size_of::<$t>();
            #[inline(always)]
            fn put(self, out: &mut [u8]) {
                out.copy_from_slice(&self.to_le_bytes());
            }
        }
    )*};
}

number! {
    u8 => "UInt8";
    u16 => "UInt16";
    u32 => "UInt32";
    u64 => "UInt64";
    i32 => "Int32";
    i64 => "Int64";
    f64 => "Float64";
}

impl Value for bool {
    const TYPE: &'static str = "Bool";
    const NULLABLE: &'static str = "Nullable(Bool)";
    const WIDTH: usize = 1;
    #[inline(always)]
    fn put(self, out: &mut [u8]) {
        out.copy_from_slice(&[u8::from(self)]);
    }
}

/// Values of one column collected so far.
#[derive(Debug, Default)]
pub struct Data {
    /// One byte per row, 1 for NULL; empty if the column is not nullable.
    pub nulls: Vec<u8>,
    pub values: Vec<u8>,
}

impl Data {
    pub fn clear(&mut self) {
        self.nulls.clear();
        self.values.clear();
    }

    /// Appends numbers.
    #[inline(always)]
    pub fn plain<R, T: Value>(&mut self, rows: &[R], get: impl Fn(&R) -> T) {
        let start = self.values.len();
        self.values.resize(start + rows.len() * T::WIDTH, 0);
        let out = self.values[start..].chunks_exact_mut(T::WIDTH);
        for (row, out) in rows.iter().zip(out) {
            get(row).put(out);
        }
    }

    /// Appends numbers that may be absent.
    #[inline(always)]
    pub fn nullable<R, T: Value>(&mut self, rows: &[R], get: impl Fn(&R) -> Option<T>) {
        let start = self.values.len();
        self.values.resize(start + rows.len() * T::WIDTH, 0);
        let out = self.values[start..].chunks_exact_mut(T::WIDTH);
        for (row, out) in rows.iter().zip(out) {
            let value = get(row);
            self.nulls.push(u8::from(value.is_none()));
            value.unwrap_or_default().put(out);
        }
    }

    /// Appends strings.
    pub fn text<R>(&mut self, rows: &[R], get: impl Fn(&R) -> &str) {
        for row in rows {
            let s = get(row);
            varint(&mut self.values, s.len() as u64);
            self.values.extend_from_slice(s.as_bytes());
        }
    }
}

/// Appends `v` as LEB128, ClickHouse's encoding of lengths.
pub(crate) fn varint(out: &mut Vec<u8>, mut v: u64) {
    while v >= 0x80 {
        out.push(v as u8 | 0x80);
        v >>= 7;
    }
    out.push(v as u8);
}

/// A column of a table with rows of type `R`.
pub struct Column<R: 'static> {
    pub name: &'static str,
    /// Type as ClickHouse spells it.
    pub kind: &'static str,
    pub append: fn(&[R], &mut Data),
}

/// Defines a table's columns: name, `num`/`opt`/`text`, type, getter.
macro_rules! columns {
    ($row:ty; $($name:ident $how:ident $kind:tt |$r:ident| $get:expr;)*) => {
        &[$($crate::column::Column {
            name: stringify!($name),
            kind: columns!(@kind $how $kind),
            append: |rows: &[$row], data| columns!(@put $how $kind data, rows, |$r: &$row| $get),
        }),*]
    };
    (@kind num $kind:ident) => { <$kind as $crate::column::Value>::TYPE };
    (@kind opt $kind:ident) => { <$kind as $crate::column::Value>::NULLABLE };
    (@kind text $kind:ident) => { "String" };
    (@put num $kind:ident $data:ident, $rows:ident, $get:expr) => {
        $data.plain::<_, $kind>($rows, $get)
    };
    (@put opt $kind:ident $data:ident, $rows:ident, $get:expr) => {
        $data.nullable::<_, $kind>($rows, $get)
    };
    (@put text $kind:ident $data:ident, $rows:ident, $get:expr) => {
        $data.text($rows, $get)
    };
}
pub(crate) use columns;
