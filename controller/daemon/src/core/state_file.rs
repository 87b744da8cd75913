// SPDX-License-Identifier: Apache-2.0
//! What survives a restart of the controller: mode, targets, the limits that it
//! set and those on trial, and where its advice stood. One small JSON file,
//! replaced as a whole.
//!
//! A value changed at run time is saved with the configured value that it
//! replaces. When the configuration says something else at the next start, the
//! configuration wins.

use super::state::State;
use super::sync::lock;
use crate::config::{Config, Mode};
use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use tidemark_control::{Limit, SavedControl, Timestamp, trial::TrialChange};
use tidemark_disk::{SharedDisk, replace_private};
use tidemark_estimators::LinkId;
use tidemark_rules::{Targets, TriedLimit};

/// The file's content.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Saved {
    pub version: u32,
    pub mode: Option<Chosen<Mode>>,
    pub targets: Option<Chosen<Targets>>,
    pub links: Vec<SavedLink>,
}

/// A value chosen at run time, and the configured one that it replaced.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chosen<T> {
    pub configured: T,
    pub chosen: T,
}

impl<T: PartialEq + Clone> Chosen<T> {
    fn unless_same(configured: &T, chosen: &T) -> Option<Self> {
        (configured != chosen).then(|| Self {
            configured: configured.clone(),
            chosen: chosen.clone(),
        })
    }

    /// The chosen value, if the configuration is still what it was.
    fn over(&self, configured: &T) -> Option<T> {
        (self.configured == *configured).then(|| self.chosen.clone())
    }
}

/// What is kept of a link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SavedLink {
    pub node: u32,
    pub port: u32,
    pub targets: Option<Chosen<Option<Targets>>>,
    /// The limit that the controller set, for a switch that loses it.
    pub limit: Option<Limit>,
    /// When it was changed last, Unix ms.
    pub changed_unix_ms: Option<u64>,
    /// Auto mode rests until then, Unix ms.
    pub hold_until_unix_ms: Option<u64>,
    /// The advice that was held.
    pub advice_bytes: Option<u64>,
    /// The change on trial. (Its name in the file is older.)
    #[serde(rename = "watching")]
    pub trial: Option<TrialChange>,
    /// What earlier limits did under this traffic.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<TriedLimit>,
}

/// The file, and what was last written to it.
#[derive(Debug)]
pub struct StateFile {
    disk: SharedDisk,
    path: PathBuf,
    written: Mutex<Option<String>>,
    problem: Mutex<Option<String>>,
}

impl StateFile {
    /// Of the form that is written.
    pub const VERSION: u32 = 1;

    /// A file that is written to from now on.
    pub fn new(path: &Path) -> Self {
        Self::on(tidemark_disk::real(), path)
    }

    /// The same, on a disk.
    pub fn on(disk: SharedDisk, path: &Path) -> Self {
        Self {
            disk,
            path: path.into(),
            written: Mutex::new(None),
            problem: Mutex::new(None),
        }
    }

    /// What a former run left; nothing when there is no file.
    ///
    /// # Errors
    /// A file that cannot be read or makes no sense.
    pub fn load(&self) -> anyhow::Result<Saved> {
        let remedy = || {
            format!(
                "state_file: {}: remove it to start without what it holds",
                self.path.display()
            )
        };
        let text = match self.disk.read(&self.path) {
            Ok(t) => t,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Saved::default()),
            Err(e) => return Err(e).with_context(remedy),
        };
        let saved: Saved = serde_json::from_slice(&text).with_context(remedy)?;
        anyhow::ensure!(
            saved.version == Self::VERSION,
            "{}: version {} is not {}",
            remedy(),
            saved.version,
            Self::VERSION
        );
        Ok(saved)
    }

    /// Writes what differs from what is there: a new file, put in its place.
    ///
    /// # Errors
    /// A directory that cannot be written to.
    pub fn store(&self, saved: &Saved) -> std::io::Result<()> {
        let stored = self.replace(saved);
        *lock(&self.problem) = stored.as_ref().err().map(ToString::to_string);
        stored
    }

    /// Why it was not written last; `None` when it was.
    pub fn problem(&self) -> Option<String> {
        lock(&self.problem).clone()
    }

    fn replace(&self, saved: &Saved) -> std::io::Result<()> {
        let text = serde_json::to_string_pretty(saved)? + "\n";
        let mut written = lock(&self.written);
        if written.as_ref() == Some(&text) {
            return Ok(());
        }
        replace_private(&*self.disk, &self.path, text.as_bytes())?;
        *written = Some(text);
        Ok(())
    }
}

/// The present state, as it is saved.
pub fn snapshot(state: &State, config: &Config, now: Timestamp) -> Saved {
    let mut links: BTreeMap<LinkId, SavedLink> = BTreeMap::new();
    for (&id, targets) in &state.link_targets {
        let configured = configured_targets(config, id);
        let targets = Chosen::unless_same(&configured, &Some(targets.clone()));
        if targets.is_some() {
            links.entry(id).or_default().targets = targets;
        }
    }
    for (&id, control) in &state.links {
        let c = control.saved(now);
        if c == SavedControl::default() {
            continue;
        }
        let link = links.entry(id).or_default();
        link.limit = c.limit;
        link.changed_unix_ms = c.changed_unix_ms;
        link.hold_until_unix_ms = c.hold_until_unix_ms;
        link.advice_bytes = c.advice_bytes;
        link.trial = c.trial;
        link.tried = c.tried;
    }
    let named = |(id, link): (LinkId, SavedLink)| SavedLink {
        node: id.node_id,
        port: id.port,
        ..link
    };
    Saved {
        version: StateFile::VERSION,
        mode: Chosen::unless_same(&config.control.mode, &state.mode),
        targets: Chosen::unless_same(&config.targets, &state.default_targets),
        links: links.into_iter().map(named).collect(),
    }
}

fn configured_targets(config: &Config, id: LinkId) -> Option<Targets> {
    config.link(id.node_id, id.port)?.targets.clone()
}

/// Puts back what was saved.
pub fn restore(state: &mut State, config: &Config, saved: &Saved, now: Timestamp) {
    let mode = saved.mode.as_ref();
    if let Some(mode) = mode.and_then(|m| m.over(&config.control.mode)) {
        tracing::info!(?mode, "state file: mode as it was set");
        state.mode = mode;
    }
    let targets = saved.targets.as_ref();
    if let Some(targets) = targets.and_then(|t| t.over(&config.targets)) {
        state.default_targets = targets;
    }
    for l in &saved.links {
        let id = LinkId {
            node_id: l.node,
            port: l.port,
        };
        let configured = configured_targets(config, id);
        if let Some(Some(t)) = l.targets.as_ref().and_then(|t| t.over(&configured)) {
            state.link_targets.insert(id, t);
        }
        if let Some(limit) = l.limit {
            tracing::info!(link = %id, %limit, "state file: limit set before");
        }
        if let Some(change) = &l.trial {
            tracing::info!(link = %id, limit = %change.limit, "state file: the outcome of this change is still to be measured");
        }
        let control = SavedControl {
            limit: l.limit,
            changed_unix_ms: l.changed_unix_ms,
            hold_until_unix_ms: l.hold_until_unix_ms,
            advice_bytes: l.advice_bytes,
            trial: l.trial.clone(),
            tried: l.tried.clone(),
        };
        state.link_mut(id).restore(control, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::SwitchConfig;
    use std::sync::Arc;

    #[test]
    fn a_file_that_cannot_be_written_is_told_until_it_can() {
        let dir = tempfile::tempdir().unwrap();
        let file = StateFile::new(&dir.path().join("missing/state.json"));
        assert!(file.store(&Saved::default()).is_err());
        assert!(file.problem().is_some());
        std::fs::create_dir(dir.path().join("missing")).unwrap();
        file.store(&Saved::default()).unwrap();
        assert_eq!(file.problem(), None);
    }

    /// A file written before the loop was a crate of its own, on trial.
    #[test]
    fn an_old_file_is_read() {
        let text = include_str!("../../tests/fixtures/control-63e1e1a/state.json");
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state.json");
        std::fs::write(&path, text).unwrap();
        let saved = StateFile::new(&path).load().unwrap();
        let mut config = Config::default();
        config.control.mode = Mode::Auto;
        config.targets = saved.targets.as_ref().unwrap().configured.clone();
        config.switches.push(SwitchConfig::new(10, "memory:1"));
        let config = Arc::new(config);
        let mut state = State::new(&config);
        // Two seconds after it was written.
        let now = Timestamp {
            monotonic_ns: 0,
            unix_ms: 1_795_321_367_000,
        };
        restore(&mut state, &config, &saved, now);
        assert_eq!(state.mode, Mode::Confirm);
        assert_eq!(state.default_targets.loss_rate, Some(0.02));
        let id = LinkId {
            node_id: 10,
            port: 5,
        };
        assert_eq!(state.targets_of(id).delay_ms, Some(12.5));
        let limit = Limit::DropTail {
            limit_bytes: 140_061,
        };
        assert_eq!(state.links[&id].set_limit(), Some(limit));
        let trial = state.links[&id].trial().unwrap();
        assert_eq!(trial.change.limit, limit);
        // And saved again as it was.
        let again = serde_json::to_value(snapshot(&state, &config, now)).unwrap();
        let before: serde_json::Value = serde_json::from_str(text).unwrap();
        assert_eq!(again, before);
    }

    /// The same with a port that marks: its one value was the threshold.
    #[test]
    fn one_value_of_a_port_that_marks_is_its_threshold() {
        let text = include_str!("../../tests/fixtures/control-63e1e1a/state.json");
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state.json");
        std::fs::write(&path, text.replace("drop_tail", "mark_ce")).unwrap();
        let saved = StateFile::new(&path).load().unwrap();
        let limit = saved.links.iter().find_map(|l| l.limit);
        let threshold = Limit::MarkCe {
            threshold_bytes: 140_061,
            limit_bytes: None,
        };
        assert_eq!(limit, Some(threshold));
        let trial = saved.links.iter().find_map(|l| l.trial.as_ref());
        assert_eq!(trial.unwrap().limit, threshold);
    }

    #[test]
    fn what_limits_did_survives() {
        let config = Arc::new(Config::default());
        let now = Timestamp {
            monotonic_ns: 0,
            unix_ms: 1_795_321_367_000,
        };
        let tried = TriedLimit {
            limit_bytes: 3e5,
            loss_rate: 0.02,
            drops: 700,
            loss_events: 70.0,
            utilisation: 1.0,
            delay_mean_ms: 9.5,
            n_b: 12.0,
            model_based_share: 0.0,
            cubic_share: 0.5,
            unix_ms: now.unix_ms - 60_000,
        };
        let link = SavedLink {
            node: 10,
            port: 5,
            tried: vec![tried],
            ..SavedLink::default()
        };
        let saved = Saved {
            version: StateFile::VERSION,
            links: vec![link],
            ..Saved::default()
        };
        let mut state = State::new(&config);
        restore(&mut state, &config, &saved, now);
        assert_eq!(snapshot(&state, &config, now), saved);
    }

    #[test]
    fn a_file_is_replaced_and_read_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state.json");
        let file = StateFile::new(&path);
        assert_eq!(file.load().unwrap(), Saved::default());
        let mut saved = Saved {
            version: StateFile::VERSION,
            mode: Some(Chosen {
                configured: Mode::Recommend,
                chosen: Mode::Auto,
            }),
            ..Saved::default()
        };
        file.store(&saved).unwrap();
        assert_eq!(StateFile::new(&path).load().unwrap(), saved);
        saved.mode = None;
        file.store(&saved).unwrap();
        assert_eq!(StateFile::new(&path).load().unwrap(), saved);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn nonsense_is_refused_with_the_remedy() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state.json");
        for text in ["", "{", "{\"version\": 99}", "{\"version\": 1, \"foo\": 2}"] {
            std::fs::write(&path, text).unwrap();
            let e = format!("{:#}", StateFile::new(&path).load().unwrap_err());
            assert!(e.contains("state.json") && e.contains("remove it"), "{e}");
        }
    }

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
