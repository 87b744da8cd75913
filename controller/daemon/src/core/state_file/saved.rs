// SPDX-License-Identifier: Apache-2.0
//! Contents of the file. A value changed at run time is saved with the configured value
//! that it replaces. When the configuration says something else at the next start, the
//! configuration wins.

use crate::config::Mode;
use serde::{Deserialize, Serialize};
use tidemark_advice::Pool;
use tidemark_control::{Limit, trial::TrialChange};
use tidemark_rules::{Targets, TriedLimit};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Saved {
    pub version: u32,
    pub mode: Option<Chosen<Mode>>,
    pub targets: Option<Chosen<Targets>>,
    pub links: Vec<SavedLink>,
}

/// A value chosen at run time, and the configured one that it replaced.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Chosen<T> {
    pub configured: T,
    pub chosen: T,
}

impl<T: PartialEq + Clone> Chosen<T> {
    pub(super) fn unless_same(configured: &T, chosen: &T) -> Option<Self> {
        (configured != chosen).then(|| Self {
            configured: configured.clone(),
            chosen: chosen.clone(),
        })
    }

    /// The chosen value, if the configuration is still what it was.
    pub(super) fn over(&self, configured: &T) -> Option<T> {
        (self.configured == *configured).then(|| self.chosen.clone())
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SavedLink {
    pub node: u32,
    pub port: u32,
    /// 0 in files from before links had a queue.
    pub queue: u32,
    pub targets: Option<Chosen<Option<Targets>>>,
    /// The limit that the controller set, to be restored if the switch loses it.
    pub limit: Option<Limit>,
    /// Time of the last change, Unix ms.
    pub changed_unix_ms: Option<u64>,
    /// End of the pause of auto mode, Unix ms.
    pub hold_until_unix_ms: Option<u64>,
    /// The last advice.
    pub advice_bytes: Option<u64>,
    /// The range of limits that serve, from the same advice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advised_interval_bytes: Option<[f64; 2]>,
    /// The evidence on which the advice is based.
    #[serde(skip_serializing_if = "Pool::is_empty")]
    pub evidence: Pool,
    /// The change on trial. (Its name in the file is older.)
    #[serde(rename = "watching")]
    pub trial: Option<TrialChange>,
    /// Results of earlier limits under this traffic.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<TriedLimit>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_wins_when_it_has_changed() {
        let chosen = Chosen {
            configured: Mode::Recommend,
            chosen: Mode::Auto,
        };
        assert_eq!(chosen.over(&Mode::Recommend), Some(Mode::Auto));
        assert_eq!(chosen.over(&Mode::Confirm), None);
    }
}
