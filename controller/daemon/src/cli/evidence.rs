// SPDX-License-Identifier: Apache-2.0
//! `--evidence`: results of limits in earlier captures, for the advice on the next one.

use crate::core::state_file::{Saved, SavedLink, StateFile};
use crate::core::time;
use anyhow::Context as _;
use std::path::{Path, PathBuf};
use tidemark_control::{Timestamp, TriedLimits};
use tidemark_estimators::LinkId;
use tidemark_rules::{Traffic, TriedLimit};

/// A file of evidence, in the format of a state file.
#[derive(Debug)]
pub(super) struct EvidenceFile {
    path: PathBuf,
    file: StateFile,
    saved: Saved,
    now: Timestamp,
}

impl EvidenceFile {
    /// Reads the file; there is no evidence if it does not exist.
    pub(super) fn open(path: &Path) -> anyhow::Result<Self> {
        let file = StateFile::new(path);
        let saved = file.load()?;
        let now = time::now();
        let path = path.into();
        Ok(Self {
            path,
            file,
            saved,
            now,
        })
    }

    /// Returns the results of other limits under this traffic, as [`TriedLimits`] judges it; then
    /// adds the result in `measured` for the limit in force.
    pub(super) fn exchange(&mut self, id: LinkId, measured: &Traffic) -> Vec<TriedLimit> {
        let link = self.link(id);
        let mut limits = TriedLimits::of_earlier(link.tried.clone());
        let tried = limits.of(measured, self.now);
        limits.note(measured, self.now);
        self.link(id).tried = limits.all().copied().collect();
        tried
    }

    fn link(&mut self, id: LinkId) -> &mut SavedLink {
        let links = &mut self.saved.links;
        let known = links
            .iter()
            .position(|l| LinkId::new(l.node, l.port, l.queue) == id);
        let at = known.unwrap_or_else(|| {
            links.push(SavedLink {
                node: id.node_id,
                port: id.port,
                queue: id.queue,
                ..SavedLink::default()
            });
            links.len() - 1
        });
        &mut links[at]
    }

    pub(super) fn store(mut self) -> anyhow::Result<()> {
        self.saved.version = StateFile::VERSION;
        let stored = self.file.store(&self.saved);
        stored.with_context(|| format!("--evidence: {}", self.path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_rules::{CongestionControl, Observed};

    const LINK: LinkId = LinkId {
        node_id: 10,
        port: 1,
        queue: 0,
    };

    fn measured(limit_bytes: f64, loss_rate: f64) -> Traffic {
        let mut m = Traffic::described(50e6, 0.06, 20.0, 1500.0);
        m.limit_bytes = Some(limit_bytes);
        m.congestion_control = CongestionControl::Reno;
        m.observed = Some(Observed {
            utilisation: 1.0,
            loss_rate,
            drops: 500,
            delay_mean_ms: 5.0,
            delay_p50_ms: 5.0,
            delay_p99_ms: 9.0,
            delay_max_ms: 9.0,
        });
        m
    }

    #[test]
    fn what_one_capture_showed_the_next_knows() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("evidence.json");
        let mut known = Vec::new();
        for (limit, loss) in [(1e5, 0.02), (2e5, 0.01), (3e5, 0.007)] {
            let mut file = EvidenceFile::open(&path).unwrap();
            let tried = file.exchange(LINK, &measured(limit, loss));
            assert_eq!(
                tried.iter().map(|t| t.limit_bytes).collect::<Vec<_>>(),
                known
            );
            file.store().unwrap();
            known.push(limit);
        }
        let mut file = EvidenceFile::open(&path).unwrap();
        let other = LinkId { port: 2, ..LINK };
        assert!(file.exchange(other, &measured(4e5, 0.02)).is_empty());
        // A limit's own outcome is not evidence about it.
        let again = file.exchange(LINK, &measured(2e5, 0.011));
        assert_eq!(again.len(), 2);
    }

    #[test]
    fn nonsense_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("evidence.json");
        std::fs::write(&path, "{").unwrap();
        assert!(EvidenceFile::open(&path).is_err());
    }
}
