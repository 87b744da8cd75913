// SPDX-License-Identifier: Apache-2.0
//! Captures: directories of Parquet files and a `capture.json`, with a writer, a
//! reader and a replay. `docs/reference/capture-format.md` describes the tables.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod capture_file;
mod chunk;
mod columns;
mod dictionary;
mod encode;
mod error;
pub mod export;
mod file;
mod form;
mod integrity;
mod levels;
mod locate;
mod meta;
mod open;
mod packets;
mod page_compressor;
mod page_limits;
mod pages;
mod reader;
mod replay;
mod schema;
mod seal;
mod selection;
mod table;
mod thrift;
mod unpack;
mod values;
mod writer;

pub use columns::{Batch, CellType, Cells, Columns, TABLES};
pub use error::CaptureError;
pub use export::{Export, TextFormat, export};
pub use integrity::Integrity;
pub use locate::locate;
pub use meta::{CaptureMeta, FORMAT, Reception};
pub use packets::{PacketSpan, Packets, packets};
pub use reader::{AnyRow, Merged, Rows};
pub use replay::Replay;
pub use selection::{Moment, Selection};
pub use tidemark_rows::{FlatEvent, NamedProbe, PostcardRow};
pub use writer::{CaptureWriter, WriterOptions, WriterStats, WriterSteps};

#[cfg(test)]
mod tests;
