// SPDX-License-Identifier: Apache-2.0
//! Limits that the traffic manager holds: a queue's share of its memory, static or floating with
//! the free cells of the queue's pool.

use crate::bfrt::client::Item;
use crate::bfrt::config::Queue;
use crate::bfrt::info::{Info, Part, Value};
use crate::{Error, Limit};
use std::fmt;
use tidemark_proto::bfrt_proto as bf;
use tidemark_proto::bfrt_proto::update::Type;

const TABLE: &str = "tm.queue.buffer";
/// Reserved for a queue with a floating limit, so that full neighbours do not lock it out: two
/// frames.
const RESERVED_BYTES: u64 = 2 * 1536;
/// Cells of the pool that a queue with a floating limit may always take; with 0 it takes none.
/// Chips count some limits in units of 8 cells.
const BASE_CELLS: u64 = 8;

/// A value of `dynamic_baf`. The limit is α times the free cells of the pool, and the name is the
/// share of the pool that a single queue then fills: α / (1 + α).
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Factor {
    name: &'static str,
    share: u64,
    of: u64,
}

const fn factor(name: &'static str, share: u64, of: u64) -> Factor {
    Factor { name, share, of }
}

/// All factors, with α from 1/64 to 4.
const FACTORS: [Factor; 9] = [
    factor("1.5%", 1, 65),
    factor("3%", 1, 33),
    factor("6%", 1, 17),
    factor("11%", 1, 9),
    factor("20%", 1, 5),
    factor("33%", 1, 3),
    factor("50%", 1, 2),
    factor("66%", 2, 3),
    factor("80%", 4, 5),
];

/// A shared pool of cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pool {
    pub name: String,
    pub cells: u64,
}

/// The contents of an entry of `tm.queue.buffer`.
#[derive(Debug, PartialEq)]
pub(crate) struct Buffer {
    tail_drop: bool,
    guaranteed_cells: u64,
    pool_max_cells: u64,
    factor: Option<&'static Factor>,
    /// Name of the pool; `None` if the entry has no share of a pool.
    pub pool: Option<String>,
}

impl Buffer {
    /// # Errors
    /// An entry without cells, or with an unknown factor.
    pub(crate) fn read(info: &Info, entry: &bf::TableEntry) -> Result<Self, Error> {
        let t = info.table(TABLE)?;
        let (_, fields) = t.read(&entry.data.clone().unwrap_or_default());
        let unknown = |name: &str| Error::value(format!("{}: {name}", t.name), "is not reported");
        let cells = |name| match fields.get(name) {
            Some(Value::Number(n)) => Ok(*n),
            _ => Err(unknown(name)),
        };
        let text = |name| match fields.get(name) {
            Some(Value::Text(text)) => Some(text.as_str()),
            _ => None,
        };
        let pool = text("pool_id").map(str::to_owned);
        let factor = match text("dynamic_baf") {
            None | Some("DISABLE") => None,
            Some(name) => {
                let found = FACTORS.iter().find(|f| f.name == name);
                let field = || Error::value(format!("{}: dynamic_baf", t.name), "is not known");
                Some(found.ok_or_else(field)?)
            }
        };
        Ok(Self {
            tail_drop: match fields.get("tail_drop_enable") {
                Some(Value::Flag(on)) => *on,
                _ => return Err(unknown("tail_drop_enable")),
            },
            guaranteed_cells: cells("guaranteed_cells")?,
            pool_max_cells: pool.as_ref().map_or(Ok(0), |_| cells("pool_max_cells"))?,
            factor: factor.filter(|_| pool.is_some()),
            pool,
        })
    }

    /// Returns the pool on whose size the limit depends, if the limit floats.
    pub(crate) fn floats_in(&self) -> Option<&str> {
        self.factor.and(self.pool.as_deref())
    }

    fn cells(&self, pool_cells: u64) -> u64 {
        let share = self.factor.map_or(0, |f| f.cells(pool_cells));
        let shared = self.pool_max_cells.max(share);
        self.guaranteed_cells.saturating_add(shared)
    }

    /// Returns the limit; if it floats, the largest, which the queue reaches if it is alone in its
    /// pool.
    pub(crate) fn limit(&self, pool: Option<&Pool>, cell_bytes: u32) -> Limit {
        if !self.tail_drop {
            return Limit::Unlimited;
        }
        let cells = self.cells(pool.map_or(0, |p| p.cells));
        Limit::DropTail {
            limit_bytes: cells.saturating_mul(cell_bytes.max(1).into()),
        }
    }

    /// Describes the limit and its form.
    pub(crate) fn in_words(&self, pool: Option<&Pool>, cell_bytes: u32) -> String {
        let limit = self.limit(pool, cell_bytes);
        match (self.factor, pool) {
            (Some(f), Some(p)) if self.tail_drop => format!(
                "{limit} while alone in its pool: dynamic_baf {f}, of {} with {} cells",
                p.name, p.cells
            ),
            _ => format!("{limit}, static"),
        }
    }
}

impl Factor {
    fn cells(&self, pool_cells: u64) -> u64 {
        pool_cells.saturating_mul(self.share) / self.of
    }
}

impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rest = self.of - self.share;
        match rest {
            1 => write!(f, "{} (alpha {})", self.name, self.share),
            _ => write!(f, "{} (alpha {}/{rest})", self.name, self.share),
        }
    }
}

/// Returns the entry for a limit, and the limit that results: cells or a factor round it down. It
/// floats in `pool`; without a pool it is guaranteed cells and nothing shared.
///
/// # Errors
/// A limit other than `drop_tail`, or one below the smallest factor.
pub(crate) fn queue_buffer(
    info: &Info,
    q: &Queue,
    limit: Limit,
    pool: Option<&Pool>,
    cell_bytes: u32,
) -> Result<(Item, Limit), Error> {
    let t = info.table(TABLE)?;
    let Limit::DropTail { limit_bytes } = limit else {
        let text = format!("{TABLE} supports drop_tail only, not {}", limit.action());
        return Err(Error::value("limit", text));
    };
    let cell = u64::from(cell_bytes.max(1));
    let buffer = match pool {
        None => Buffer {
            tail_drop: true,
            guaranteed_cells: limit_bytes / cell,
            pool_max_cells: 0,
            factor: None,
            pool: None,
        },
        Some(p) => floating(p, limit_bytes, cell)?,
    };
    let args = [
        ("guaranteed_cells", Value::Number(buffer.guaranteed_cells)),
        (
            "pool_id",
            Value::Text(buffer.pool.clone().unwrap_or_else(|| FIRST_POOL.into())),
        ),
        ("pool_max_cells", Value::Number(buffer.pool_max_cells)),
        (
            "dynamic_baf",
            Value::Text(buffer.factor.map_or("DISABLE", |f| f.name).into()),
        ),
        ("tail_drop_enable", Value::Flag(true)),
    ];
    let words = buffer.in_words(pool, cell_bytes);
    // The device's fixed entries always exist and can only be modified.
    let item = Item {
        what: format!("{}[pg {} queue {}] = {words}", t.name, q.pg_id, q.pg_queue),
        kind: Type::Modify,
        entry: bf::TableEntry {
            data: Some(t.action("shared_pool", &args)?),
            ..queue_key(info, q)?
        },
    };
    Ok((item, buffer.limit(pool, cell_bytes)))
}

/// Pool to write for a queue that is in no pool.
pub(crate) const FIRST_POOL: &str = "EG_APP_POOL_0";

/// Returns the buffer with the largest factor whose limit is not above the requested one.
fn floating(pool: &Pool, limit_bytes: u64, cell: u64) -> Result<Buffer, Error> {
    let with = |factor| Buffer {
        tail_drop: true,
        guaranteed_cells: RESERVED_BYTES.div_ceil(cell),
        pool_max_cells: BASE_CELLS,
        factor: Some(factor),
        pool: Some(pool.name.clone()),
    };
    let all = || FACTORS.iter().map(with);
    let bytes = |b: &Buffer| b.cells(pool.cells).saturating_mul(cell);
    let fits = all().rev().find(|b| bytes(b) <= limit_bytes);
    fits.ok_or_else(|| {
        let smallest = all().map(|b| bytes(&b)).min().unwrap_or_default();
        let text = format!(
            "{limit_bytes} bytes are below the smallest dynamic limit in {} with {} cells, \
             {smallest} bytes (dynamic_baf 1.5%): ask for more, make the pool smaller \
             (tm.pool.cfg), or set threshold = \"static\" in bfrt.queues",
            pool.name, pool.cells
        );
        Error::value("limit_bytes", text)
    })
}

/// Creates an entry with only the key, to read it.
pub(crate) fn queue_key(info: &Info, q: &Queue) -> Result<bf::TableEntry, Error> {
    info.table(TABLE)?.key_entry(&[
        ("pg_id", Part::Number(q.pg_id.into())),
        ("pg_queue", Part::Number(q.pg_queue.into())),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool() -> Pool {
        Pool {
            name: FIRST_POOL.into(),
            cells: 195_000,
        }
    }

    /// The name is α / (1 + α) as a percentage, with α a power of 2.
    #[test]
    fn factors_are_what_their_names_say() {
        let mut alpha = 1.0 / 64.0;
        for f in &FACTORS {
            let named: f64 = f.name.trim_end_matches('%').parse().unwrap();
            let share = 100.0 * alpha / (1.0 + alpha);
            assert!((named - share).abs() < 0.7, "{} {share}", f.name);
            assert_eq!(f.share as f64 / f.of as f64, alpha / (1.0 + alpha));
            alpha *= 2.0;
        }
        assert_eq!(FACTORS[0].to_string(), "1.5% (alpha 1/64)");
        assert_eq!(FACTORS[8].to_string(), "80% (alpha 4)");
    }

    #[test]
    fn a_floating_limit_is_the_next_below() {
        let third = 39 + 195_000 / 3;
        for (cells, name, held) in [
            (third, "33%", third),
            (third + 5_000, "33%", third),
            (195_000, "80%", 39 + 156_000),
            (3_039, "1.5%", 3_039),
        ] {
            let b = floating(&pool(), cells * 80, 80).unwrap();
            assert_eq!(b.factor.map(|f| f.name), Some(name));
            let limit_bytes = held * 80;
            assert_eq!(b.limit(Some(&pool()), 80), Limit::DropTail { limit_bytes });
        }
        let e = floating(&pool(), 3_038 * 80, 80).unwrap_err().to_string();
        assert!(e.contains("243120 bytes (dynamic_baf 1.5%)"), "{e}");
    }
}
