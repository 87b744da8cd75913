// SPDX-License-Identifier: Apache-2.0
//! The limit of a queue, and what happens to packets beyond it.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What happens to packets that meet a full queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(tag = "action", rename_all = "snake_case", deny_unknown_fields)]
pub enum Limit {
    /// Refuse packets that meet at least this many bytes.
    DropTail {
        /// Limit, bytes.
        limit_bytes: u64,
    },
    /// Mark ECN-capable packets that meet at least this many bytes, refuse the
    /// others (RFC 3168).
    MarkCe {
        /// Limit, bytes.
        limit_bytes: u64,
    },
    /// Only the target's own queue depth holds.
    Unlimited,
}

impl Limit {
    /// The limit in bytes; `None` when unlimited.
    pub fn bytes(&self) -> Option<u64> {
        match *self {
            Limit::DropTail { limit_bytes } | Limit::MarkCe { limit_bytes } => Some(limit_bytes),
            Limit::Unlimited => None,
        }
    }

    /// The same action at another size; `Unlimited` becomes drop-tail.
    pub fn with_bytes(&self, limit_bytes: u64) -> Limit {
        match self {
            Limit::MarkCe { .. } => Limit::MarkCe { limit_bytes },
            _ => Limit::DropTail { limit_bytes },
        }
    }

    /// The limit as a target that counts in units of so many bytes can hold it.
    pub fn rounded(&self, unit_bytes: u32) -> Limit {
        match self.bytes() {
            Some(b) => self.with_bytes(b - b % u64::from(unit_bytes.max(1))),
            None => *self,
        }
    }

    /// The limit that an action of the P4 program with this argument is; `None`
    /// for another action.
    pub fn of_action(action: &str, limit_bytes: u64) -> Option<Limit> {
        match action {
            "drop_tail" => Some(Limit::DropTail { limit_bytes }),
            "mark_ce" => Some(Limit::MarkCe { limit_bytes }),
            "unlimited" => Some(Limit::Unlimited),
            _ => None,
        }
    }

    /// Name of the P4 action and of the REST field.
    pub fn action(&self) -> &'static str {
        match self {
            Limit::DropTail { .. } => "drop_tail",
            Limit::MarkCe { .. } => "mark_ce",
            Limit::Unlimited => "unlimited",
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bytes() {
            Some(b) => write!(f, "{} {b} bytes", self.action()),
            None => f.write_str("unlimited"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limit_json_is_flat_and_strict() {
        let l = Limit::DropTail { limit_bytes: 9 };
        let s = r#"{"action":"drop_tail","limit_bytes":9}"#;
        assert_eq!(serde_json::to_string(&l).unwrap(), s);
        assert_eq!(serde_json::from_str::<Limit>(s).unwrap(), l);
        assert!(serde_json::from_str::<Limit>(r#"{"action":"drop_tail"}"#).is_err());
        assert!(serde_json::from_str::<Limit>(r#"{"action":"drop"}"#).is_err());
        let typo = r#"{"action":"mark_ce","limit_bytes":1,"limt":2}"#;
        assert!(serde_json::from_str::<Limit>(typo).is_err());
    }

    #[test]
    fn every_action_is_read_as_it_is_written() {
        let all = [
            Limit::DropTail { limit_bytes: 7 },
            Limit::MarkCe { limit_bytes: 7 },
            Limit::Unlimited,
        ];
        for limit in all {
            assert_eq!(Limit::of_action(limit.action(), 7), Some(limit));
        }
        assert_eq!(Limit::of_action("forward", 7), None);
    }

    #[test]
    fn with_bytes_keeps_the_action() {
        let m = Limit::MarkCe { limit_bytes: 1 };
        assert_eq!(m.with_bytes(5), Limit::MarkCe { limit_bytes: 5 });
        assert_eq!(
            Limit::Unlimited.with_bytes(5),
            Limit::DropTail { limit_bytes: 5 }
        );
    }
}
