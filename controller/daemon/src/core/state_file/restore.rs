// SPDX-License-Identifier: Apache-2.0
//! Saves the state, and restores it at the next start.

use super::{Chosen, Saved, SavedLink, StateFile};
use crate::config::Config;
use crate::core::state::State;
use std::collections::BTreeMap;
use tidemark_control::{Kept, SavedControl, Timestamp};
use tidemark_estimators::LinkId;
use tidemark_rules::Targets;

pub(crate) fn snapshot(state: &State, config: &Config, now: Timestamp) -> Saved {
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
        link.advice_bytes = c.kept.map(|k| k.limit);
        link.advised_interval_bytes = c.kept.and_then(|k| k.interval);
        link.evidence = c.pool;
        link.trial = c.trial;
        link.tried = c.tried;
    }
    let named = |(id, link): (LinkId, SavedLink)| SavedLink {
        node: id.node_id,
        port: id.port,
        queue: id.queue,
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
    config.link(id)?.targets.clone()
}

pub(crate) fn restore(state: &mut State, config: &Config, saved: &Saved, now: Timestamp) {
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
        let id = LinkId::new(l.node, l.port, l.queue);
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
            kept: l.advice_bytes.map(|limit| Kept {
                limit,
                interval: l.advised_interval_bytes,
            }),
            pool: l.evidence.clone(),
            trial: l.trial.clone(),
            tried: l.tried.clone(),
        };
        state.link_mut(id).restore(control, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Mode, SwitchConfig};
    use std::sync::Arc;
    use tidemark_control::Limit;
    use tidemark_rules::{CongestionControl, FlowMix, TriedLimit};

    const OLD: &str = include_str!("../../../tests/fixtures/control-63e1e1a/state.json");

    fn loaded(text: &str) -> Saved {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state.json");
        std::fs::write(&path, text).unwrap();
        StateFile::new(&path).load().unwrap()
    }

    /// A file with a limit on trial, written before the loop was a separate crate.
    #[test]
    fn an_old_file_is_read() {
        let saved = loaded(OLD);
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
            queue: 0,
        };
        assert_eq!(state.targets_of(id).delay_ms, Some(12.5));
        let limit = Limit::DropTail {
            limit_bytes: 140_061,
        };
        assert_eq!(state.links[&id].set_limit(), Some(limit));
        let trial = state.links[&id].trial().unwrap();
        assert_eq!(trial.change.limit, limit);
        // And saved again unchanged, its targets with the defaults of newer fields.
        let again = serde_json::to_value(snapshot(&state, &config, now)).unwrap();
        assert_eq!(again, serde_json::to_value(&saved).unwrap());
    }

    /// In the old format, the one value of a port that marks was the threshold.
    #[test]
    fn one_value_of_a_port_that_marks_is_its_threshold() {
        let saved = loaded(&OLD.replace("drop_tail", "mark_ce"));
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
            flow_mix: Some(FlowMix::of([CongestionControl::Cubic])),
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
}
