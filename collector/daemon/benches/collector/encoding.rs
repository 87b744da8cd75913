// SPDX-License-Identifier: Apache-2.0
//! The capture's page encoder compared with a plain one: the column writer of the library
//! `parquet`, given the same columns, layouts, pages and compression. Both run in turns, on the
//! rows of runs with known truth.

use crate::figure::{RUNS, Row, per_core};
use crate::store::size;
use parquet::basic::{Compression, Encoding, LogicalType, Repetition, ZstdLevel};
use parquet::column::page::{CompressedPage, PageWriteSpec, PageWriter};
use parquet::column::writer::{ColumnWriter, get_column_writer, get_typed_column_writer_mut};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type,
};
use parquet::errors::Result;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::file::writer::{SerializedFileWriter, SerializedPageWriter, TrackedWrite};
use parquet::schema::types::{ColumnPath, SchemaDescriptor, Type};
use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use test_support::golden::Run;
use tidemark_capture::{
    AnyRow, CaptureMeta, CaptureWriter, FORMAT, FlatEvent, Merged, NamedProbe, WriterOptions,
};
use tidemark_collector::import::{ImportOptions, import};
use tidemark_pipeline::{Absent, Event, EventRow, PostcardRow, ProbeRow};

const GOLDEN: [&str; 2] = ["bscl_n60_bdp", "reno_n16_sqrt"];
/// Rows per call of either encoder.
const BATCH_ROWS: usize = 2048;
const PAGE_ROWS: usize = 8192;
const ZSTD_LEVEL: i32 = 3;
/// Dictionary limit that allows as many entries as the capture's.
const DICTIONARY_BYTES: usize = 4 << 16;

pub(crate) fn encode() -> Row {
    let (postcards, probes) = golden_rows();
    let rows = (postcards.len() + probes.len()) as u64;
    let (mut library, mut bytes) = (Vec::new(), [0.0; 2]);
    let what = "encode, compress and store rows of a capture, per core";
    let mut row = Row::median(what, 0.0, || {
        let dir = tempfile::tempdir().unwrap();
        library.push(per_core(rows, || {
            plain(dir.path(), &postcards).unwrap();
            plain(dir.path(), &probes).unwrap();
        }));
        bytes[1] = stored(dir.path()) / rows as f64;
        let dir = tempfile::tempdir().unwrap();
        let own = per_core(rows, || own(dir.path(), &postcards, &probes));
        bytes[0] = stored(dir.path()) / rows as f64;
        own
    });
    library.sort_by(f64::total_cmp);
    let library = library[RUNS / 2];
    row.note = format!(
        "the library's column writer {:.2}: ratio {:.2}; {:.2} and {:.2} bytes per row",
        library / 1e6,
        row.value / library,
        bytes[0],
        bytes[1]
    );
    row
}

fn stored(dir: &Path) -> f64 {
    (size(dir, "postcards-") + size(dir, "tcp_probe-")) as f64
}

/// Postcards and samples of the runs, one run after the other.
fn golden_rows() -> (Vec<PostcardRow>, Vec<NamedProbe>) {
    let (mut postcards, mut probes) = (Vec::new(), Vec::new());
    for name in GOLDEN {
        let dir = tempfile::tempdir().unwrap();
        Run::golden(name).unwrap().write(dir.path()).unwrap();
        let out = dir.path().join("capture");
        import(&ImportOptions {
            pcap: dir.path().join("reports.pcap.gz"),
            tcp_probe: vec![dir.path().join("tcp_probe.txt.gz").as_path().into()],
            out: out.clone(),
            ..ImportOptions::default()
        })
        .unwrap();
        let mut merged = Merged::open(&out).unwrap();
        while let Some(row) = merged.next_row().unwrap() {
            match row {
                AnyRow::Postcard(row) => postcards.push(*row),
                AnyRow::Probe(row) => probes.push(*row),
                AnyRow::Event(_) => {}
            }
        }
    }
    (postcards, probes)
}

fn own(dir: &Path, postcards: &[PostcardRow], probes: &[NamedProbe]) {
    let meta = CaptureMeta {
        format: FORMAT,
        ..CaptureMeta::default()
    };
    let options = WriterOptions {
        zstd_level: ZSTD_LEVEL,
        wait_when_full: true,
        ..WriterOptions::default()
    };
    let disk = durable_fs::real();
    let (mut writer, mut steps) = CaptureWriter::stepped(disk, dir, meta, options).unwrap();
    let now = Duration::ZERO;
    for rows in postcards.chunks(BATCH_ROWS) {
        rows.iter().for_each(|row| writer.postcard(row));
        steps.step(now).unwrap();
    }
    if let Some(probe) = probes.first() {
        let name = probe.host.to_string();
        let event = Event::Host { host: 0, name };
        writer.event(&EventRow { order: 0, event });
    }
    for rows in probes.chunks(BATCH_ROWS) {
        let rows: Vec<ProbeRow> = rows.iter().map(|probe| probe.row).collect();
        rows.iter().for_each(|row| writer.probe(row));
        steps.step(now).unwrap();
    }
    writer.close();
    steps.end(now).unwrap();
}

/// Writes a table's file with the library.
fn plain<R: Stored>(dir: &Path, rows: &[R]) -> Result<()> {
    let columns = R::columns();
    let fields: Result<Vec<_>> = columns.iter().map(|c| (c.field)(c).map(Arc::new)).collect();
    let schema = Type::group_type_builder("schema").with_fields(fields?);
    let schema = Arc::new(schema.build()?);
    let file = File::create(dir.join(format!("{}-0000.parquet", R::TABLE)))?;
    let properties = Arc::new(properties(&columns));
    let mut file = SerializedFileWriter::new(file, schema.clone(), properties.clone())?;
    let schema = SchemaDescriptor::new(schema);
    let writer = |descr| {
        let pages = Pages::default();
        let properties = properties.clone();
        (
            get_column_writer(descr, properties, Box::new(pages.clone())),
            pages,
        )
    };
    let mut writers: Vec<_> = schema.columns().iter().cloned().map(writer).collect();
    for rows in rows.chunks(BATCH_ROWS) {
        for (column, (writer, _)) in columns.iter().zip(&mut writers) {
            (column.write)(rows, column.nullable, writer)?;
        }
    }
    let mut group = file.next_row_group()?;
    for (writer, pages) in writers {
        let close = writer.close()?;
        let bytes = std::mem::take(&mut *pages.0.lock().unwrap());
        group.append_column(&bytes::Bytes::from(bytes), close)?;
    }
    group.close()?;
    file.finish()?;
    file.inner().sync_all()?;
    Ok(())
}

fn properties<R>(columns: &[Column<R>]) -> WriterProperties {
    let level = ZstdLevel::try_new(ZSTD_LEVEL).unwrap();
    let mut properties = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_2_0)
        .set_compression(Compression::ZSTD(level))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_write_batch_size(PAGE_ROWS)
        .set_data_page_row_count_limit(PAGE_ROWS)
        .set_dictionary_page_size_limit(DICTIONARY_BYTES);
    for column in columns {
        let path = || ColumnPath::from(column.name);
        let by_dictionary = column.layout == Layout::Dictionary;
        properties = properties.set_column_dictionary_enabled(path(), by_dictionary);
        if column.layout != Layout::Plain && column.is_number {
            let encoding = Encoding::DELTA_BINARY_PACKED;
            properties = properties.set_column_encoding(path(), encoding);
        }
    }
    properties.build()
}

/// The pages of a column chunk in memory, because all columns are written at once.
#[derive(Clone, Default)]
struct Pages(Arc<Mutex<Vec<u8>>>);

impl PageWriter for Pages {
    fn write_page(&mut self, page: CompressedPage) -> Result<PageWriteSpec> {
        let mut all = self.0.lock().unwrap();
        let start = all.len() as u64;
        let mut out = TrackedWrite::new(&mut *all);
        let mut spec = SerializedPageWriter::new(&mut out).write_page(page)?;
        out.into_inner()?;
        spec.offset = start;
        Ok(spec)
    }

    fn close(&mut self) -> Result<()> {
        Ok(())
    }
}

#[derive(PartialEq)]
enum Layout {
    Dictionary,
    Delta,
    Plain,
}

struct Column<R> {
    name: &'static str,
    layout: Layout,
    nullable: bool,
    is_number: bool,
    field: fn(&Self) -> Result<Type>,
    write: fn(&[R], bool, &mut ColumnWriter<'_>) -> Result<()>,
}

trait Stored {
    const TABLE: &'static str;
    #[expect(dead_code, reason = "nothing is read")]
    const ADDED: &'static [&'static str] = &[];
    fn columns() -> Vec<Column<Self>>
    where
        Self: Sized;
    #[expect(dead_code, reason = "nothing is read")]
    fn order(&self) -> u64;
    #[expect(dead_code, reason = "nothing is read")]
    fn complete(&mut self) {}
}

trait Kind {
    type Given<'a>;
    type Stored: DataType;
    fn logical_type() -> Option<LogicalType>;
    fn stored(given: Self::Given<'_>) -> <Self::Stored as DataType>::T;

    fn field<R>(column: &Column<R>) -> Result<Type> {
        Type::primitive_type_builder(column.name, Self::Stored::get_physical_type())
            .with_logical_type(Self::logical_type())
            .with_repetition(if column.nullable {
                Repetition::OPTIONAL
            } else {
                Repetition::REQUIRED
            })
            .build()
    }

    fn write<R>(
        rows: &[R],
        nullable: bool,
        column: &mut ColumnWriter<'_>,
        get: impl for<'a> Fn(&'a R) -> Option<Self::Given<'a>>,
    ) -> Result<()> {
        let given = || rows.iter().map(&get);
        let values: Vec<_> = given().flatten().map(Self::stored).collect();
        let levels: Vec<i16> = if nullable {
            given().map(|value| i16::from(value.is_some())).collect()
        } else {
            Vec::new()
        };
        let column = get_typed_column_writer_mut::<Self::Stored>(column);
        column.write_batch(&values, nullable.then_some(&levels), None)?;
        Ok(())
    }
}

macro_rules! kinds {
    ($($kind:ident: $given:ty, $stored:ty, $logical:expr, $to:expr;)*) => {$(
        struct $kind;

        impl Kind for $kind {
            type Given<'a> = $given;
            type Stored = $stored;
            fn logical_type() -> Option<LogicalType> {
                $logical
            }
            fn stored(given: $given) -> <$stored as DataType>::T {
                $to(given)
            }
        }
    )*};
}
kinds! {
    U8: u8, Int32Type, Some(LogicalType::integer(8, false)), i32::from;
    U16: u16, Int32Type, Some(LogicalType::integer(16, false)), i32::from;
    U32: u32, Int32Type, Some(LogicalType::integer(32, false)), |v| v as i32;
    U64: u64, Int64Type, Some(LogicalType::integer(64, false)), |v| v as i64;
    I32: i32, Int32Type, None, |v| v;
    I64: i64, Int64Type, None, |v| v;
    F64: f64, DoubleType, None, |v| v;
    Bool: bool, BoolType, None, |v| v;
}

struct Text;

impl Kind for Text {
    type Given<'a> = &'a str;
    type Stored = ByteArrayType;
    fn logical_type() -> Option<LogicalType> {
        Some(LogicalType::String)
    }
    fn stored(given: &str) -> ByteArray {
        given.into()
    }
}

/// Builds the columns from the capture's list, for writing only.
macro_rules! columns {
    ($row:ty; $($name:literal $kind:ident $layout:ident $(? $null:tt)?
        |$r:ident| $get:expr, |$w:ident, $v:ident| $set:expr;)*) => {
        vec![$(Column::<$row> {
            name: $name,
            layout: Layout::$layout,
            nullable: [$(columns!(@null $null))?].contains(&true),
            is_number: stringify!($kind) != "Text",
            field: $kind::field,
            write: |rows, nullable, column| $kind::write(rows, nullable, column, |$r| $get),
        }),*]
    };
    (@null null) => { true };
}

include!("../../../capture/src/generated/columns.rs");
