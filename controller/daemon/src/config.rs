// SPDX-License-Identifier: Apache-2.0
//! The controller's configuration: a TOML file, checked as a whole before
//! anything starts. Unknown keys are errors.

use anyhow::{Context as _, bail};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use tidemark_rules::{Goal, Targets};
use tidemark_southbound::Provision;

/// Everything the controller is told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// gRPC addresses of the collectors.
    pub collectors: Vec<String>,
    /// Sliding window of the estimates, s.
    pub window_s: f64,
    /// How far back phases and series can reach, s.
    pub retention_s: f64,
    pub http: Http,
    /// Targets of links that have none of their own.
    pub targets: Targets,
    /// How the advisor works.
    pub advisor: tidemark_rules::Options,
    pub control: Control,
    pub links: Vec<LinkConfig>,
    pub switches: Vec<SwitchConfig>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            collectors: vec!["127.0.0.1:9560".into()],
            window_s: 10.0,
            retention_s: 120.0,
            http: Http::default(),
            targets: Targets::default(),
            advisor: tidemark_rules::Options::default(),
            control: Control::default(),
            links: Vec::new(),
            switches: Vec::new(),
        }
    }
}

/// REST, console, metrics.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Http {
    pub listen: SocketAddr,
    /// Bearer token of everything that writes; one is made when absent.
    #[serde(skip_serializing)]
    pub token: Option<String>,
    /// Where a token that was made is written (mode 0600).
    pub token_file: Option<PathBuf>,
}

impl Default for Http {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            token: None,
            token_file: None,
        }
    }
}

/// What the controller may do with its advice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Show it.
    #[default]
    Recommend,
    /// Apply it when an operator says so.
    Confirm,
    /// Apply it.
    Auto,
}

/// Guard rails of limit changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Control {
    pub mode: Mode,
    /// Every change is appended here as a line of JSON.
    pub audit_log: Option<PathBuf>,
    /// No limit below this is ever set.
    pub min_limit_bytes: u64,
    /// Nor above this.
    pub max_limit_bytes: u64,
    /// One change multiplies or divides the limit by at most this.
    pub max_step_factor: f64,
    /// Time between two changes of a link by advice, s.
    pub min_change_interval_s: f64,
    /// Advice is not applied when the newest telemetry is older, s.
    pub max_telemetry_age_s: f64,
    /// Nor when more than this fraction of the reports of the window was lost.
    pub max_report_loss: f64,
    /// After a change, what happens during this time is not judged, s.
    pub settle_s: f64,
    /// Then the outcome is measured over this time, s.
    pub observe_s: f64,
    /// Auto: advice within this fraction of the limit changes nothing.
    pub deadband: f64,
    /// Auto: advice must agree this many seconds in a row.
    pub stable_s: u32,
    /// Auto: no change for this long after a rollback, s.
    pub rollback_hold_s: f64,
    /// Write nothing to any switch; log what would have been written.
    pub dry_run: bool,
}

impl Default for Control {
    fn default() -> Self {
        Self {
            mode: Mode::Recommend,
            audit_log: None,
            min_limit_bytes: 15_140,
            max_limit_bytes: 16 << 20,
            max_step_factor: 8.0,
            min_change_interval_s: 10.0,
            max_telemetry_age_s: 3.0,
            max_report_loss: 0.01,
            settle_s: 3.0,
            observe_s: 10.0,
            deadband: 0.15,
            stable_s: 3,
            rollback_hold_s: 60.0,
            dry_run: false,
        }
    }
}

/// What is particular to one link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkConfig {
    pub node: u32,
    pub port: u32,
    #[serde(default)]
    pub targets: Option<Targets>,
    /// Depth of the target's own queue allows no more than this.
    #[serde(default)]
    pub max_limit_bytes: Option<u64>,
}

/// One switch, by the node id of its reports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SwitchConfig {
    pub node: u32,
    /// P4Runtime address, `host:port`.
    pub address: String,
    #[serde(default = "one")]
    pub device_id: u64,
    #[serde(default = "one")]
    pub election_id: u64,
    /// Bytes per unit of the limit (v1model 1, Tofino 80, Tofino 2 176).
    #[serde(default = "one_u32")]
    pub limit_unit_bytes: u32,
    #[serde(default)]
    pub provision: Option<Provision>,
}

fn one() -> u64 {
    1
}

fn one_u32() -> u32 {
    1
}

impl Config {
    /// Reads and checks a file; paths in it are relative to its directory.
    ///
    /// # Errors
    /// What is wrong, with file, line and key.
    pub fn load(path: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("{}: cannot be read", path.display()))?;
        let mut config: Config =
            toml::from_str(&text).with_context(|| format!("{}", path.display()))?;
        let base = path.parent().unwrap_or(Path::new("."));
        config.resolve_paths(base);
        config
            .check()
            .with_context(|| format!("{}", path.display()))?;
        Ok(config)
    }

    fn resolve_paths(&mut self, base: &Path) {
        let fix = |p: &mut Option<PathBuf>| {
            if let Some(p) = p {
                *p = base.join(&*p);
            }
        };
        fix(&mut self.http.token_file);
        fix(&mut self.control.audit_log);
        for s in &mut self.switches {
            if let Some(p) = &mut s.provision {
                fix(&mut p.p4info);
                fix(&mut p.program);
            }
        }
    }

    /// Checks what the types cannot.
    ///
    /// # Errors
    /// The first key whose value makes no sense.
    pub fn check(&self) -> anyhow::Result<()> {
        if self.collectors.is_empty() {
            bail!("collectors: give at least one, e.g. [\"127.0.0.1:9560\"]");
        }
        at_least("window_s", self.window_s, 1.0)?;
        at_least("retention_s", self.retention_s, 2.0 * self.window_s)?;
        if self.http.token.as_ref().is_some_and(|t| t.len() < 8) {
            bail!("http.token: use at least 8 characters");
        }
        check_targets("targets", &self.targets)?;
        let c = &self.control;
        at_least("control.max_step_factor", c.max_step_factor, 1.01)?;
        for (key, value) in [
            ("control.min_change_interval_s", c.min_change_interval_s),
            ("control.settle_s", c.settle_s),
            ("control.deadband", c.deadband),
            ("control.rollback_hold_s", c.rollback_hold_s),
            ("control.max_report_loss", c.max_report_loss),
        ] {
            at_least(key, value, 0.0)?;
        }
        at_least("control.max_telemetry_age_s", c.max_telemetry_age_s, 0.1)?;
        at_least("control.observe_s", c.observe_s, 1.0)?;
        if c.min_limit_bytes > c.max_limit_bytes {
            bail!(
                "control.min_limit_bytes: {} is above control.max_limit_bytes, {}",
                c.min_limit_bytes,
                c.max_limit_bytes
            );
        }
        for (i, l) in self.links.iter().enumerate() {
            if let Some(t) = &l.targets {
                check_targets(&format!("links[{i}].targets"), t)?;
            }
            let same = |o: &&LinkConfig| o.node == l.node && o.port == l.port;
            if self.links.iter().filter(same).count() > 1 {
                bail!("links[{i}]: node {} port {} is given twice", l.node, l.port);
            }
        }
        for (i, s) in self.switches.iter().enumerate() {
            if self.switches.iter().filter(|o| o.node == s.node).count() > 1 {
                bail!("switches[{i}].node: {} is given twice", s.node);
            }
            if let Some(p) = &s.provision {
                if let Err(e) = p.limit_ports() {
                    bail!("switches[{i}].provision.{e}");
                }
            }
        }
        Ok(())
    }

    /// The particular settings of a link, if any.
    pub fn link(&self, node: u32, port: u32) -> Option<&LinkConfig> {
        self.links.iter().find(|l| l.node == node && l.port == port)
    }

    /// Largest limit allowed at a link, bytes.
    pub fn max_limit_bytes(&self, node: u32, port: u32) -> u64 {
        self.link(node, port)
            .and_then(|l| l.max_limit_bytes)
            .unwrap_or(self.control.max_limit_bytes)
    }
}

fn at_least(key: &str, value: f64, min: f64) -> anyhow::Result<()> {
    // Written so that NaN fails.
    if value >= min && value.is_finite() {
        return Ok(());
    }
    bail!("{key}: {value} must be at least {min}")
}

/// Checks targets; `key` is put in front of the field at fault.
///
/// # Errors
/// The field at fault and what it may be.
pub fn check_targets(key: &str, t: &Targets) -> anyhow::Result<()> {
    if !(t.utilisation > 0.0 && t.utilisation <= 1.0) {
        bail!(
            "{key}.utilisation: {} is not a fraction above 0 and at most 1",
            t.utilisation
        );
    }
    if let Some(p) = t.loss_rate {
        if !(p > 0.0 && p < 1.0) {
            bail!("{key}.loss_rate: {p} is not a fraction between 0 and 1");
        }
    }
    if let Some(d) = t.delay_ms {
        if !(d > 0.0 && d.is_finite()) {
            bail!("{key}.delay_ms: {d} is not a time above 0");
        }
    }
    let twice = |g: &Goal| t.priority.iter().filter(|o| *o == g).count() > 1;
    if let Some(goal) = t.priority.iter().find(|g| twice(g)) {
        bail!("{key}.priority: {} is named twice", goal.label());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Config, String> {
        let c: Config = toml::from_str(text).map_err(|e| e.to_string())?;
        c.check().map_err(|e| e.to_string())?;
        Ok(c)
    }

    #[test]
    fn empty_file_is_the_default() {
        assert_eq!(parse("").unwrap(), Config::default());
    }

    #[test]
    fn unknown_keys_name_line_and_key() {
        let e = parse("[control]\nmod = \"auto\"").unwrap_err();
        assert!(e.contains("line 2") && e.contains("`mod`"), "{e}");
        assert!(parse("[switches]\n").is_err());
        assert!(parse("[[switches]]\nnode = 1\naddress = \"x\"\nfoo = 1").is_err());
    }

    #[test]
    fn values_are_checked() {
        for (text, key) in [
            ("window_s = 0", "window_s"),
            ("window_s = nan", "window_s"),
            ("retention_s = 5", "retention_s"),
            ("collectors = []", "collectors"),
            ("[targets]\nutilisation = 98", "targets.utilisation"),
            ("[targets]\nloss_rate = 1.5", "targets.loss_rate"),
            ("[targets]\ndelay_ms = 0", "targets.delay_ms"),
            ("[targets]\npriority = [\"loss\", \"loss\"]", "priority"),
            ("[control]\nmax_step_factor = 1", "control.max_step_factor"),
            ("[control]\nmin_limit_bytes = 100000000", "min_limit_bytes"),
            ("[http]\ntoken = \"short\"", "http.token"),
            (
                "[[switches]]\nnode = 1\naddress = \"x\"\n[switches.provision.limits]\nfive = { action = \"unlimited\" }",
                "limits.five",
            ),
        ] {
            let e = parse(text).unwrap_err();
            assert!(e.contains(key), "{text}: {e}");
        }
    }

    #[test]
    fn documented_example_is_valid() {
        let doc = include_str!("../../../docs/api.md");
        let start = doc.find("```toml\n").unwrap() + 8;
        let end = start + doc[start..].find("```").unwrap();
        let c = parse(&doc[start..end]).unwrap();
        assert_eq!(c.switches[0].provision.as_ref().unwrap().watch.len(), 1);
        assert_eq!(c.max_limit_bytes(10, 5), 6_000_000);
        assert_eq!(c.max_limit_bytes(10, 6), 4_000_000);
    }
}
