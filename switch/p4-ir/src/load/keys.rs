// SPDX-License-Identifier: Apache-2.0
//! Keys of tables and their constant entries.

use serde_json::Value;

use super::json::{array, flag, get, opt_str, pair, small, string};
use super::loader::Loader;
use crate::bits::{mask64, words_for};
use crate::error::{Result, bail};
use crate::table::{ActionCall, ConstEntry, MatchKind, MatchValue, TableKey};

impl<'a> Loader<'a> {
    pub(super) fn keys(&self, t: &'a Value) -> Result<(Vec<TableKey>, usize)> {
        let mut keys = Vec::new();
        let (mut word, mut used) = (0usize, 0u32);
        for k in array(t, "key")? {
            let kind = match string(k, "match_type")? {
                "exact" | "valid" => MatchKind::Exact,
                "lpm" => MatchKind::Lpm,
                "ternary" | "optional" => MatchKind::Ternary,
                "range" => MatchKind::Range,
                other => bail!("match kind \"{other}\" is not supported"),
            };
            let target = get(k, "target")?;
            if target.is_object() || target.get(0).is_some_and(Value::is_object) {
                let name = opt_str(k, "name").unwrap_or("?");
                bail!("key {name}: a stack element selected at run time is not supported as a key");
            }
            let (h, f) = pair(target)?;
            let field = self.field(h, f)?;
            if field.variable {
                bail!("varbit as a key is not supported");
            }
            let mask = match k.get("mask").and_then(Value::as_str) {
                Some(m) => Some(self.constant_words(k, m, field.width)?),
                None => None,
            };
            // Small fields share a word; a wide field starts its own.
            if field.width > 64 || used + field.width > 64 {
                if used > 0 {
                    word += 1;
                }
                used = 0;
            }
            keys.push(TableKey {
                name: opt_str(k, "name").map_or_else(|| format!("{h}.{f}"), str::to_owned),
                kind,
                field,
                mask,
                word,
                shift: if field.width > 64 { 0 } else { used },
            });
            if field.width > 64 {
                word += words_for(field.width);
                used = 0;
            } else {
                used += field.width;
            }
        }
        let words = word + usize::from(used > 0);
        Ok((keys, words))
    }

    pub(super) fn const_entry(
        &self,
        e: &'a Value,
        keys: &[TableKey],
        index: usize,
    ) -> Result<ConstEntry> {
        let mut matches = Vec::new();
        let parts = array(e, "match_key")?;
        if parts.len() != keys.len() {
            bail!("wrong number of keys");
        }
        for (m, k) in parts.iter().zip(keys) {
            let width = k.field.width;
            let words =
                |key: &str| -> Result<Vec<u64>> { self.constant_words(m, string(m, key)?, width) };
            matches.push(match string(m, "match_type")? {
                "exact" => MatchValue::Exact(words("key")?),
                // For keys of type bool, p4c writes JSON booleans.
                "valid" => MatchValue::Exact(vec![u64::from(flag(m, "key")) & mask64(width)]),
                "lpm" => MatchValue::Lpm {
                    value: words("key")?,
                    prefix_bits: small(m, "prefix_length")?.min(width),
                },
                "ternary" | "optional" => MatchValue::Ternary {
                    value: words("key")?,
                    mask: words("mask")?,
                },
                "range" => MatchValue::Range {
                    low: words("start")?,
                    high: words("end")?,
                },
                other => bail!("match kind \"{other}\" is not supported"),
            });
        }
        let call = get(e, "action_entry")?;
        let action = self.action_by_json_id(call, "action_id")?;
        Ok(ConstEntry {
            matches,
            priority: e
                .get("priority")
                .and_then(Value::as_i64)
                .unwrap_or(index as i64 + 1) as i32,
            call: ActionCall {
                action,
                args: self
                    .constant_args(action, call.get("action_data").unwrap_or(&Value::Null))?,
            },
        })
    }
}

pub(super) fn strongest(keys: &[TableKey]) -> MatchKind {
    let has = |k: MatchKind| keys.iter().filter(|x| x.kind == k).count();
    if has(MatchKind::Range) > 0 {
        MatchKind::Range
    } else if has(MatchKind::Ternary) > 0 || has(MatchKind::Lpm) > 1 {
        MatchKind::Ternary
    } else if has(MatchKind::Lpm) > 0 {
        MatchKind::Lpm
    } else {
        MatchKind::Exact
    }
}
