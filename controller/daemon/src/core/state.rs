// SPDX-License-Identifier: Apache-2.0
//! What survives a restart of the controller: mode, targets, the limits that it
//! set and those it was still watching, and where its advice stood. One small
//! JSON file, replaced as a whole.
//!
//! A value changed at run time goes with the configured value that it replaced:
//! when the configuration says something else at the next start, that wins.

use super::Core;
use super::audit::{lock, unix_ms};
use super::watching::{self, Watching};
use crate::config::{Config, Mode};
use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use tidemark_estimators::LinkId;
use tidemark_rules::Targets;
use tidemark_southbound::Limit;

const VERSION: u32 = 1;

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
    /// A change whose outcome was being measured.
    pub watching: Option<watching::Watched>,
}

/// The file, and what was last written to it.
#[derive(Debug)]
pub struct StateFile {
    path: PathBuf,
    written: Mutex<Option<String>>,
}

impl StateFile {
    /// A file that is written to from now on.
    pub fn new(path: &Path) -> Self {
        Self {
            path: path.into(),
            written: Mutex::new(None),
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
        let text = match std::fs::read_to_string(&self.path) {
            Ok(t) => t,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Saved::default()),
            Err(e) => return Err(e).with_context(remedy),
        };
        let saved: Saved = serde_json::from_str(&text).with_context(remedy)?;
        anyhow::ensure!(
            saved.version == VERSION,
            "{}: version {} is not {VERSION}",
            remedy(),
            saved.version
        );
        Ok(saved)
    }

    /// Writes what differs from what is there: a new file, put in its place.
    ///
    /// # Errors
    /// A directory that cannot be written to.
    pub fn store(&self, saved: &Saved) -> std::io::Result<()> {
        let text = serde_json::to_string_pretty(saved)? + "\n";
        let mut written = lock(&self.written);
        if written.as_ref() == Some(&text) {
            return Ok(());
        }
        let mut partial = self.path.clone().into_os_string();
        partial.push(".part");
        let mut file = std::fs::File::create(&partial)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&partial, &self.path)?;
        *written = Some(text);
        Ok(())
    }
}

/// The present state, as it is saved.
pub fn snapshot(core: &Core) -> Saved {
    let mut links: BTreeMap<LinkId, SavedLink> = BTreeMap::new();
    fn entry(links: &mut BTreeMap<LinkId, SavedLink>, id: LinkId) -> &mut SavedLink {
        links.entry(id).or_insert_with(|| SavedLink {
            node: id.node_id,
            port: id.port,
            ..SavedLink::default()
        })
    }
    let (default, of_links) = lock(&core.targets).clone();
    for (id, targets) in of_links {
        let configured = configured_targets(&core.config, id);
        let chosen = Chosen::unless_same(&configured, &Some(targets));
        if chosen.is_some() {
            entry(&mut links, id).targets = chosen;
        }
    }
    for (&node_id, switch) in &core.switches {
        for (&port, limit) in &lock(&switch.state).ours {
            entry(&mut links, LinkId { node_id, port }).limit = Some(*limit);
        }
    }
    let now = Instant::now();
    let now_ms = unix_ms();
    for (&id, state) in lock(&core.links).iter() {
        if let Some(changed) = state.changed {
            // To the second: the same moment must give the same text.
            let ago_s = now.saturating_duration_since(changed).as_secs_f64();
            let at_s = (now_ms as f64 / 1e3 - ago_s).round();
            entry(&mut links, id).changed_unix_ms = Some((at_s * 1e3) as u64);
        }
        if let Some(until) = state.hold_until.filter(|&t| t > now) {
            let in_s = until.saturating_duration_since(now).as_secs_f64();
            let at_s = (now_ms as f64 / 1e3 + in_s).round();
            entry(&mut links, id).hold_until_unix_ms = Some((at_s * 1e3) as u64);
        }
        if let Some(w) = &state.watching {
            entry(&mut links, id).watching = Some(w.change.clone());
        }
        if let Some(bytes) = state.steady.held() {
            entry(&mut links, id).advice_bytes = Some(bytes);
        }
    }
    Saved {
        version: VERSION,
        mode: Chosen::unless_same(&core.config.control.mode, &core.mode()),
        targets: Chosen::unless_same(&core.config.targets, &default),
        links: links.into_values().collect(),
    }
}

fn configured_targets(config: &Config, id: LinkId) -> Option<Targets> {
    config.link(id.node_id, id.port)?.targets.clone()
}

/// Puts back what was saved.
pub fn restore(core: &Core, saved: &Saved) {
    if let Some(mode) = saved
        .mode
        .as_ref()
        .and_then(|m| m.over(&core.config.control.mode))
    {
        tracing::info!(?mode, "state file: mode as it was set");
        *lock(&core.mode) = mode;
    }
    let mut targets = lock(&core.targets);
    if let Some(t) = saved
        .targets
        .as_ref()
        .and_then(|t| t.over(&core.config.targets))
    {
        targets.0 = t;
    }
    let now = Instant::now();
    let now_ms = unix_ms();
    for l in &saved.links {
        let id = LinkId {
            node_id: l.node,
            port: l.port,
        };
        let configured = configured_targets(&core.config, id);
        if let Some(Some(t)) = l.targets.as_ref().and_then(|t| t.over(&configured)) {
            targets.1.insert(id, t);
        }
        if let (Some(limit), Some(switch)) = (l.limit, core.switches.get(&l.node)) {
            tracing::info!(link = %id, %limit, "state file: limit set before");
            lock(&switch.state).ours.insert(l.port, limit);
        }
        let mut links = lock(&core.links);
        let state = links.entry(id).or_default();
        state.changed = l
            .changed_unix_ms
            .and_then(|at| now.checked_sub(Duration::from_millis(now_ms.saturating_sub(at))));
        state.hold_until = l
            .hold_until_unix_ms
            .map(|at| now + Duration::from_millis(at.saturating_sub(now_ms).min(86_400_000)));
        if let Some(change) = &l.watching {
            tracing::info!(link = %id, limit = %change.limit, "state file: the outcome of this change is still to be measured");
            state.watching = Some(Watching::waiting(change.clone()));
        }
        if let Some(bytes) = l.advice_bytes {
            state.steady = super::steady::Steady::holding(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_and_read_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state.json");
        let file = StateFile::new(&path);
        assert_eq!(file.load().unwrap(), Saved::default());
        let mut saved = Saved {
            version: VERSION,
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
