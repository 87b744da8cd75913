// SPDX-License-Identifier: Apache-2.0
//! A model of ClickHouse as seen by the collector's sink, failing in every way.
//!
//! It recognises repeated tokens, and writes its token log and the rows in two steps: if killed
//! between them, it has a token without rows. Requests sent when the connection broke may be
//! carried out later.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use tidemark_clickhouse::error::CallError;
use tidemark_clickhouse::{Compression, Database};

/// Fate of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is carried out and answered.
    Normal,
    /// Carried out, but the answer is lost.
    NoAnswer,
    /// The request is lost.
    Lost,
    /// The connection breaks; the request is carried out after this many other calls.
    Late(u32),
    /// The server is killed between writing the token log and the rows.
    TokenWithoutRows,
    /// The server says that it is busy.
    Busy,
    /// Nobody listens.
    Unreachable,
}

/// Table, capture and first `order` of a batch.
pub type Batch = (String, String, u64);

#[derive(Debug)]
struct Insert {
    batch: Batch,
    token: String,
    rows: u64,
}

#[derive(Default)]
struct State {
    tokens: BTreeSet<String>,
    stored: BTreeMap<Batch, u64>,
    late: VecDeque<(u32, Insert)>,
    unreadable: u64,
}

impl State {
    fn store(&mut self, insert: Insert, rows_too: bool) {
        if self.tokens.insert(insert.token) && rows_too {
            *self.stored.entry(insert.batch).or_default() += insert.rows;
        }
    }

    /// Counts a call, which brings late requests closer.
    fn call(&mut self) {
        for (left, _) in &mut self.late {
            *left = left.saturating_sub(1);
        }
        while let Some(i) = self.late.iter().position(|(left, _)| *left == 0) {
            if let Some((_, insert)) = self.late.remove(i) {
                self.store(insert, true);
            }
        }
    }
}

type Oracle = Box<dyn FnMut() -> Fate + Send>;

/// A model server.
#[derive(Clone)]
pub struct ModelDatabase {
    state: Arc<Mutex<State>>,
    fate: Arc<Mutex<Oracle>>,
}

impl ModelDatabase {
    /// Makes an empty server; `fate` decides each call.
    pub fn new(fate: impl FnMut() -> Fate + Send + 'static) -> Self {
        Self {
            state: Arc::default(),
            fate: Arc::new(Mutex::new(Box::new(fate))),
        }
    }

    /// Returns the server in the form that the sink uses.
    pub fn shared(&self) -> Arc<dyn Database> {
        Arc::new(self.clone())
    }

    /// Returns the stored rows by batch.
    pub fn stored(&self) -> BTreeMap<Batch, u64> {
        self.state.lock().stored.clone()
    }

    /// Returns the number of stored rows.
    pub fn rows(&self) -> u64 {
        self.state.lock().stored.values().sum()
    }

    /// Returns the number of bodies that were not blocks.
    pub fn unreadable(&self) -> u64 {
        self.state.lock().unreadable
    }

    fn fate(&self) -> Fate {
        (self.fate.lock())()
    }
}

fn broken() -> CallError {
    CallError::Broken("reset by peer".into())
}

fn refused(code: i32, text: &str) -> CallError {
    CallError::Server {
        status: 500,
        code,
        text: text.into(),
    }
}

/// Returns the number of rows of a block: its second varint, after the number of columns.
fn block_rows(body: &[u8], compression: Compression) -> Option<u64> {
    let block = match compression {
        Compression::Zstd => zstd::decode_all(body).ok()?,
        Compression::None => body.to_vec(),
    };
    let (mut rows, mut shift) = (0, 0);
    for byte in block.get(1..)? {
        rows |= u64::from(byte & 0x7f) << shift;
        if *byte < 0x80 {
            return Some(rows);
        }
        shift += 7;
        if shift > 56 {
            return None;
        }
    }
    None
}

impl Database for ModelDatabase {
    fn name(&self) -> &str {
        "model"
    }

    fn create_schema(&self) -> Result<(), CallError> {
        Ok(())
    }

    fn query(&self, sql: &str, parameters: &[(&str, &str)]) -> Result<String, CallError> {
        match self.fate() {
            Fate::Unreachable => return Err(CallError::Unreachable("refused".into())),
            Fate::NoAnswer | Fate::Lost | Fate::Late(_) => {
                self.state.lock().call();
                return Err(broken());
            }
            _ => {}
        }
        let mut state = self.state.lock();
        state.call();
        if sql.contains("system.tables") {
            return Ok("MergeTree\n".into());
        }
        if sql.starts_with("INSERT INTO") {
            // Rollups, which are idempotent.
            return Ok(String::new());
        }
        let table = sql.split(" FROM ").nth(1).and_then(|t| t.split(' ').next());
        let of = |name| parameters.iter().find(|(n, _)| *n == name).map(|(_, v)| *v);
        let batch = of("batch").and_then(|b| b.parse().ok());
        let (Some(table), Some(capture), Some(batch)) = (table, of("capture"), batch) else {
            return Err(refused(62, "syntax error"));
        };
        let rows = state.stored.get(&(table.into(), capture.into(), batch));
        Ok(format!("{}\n", rows.copied().unwrap_or(0)))
    }

    fn insert(
        &self,
        table: &str,
        _columns: &str,
        token: &str,
        body: &[u8],
        compression: Compression,
    ) -> Result<(), CallError> {
        let fate = self.fate();
        if fate == Fate::Unreachable {
            return Err(CallError::Unreachable("refused".into()));
        }
        let mut state = self.state.lock();
        state.call();
        let Some(rows) = block_rows(body, compression) else {
            state.unreadable += 1;
            return Err(refused(117, "incorrect data"));
        };
        // The token is capture-table-batch; the capture may contain a `-`.
        let plain = token.split("-again").next().unwrap_or(token);
        let parts = plain.rsplit_once('-').and_then(|(rest, batch)| {
            let capture = rest.strip_suffix(table)?.strip_suffix('-')?;
            Some((capture.to_owned(), batch.parse().ok()?))
        });
        let Some((capture, batch)) = parts else {
            return Err(refused(36, "the token is not of this table"));
        };
        let insert = Insert {
            batch: (table.into(), capture, batch),
            token: token.into(),
            rows,
        };
        match fate {
            Fate::Normal => state.store(insert, true),
            Fate::NoAnswer => {
                state.store(insert, true);
                return Err(broken());
            }
            Fate::TokenWithoutRows => {
                state.store(insert, false);
                return Err(broken());
            }
            Fate::Late(calls) => {
                state.late.push_back((calls, insert));
                return Err(broken());
            }
            Fate::Lost | Fate::Unreachable => return Err(broken()),
            Fate::Busy => return Err(refused(252, "too many parts")),
        }
        Ok(())
    }
}
