// SPDX-License-Identifier: Apache-2.0
//! Inserts one batch into the server exactly once.
//!
//! The server deduplicates by token, but neither its log nor its parts are
//! written in one step: a server killed between them may know a token without
//! having the rows, or have the rows without knowing the token. So if an attempt
//! may or may not have been executed, the rows are counted:
//!
//! 1. All rows are there: done. The rollups are made again; their keys hold the batch.
//! 2. Otherwise: insert with the same token (which excludes an attempt that is still
//!    running on the server), and count again.
//! 3. Still no rows: the server knew the token without the rows. Insert with another
//!    token, and with the next if the server was killed at that moment again. A token
//!    is tried only when the server knows all tokens before it, so that an attempt
//!    that is still running cannot duplicate the rows.

use crate::block::column_list;
use crate::database::Database;
use crate::error::CallError;
use crate::schema;
use crate::spool::BatchName;
use crate::stats::SinkStats;
use crate::tables::Table;
use tidemark_rows::{FlatEvent, NamedProbe, PostcardRow};

/// Most further tokens tried for one batch: how often the server may be killed after
/// logging a token and before storing the rows.
const MOST_TOKENS: u32 = 16;

/// How an attempt ended if the calls succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The server has all rows.
    Stored,
    /// The server has only some of the rows, and repeating does not help.
    Partial { found: u64 },
}

/// Kind of server, by the table engine that it reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    /// A single server; its deduplication does not survive every kill.
    Plain,
    /// Replicated or distributed: tokens are committed together with parts,
    /// and the rollups live on each shard.
    Replicated,
}

/// Asks the server which engine its tables have.
pub(crate) fn engine(client: &dyn Database) -> Result<Engine, CallError> {
    let answer = client.query(
        "SELECT engine FROM system.tables \
         WHERE database = currentDatabase() AND name = 'postcards' FORMAT TSV",
        &[],
    )?;
    match answer.trim() {
        "" => Err(CallError::Server {
            status: 404,
            code: 60,
            text: format!(
                "database {} has no table postcards: apply deploy/clickhouse/schema.sql \
                 or set clickhouse.create_schema = true",
                client.name()
            ),
        }),
        "MergeTree" => Ok(Engine::Plain),
        _ => Ok(Engine::Replicated),
    }
}

/// Asks the server how many rows of a batch it has.
pub(crate) fn count(client: &dyn Database, name: &BatchName) -> Result<u64, CallError> {
    let sql = format!(
        "SELECT count() FROM {} WHERE capture = {{capture:String}} AND batch = {{batch:UInt64}} \
         FORMAT TSV",
        name.table
    );
    let batch = name.batch.to_string();
    let answer = client.query(&sql, &[("capture", &name.capture), ("batch", &batch)])?;
    answer.trim().parse().map_err(|_| CallError::Server {
        status: 200,
        code: 0,
        text: format!("no number: {:.100}", answer.trim()),
    })
}

fn columns(table: &str) -> String {
    match table {
        "tcp_probe" => column_list::<NamedProbe>(),
        "events" => column_list::<FlatEvent>(),
        _ => column_list::<PostcardRow>(),
    }
}

fn make_rollups(client: &dyn Database, name: &BatchName) -> Result<(), CallError> {
    if name.table != PostcardRow::NAME {
        return Ok(());
    }
    let batch = name.batch.to_string();
    for sql in schema::rollups() {
        client.query(&sql, &[("capture", &name.capture), ("batch", &batch)])?;
    }
    Ok(())
}

/// Tries once to insert a batch. `doubtful`: the server may have executed an
/// earlier attempt, so the rows are counted first.
///
/// # Errors
/// A call failed. The batch is doubtful from then on, unless the server could not
/// be reached.
pub(crate) fn attempt(
    client: &dyn Database,
    engine: Engine,
    name: &BatchName,
    compression: crate::config::Compression,
    body: &[u8],
    doubtful: bool,
    stats: &SinkStats,
) -> Result<Outcome, CallError> {
    let insert = |token: &str| {
        stats.add_sent_bytes(body.len() as u64);
        client.insert(&name.table, &columns(&name.table), token, body, compression)
    };
    let token = name.token();
    if !doubtful {
        insert(&token)?;
        return Ok(Outcome::Stored);
    }
    let found = count(client, name)?;
    if found >= name.rows {
        stats.add_found(1);
        stats.add_doubled(found - name.rows);
        match engine {
            Engine::Plain => make_rollups(client, name)?,
            Engine::Replicated => insert(&token)?,
        }
        return Ok(Outcome::Stored);
    }
    insert(&token)?;
    let mut found = count(client, name)?;
    for again in 1..=MOST_TOKENS {
        if found > 0 {
            break;
        }
        let number = match again {
            1 => String::new(),
            n => n.to_string(),
        };
        insert(&format!("{token}-again{number}"))?;
        found = count(client, name)?;
    }
    if found < name.rows {
        return Ok(Outcome::Partial { found });
    }
    // The insert made the rollups, even if the server already knew its token.
    stats.add_doubled(found - name.rows);
    Ok(Outcome::Stored)
}
