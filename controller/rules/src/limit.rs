// SPDX-License-Identifier: Apache-2.0
//! The limit of a queue and its action on packets that exceed it.

use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

/// Limit of a queue and its action on packets that arrive above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(tag = "action", rename_all = "snake_case", deny_unknown_fields)]
pub enum Limit {
    /// Drops packets that arrive at an occupancy of at least the limit.
    DropTail {
        /// Limit, bytes.
        limit_bytes: u64,
    },
    /// Marks ECN-capable packets and drops the others from the threshold (RFC 3168); drops all
    /// packets from the limit.
    MarkCe {
        /// Occupancy from which packets are marked, bytes. Senders react to it: it is B of the
        /// formulas.
        threshold_bytes: u64,
        /// Occupancy from which all packets are dropped, bytes; above the threshold. `None`: only
        /// the target's own queue depth applies.
        limit_bytes: Option<u64>,
    },
    /// Only the target's own queue depth applies.
    Unlimited,
}

/// Serialised form of a limit, in configurations, state files and audit logs.
#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case", deny_unknown_fields)]
enum Written {
    DropTail {
        limit_bytes: u64,
    },
    MarkCe {
        threshold_bytes: Option<u64>,
        limit_bytes: Option<u64>,
    },
    Unlimited,
}

impl<'de> Deserialize<'de> for Limit {
    /// Earlier releases had a single value: if `mark_ce` has only `limit_bytes`, that is the
    /// threshold.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error as _;
        let limit = match Written::deserialize(deserializer)? {
            Written::DropTail { limit_bytes } => Limit::DropTail { limit_bytes },
            Written::MarkCe {
                threshold_bytes: Some(threshold_bytes),
                limit_bytes,
            } => Limit::MarkCe {
                threshold_bytes,
                limit_bytes,
            },
            Written::MarkCe {
                threshold_bytes: None,
                limit_bytes: Some(threshold_bytes),
            } => Limit::MarkCe {
                threshold_bytes,
                limit_bytes: None,
            },
            Written::MarkCe { .. } => return Err(D::Error::missing_field("threshold_bytes")),
            Written::Unlimited => Limit::Unlimited,
        };
        limit.check().map_err(D::Error::custom)?;
        Ok(limit)
    }
}

impl Limit {
    /// Lowest occupancy at which the limit acts, bytes: B of the formulas, and the value in
    /// reports. The limit of `DropTail`, the threshold of `MarkCe`; `None` if unlimited.
    pub fn bytes(&self) -> Option<u64> {
        match *self {
            Limit::DropTail { limit_bytes } => Some(limit_bytes),
            Limit::MarkCe {
                threshold_bytes, ..
            } => Some(threshold_bytes),
            Limit::Unlimited => None,
        }
    }

    /// Occupancy from which every packet is dropped, bytes.
    pub fn refuses_at_bytes(&self) -> Option<u64> {
        match *self {
            Limit::DropTail { limit_bytes } => Some(limit_bytes),
            Limit::MarkCe { limit_bytes, .. } => limit_bytes,
            Limit::Unlimited => None,
        }
    }

    /// Checks that the two values of `MarkCe` are consistent.
    pub fn check(&self) -> Result<(), String> {
        match *self {
            Limit::MarkCe {
                threshold_bytes,
                limit_bytes: Some(limit_bytes),
            } if limit_bytes <= threshold_bytes => Err(format!(
                "the limit, {limit_bytes} bytes, is not above the threshold, {threshold_bytes} bytes: nothing would be marked"
            )),
            _ => Ok(()),
        }
    }

    /// Returns this limit with other values: `bytes` as the drop-tail limit or the marking
    /// threshold, and `refuses_at_bytes` as the limit of `MarkCe`. `Unlimited` becomes drop-tail.
    pub fn with_bytes(&self, bytes: u64, refuses_at_bytes: Option<u64>) -> Limit {
        match self {
            Limit::MarkCe { .. } => Limit::MarkCe {
                threshold_bytes: bytes,
                limit_bytes: refuses_at_bytes,
            },
            _ => Limit::DropTail { limit_bytes: bytes },
        }
    }

    /// Returns the limit rounded down to multiples of `unit_bytes`, as the target stores it.
    pub fn rounded(&self, unit_bytes: u32) -> Limit {
        let unit = u64::from(unit_bytes.max(1));
        let down = |b: u64| b - b % unit;
        match self.bytes() {
            Some(b) => self.with_bytes(down(b), self.refuses_at_bytes().map(down)),
            None => *self,
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
        match *self {
            Limit::DropTail { limit_bytes } => write!(f, "drop_tail {limit_bytes} bytes"),
            Limit::MarkCe {
                threshold_bytes,
                limit_bytes,
            } => {
                write!(f, "mark_ce from {threshold_bytes} bytes, ")?;
                match limit_bytes {
                    Some(b) => write!(f, "limit {b} bytes"),
                    None => f.write_str("no limit"),
                }
            }
            Limit::Unlimited => f.write_str("unlimited"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(threshold_bytes: u64, limit_bytes: Option<u64>) -> Limit {
        Limit::MarkCe {
            threshold_bytes,
            limit_bytes,
        }
    }

    fn read(json: &str) -> Result<Limit, String> {
        serde_json::from_str(json).map_err(|e| e.to_string())
    }

    #[test]
    fn limit_json_is_flat_and_strict() {
        let l = Limit::DropTail { limit_bytes: 9 };
        let s = r#"{"action":"drop_tail","limit_bytes":9}"#;
        assert_eq!(serde_json::to_string(&l).unwrap(), s);
        assert_eq!(read(s), Ok(l));
        assert!(read(r#"{"action":"drop_tail"}"#).is_err());
        assert!(read(r#"{"action":"drop"}"#).is_err());
        assert!(read(r#"{"action":"mark_ce","threshold_bytes":1,"limt":2}"#).is_err());
        let e = read(r#"{"action":"mark_ce"}"#).unwrap_err();
        assert!(e.contains("threshold_bytes"), "{e}");
    }

    #[test]
    fn both_values_are_written_and_read() {
        for l in [
            mark(5, Some(9)),
            mark(5, None),
            Limit::DropTail { limit_bytes: 5 },
            Limit::Unlimited,
        ] {
            assert_eq!(read(&serde_json::to_string(&l).unwrap()), Ok(l));
        }
        let e = read(r#"{"action":"mark_ce","threshold_bytes":9,"limit_bytes":9}"#).unwrap_err();
        assert!(e.contains("not above the threshold"), "{e}");
    }

    /// Releases with a single value wrote the threshold as `limit_bytes`.
    #[test]
    fn one_value_is_the_threshold() {
        assert_eq!(
            read(r#"{"action":"mark_ce","limit_bytes":7}"#),
            Ok(mark(7, None))
        );
    }

    #[test]
    fn what_acts_first_and_what_refuses() {
        assert_eq!(mark(5, Some(9)).bytes(), Some(5));
        assert_eq!(mark(5, Some(9)).refuses_at_bytes(), Some(9));
        assert_eq!(mark(5, None).refuses_at_bytes(), None);
        let tail = Limit::DropTail { limit_bytes: 5 };
        assert_eq!((tail.bytes(), tail.refuses_at_bytes()), (Some(5), Some(5)));
        assert_eq!(Limit::Unlimited.bytes(), None);
    }

    #[test]
    fn units_hold_both_values() {
        assert_eq!(mark(100, Some(170)).rounded(80), mark(80, Some(160)));
        // Both values fall into one cell: the target could not tell them apart.
        assert!(mark(81, Some(159)).rounded(80).check().is_err());
        assert_eq!(mark(81, None).rounded(80), mark(80, None));
    }

    #[test]
    fn with_bytes_keeps_the_action() {
        assert_eq!(mark(1, Some(2)).with_bytes(5, Some(8)), mark(5, Some(8)));
        assert_eq!(
            Limit::Unlimited.with_bytes(5, Some(8)),
            Limit::DropTail { limit_bytes: 5 }
        );
    }

    #[test]
    fn words_name_both_values() {
        assert_eq!(
            mark(5, Some(9)).to_string(),
            "mark_ce from 5 bytes, limit 9 bytes"
        );
        assert_eq!(mark(5, None).to_string(), "mark_ce from 5 bytes, no limit");
    }
}
