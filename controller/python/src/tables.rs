// SPDX-License-Identifier: Apache-2.0
//! Tables as Arrow streams, read when they are requested.

use crate::arrow::{array, field};
use crate::errors::of_capture;
use crate::flows::{self, Flows};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, Schema, SchemaRef};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::ffi::CStr;
use std::path::PathBuf;
use std::sync::Arc;
use tidemark_capture::{Batch, CaptureError, Columns, FlatEvent, Selection};

/// Names that the Arrow PyCapsule interface gives its capsules.
const STREAM: &CStr = c"arrow_array_stream";
const SCHEMA: &CStr = c"arrow_schema";

/// A table, either read from the files each time or held in memory.
#[pyclass(frozen, module = "tidemark_buffer._native")]
pub(crate) struct NativeTable(Kind);

enum Kind {
    Stored(Stored),
    Memory(RecordBatch),
}

/// A table of a capture.
#[derive(Clone)]
pub(crate) struct Stored {
    pub capture: PathBuf,
    pub table: &'static str,
    pub columns: Option<Vec<String>>,
    pub selection: Selection,
    /// Whether each row has the addresses of its flow.
    pub joined: bool,
}

impl NativeTable {
    /// Opens a table of the files, which are checked up to its first row.
    pub(crate) fn stored(stored: Stored) -> Result<Self, CaptureError> {
        Reader::open(&stored)?;
        Ok(Self(Kind::Stored(stored)))
    }

    pub(crate) fn memory(batch: RecordBatch) -> Self {
        Self(Kind::Memory(batch))
    }

    fn reader(&self) -> Result<Box<dyn RecordBatchReader + Send>, CaptureError> {
        Ok(match &self.0 {
            Kind::Stored(stored) => Box::new(Reader::open(stored)?),
            Kind::Memory(batch) => {
                let schema = batch.schema();
                Box::new(RecordBatchIterator::new([Ok(batch.clone())], schema))
            }
        })
    }
}

#[pymethods]
impl NativeTable {
    /// Returns the rows as an Arrow C stream. `requested_schema` is a wish that a producer may
    /// ignore: the schema is always the table's own.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let reader = py.detach(|| self.reader()).map_err(of_capture)?;
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), STREAM)
    }

    /// Returns the columns as an Arrow C schema.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = self.reader().map_err(of_capture)?.schema();
        let schema = FFI_ArrowSchema::try_from(&*schema);
        let schema = schema.map_err(|e| PyRuntimeError::new_err(e.to_string()))?;
        PyCapsule::new_with_value(py, schema, SCHEMA)
    }

    /// Returns the name and Arrow type of each column.
    fn columns(&self) -> PyResult<Vec<(String, String)>> {
        let schema = self.reader().map_err(of_capture)?.schema();
        let fields = schema.fields().iter();
        Ok(fields
            .map(|f| (f.name().clone(), f.data_type().to_string()))
            .collect())
    }
}

/// Reads a table of a capture, batch by batch.
struct Reader {
    columns: Columns,
    schema: SchemaRef,
    /// The flows, if columns of flows are requested.
    flows: Option<Flows>,
    ended: bool,
}

impl Reader {
    fn open(of: &Stored) -> Result<Self, CaptureError> {
        let Stored {
            capture,
            table,
            columns: chosen,
            selection,
            joined,
        } = of;
        let of_flows = if *joined {
            flows::joined().into()
        } else {
            Vec::new()
        };
        let is_joined = |name: &String| of_flows.iter().any(|f| f.name() == name);
        // The flow number is also read if only the addresses of the flow are requested.
        let stored = chosen.as_ref().map(|chosen| {
            let mut stored: Vec<String> =
                chosen.iter().filter(|c| !is_joined(c)).cloned().collect();
            if chosen.iter().any(is_joined) && !stored.iter().any(|c| c == FLOW) {
                stored.push(FLOW.to_owned());
            }
            stored
        });
        let columns = Columns::open(capture, table, stored.as_deref(), selection)?;
        let mut fields: Vec<_> = columns
            .columns()
            .map(|(n, t, null)| field(n, t, null))
            .collect();
        fields.extend(of_flows.iter().cloned());
        if let Some(chosen) = chosen {
            let place = |f: &arrow_schema::Field| chosen.iter().position(|c| c == f.name());
            fields.retain(|f| place(f).is_some());
            fields.sort_by_key(place);
        }
        let wants_flows = fields.iter().any(|f| is_joined(f.name()));
        Ok(Self {
            columns,
            flows: wants_flows.then(|| flows::read(capture)).transpose()?,
            schema: Arc::new(Schema::new(fields)),
            ended: false,
        })
    }

    fn batch(&self, batch: &Batch) -> Result<RecordBatch, ArrowError> {
        let of_flows = self.flows_of(batch);
        let fields = self.schema.fields().iter();
        let columns = fields.map(|f| {
            let stored = batch.columns.iter().find(|c| c.0 == f.name());
            match stored {
                Some((name, cells)) => array(name, f.data_type(), cells, &batch.rows),
                None => flows::column(f.name(), &of_flows).ok_or_else(|| {
                    ArrowError::SchemaError(format!("column {} is not there", f.name()))
                }),
            }
        });
        RecordBatch::try_new(Arc::clone(&self.schema), columns.collect::<Result<_, _>>()?)
    }

    /// Returns the flow of each row.
    fn flows_of(&self, batch: &Batch) -> Vec<Option<&FlatEvent>> {
        let ids = batch.columns.iter().find(|c| c.0 == FLOW);
        let (Some(flows), Some((_, ids))) = (&self.flows, ids) else {
            return Vec::new();
        };
        let rows = batch.rows.iter();
        rows.map(|&row| flows.get(&ids.unsigned(row)?)).collect()
    }
}

const FLOW: &str = "flow_id";

impl Iterator for Reader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let next = match self.columns.next_batch() {
            Ok(batch) => Ok(batch?),
            Err(e) => Err(ArrowError::ExternalError(Box::new(e))),
        };
        self.ended = next.is_err();
        Some(next.and_then(|batch| self.batch(&batch)))
    }
}

impl RecordBatchReader for Reader {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
