// SPDX-License-Identifier: Apache-2.0
//! Checks of the configuration that its types cannot make.

use super::{Config, Http, LinkConfig};
use anyhow::bail;
use daemon_kit::credentials::Access;
use tidemark_control::AuditPolicy;
use tidemark_estimators::LinkId;

impl Http {
    /// Refuses an address that other machines reach without TLS, unless `insecure` is set: writing
    /// needs the token, which must not cross a network unencrypted by accident.
    fn check(&self) -> anyhow::Result<()> {
        if self.insecure && self.tls.is_some() {
            bail!("http.insecure: contradicts http.tls; remove one or the other");
        }
        let beyond = !self.listen.ip().to_canonical().is_loopback();
        if beyond && self.tls.is_none() && !self.insecure {
            bail!(
                "http.listen: {} can be reached from other machines, and the token of those who write \
                 would cross the network in the clear: set http.tls (with http.tls.client_ca to let in \
                 only who shows a certificate), or listen on 127.0.0.1 behind a proxy; \
                 http.insecure (--insecure) serves in the clear",
                self.listen
            );
        }
        Ok(())
    }
}

impl Config {
    /// Checks what the types cannot.
    pub fn check(&self) -> anyhow::Result<()> {
        if self.collectors.is_empty() {
            bail!("collectors: give at least one, e.g. [\"127.0.0.1:9560\"]");
        }
        at_least("window_s", self.window_s, 1.0)?;
        at_least("retention_s", self.retention_s, 2.0 * self.window_s)?;
        if self.http.token.as_ref().is_some_and(|t| t.len() < 8) {
            bail!("http.token: use at least 8 characters");
        }
        self.http.check()?;
        self.targets.check("targets.").map_err(anyhow::Error::msg)?;
        let c = &self.control;
        at_least("control.max_step_factor", c.max_step_factor, 1.01)?;
        at_least("control.max_decrease_factor", c.max_decrease_factor, 1.01)?;
        at_least("control.short_window_s", c.short_window_s, 0.5)?;
        for (key, value) in [
            ("control.min_change_interval_s", c.min_change_interval_s),
            ("control.settle_s", c.settle_s),
            ("control.deadband", c.deadband),
            ("control.rollback_hold_s", c.rollback_hold_s),
            ("control.max_report_loss", c.max_report_loss),
        ] {
            at_least(key, value, 0.0)?;
        }
        for (key, value) in [
            ("control.settle_s", c.settle_s),
            ("control.observe_s", c.observe_s),
            ("control.rollback_hold_s", c.rollback_hold_s),
            ("control.min_change_interval_s", c.min_change_interval_s),
        ] {
            if value > LONGEST_S {
                bail!("{key}: {value} must be at most {LONGEST_S} (a day)");
            }
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
        for l in &self.links {
            let range = self.range(LinkId::new(l.node, l.port, l.queue));
            if range.is_empty() {
                bail!(
                    "links: node {} port {}: no limit lies between control.min_limit_bytes, {}, and max_limit_bytes, {}, in units of {} bytes",
                    l.node,
                    l.port,
                    range.min_bytes,
                    range.max_bytes,
                    range.unit_bytes
                );
            }
        }
        if c.audit == Some(AuditPolicy::Required) && c.audit_log.is_none() {
            bail!("control.audit: \"required\" needs control.audit_log");
        }
        self.check_clickhouse()?;
        for (i, l) in self.links.iter().enumerate() {
            if let Some(t) = &l.targets {
                let key = format!("links[{i}].targets.");
                t.check(&key).map_err(anyhow::Error::msg)?;
            }
            let place = |o: &LinkConfig| (o.node, o.port, o.queue);
            if self.links.iter().filter(|o| place(o) == place(l)).count() > 1 {
                let (node, port, queue) = place(l);
                bail!("links[{i}]: node {node} port {port} queue {queue} is given twice");
            }
        }
        for (i, s) in self.switches.iter().enumerate() {
            if self.switches.iter().filter(|o| o.node == s.node).count() > 1 {
                bail!("switches[{i}].node: {} is given twice", s.node);
            }
            if s.limit_unit_bytes == 0 {
                bail!("switches[{i}].limit_unit_bytes: must be at least 1");
            }
            if let Err(e) = s.driver.check(&s.reached_at(Access::default())) {
                bail!("switches[{i}].{e}");
            }
            let Some(plan) = &s.provision else { continue };
            if let Err(e) = plan.check_queues() {
                bail!("switches[{i}].provision.{e}");
            }
            let limits = match plan.limit_ports() {
                Ok(limits) => limits,
                Err(e) => bail!("switches[{i}].provision.{e}"),
            };
            for (port, limit) in limits {
                // The plan also writes limits.
                if let Err(r) = self.range(LinkId::new(s.node, port, 0)).limit(&limit) {
                    bail!("switches[{i}].provision.limits.{port}: {}", r.message);
                }
            }
        }
        Ok(())
    }

    fn check_clickhouse(&self) -> anyhow::Result<()> {
        let Some(server) = self.clickhouse.server() else {
            return Ok(());
        };
        server.validate()?;
        if self.control.audit_log.is_none() {
            bail!("clickhouse.url: needs control.audit_log: records wait there until stored");
        }
        let pause = self.clickhouse.retry_max_ms;
        if !(500..=3_600_000).contains(&pause) {
            bail!("clickhouse.retry_max_ms: {pause} must be 500 to 3600000");
        }
        if self.clickhouse.controller_name().is_empty() {
            bail!("clickhouse.controller: give a name; this host has none");
        }
        Ok(())
    }
}

/// Longest plausible time span in the guard rails, s.
const LONGEST_S: f64 = 86_400.0;

fn at_least(key: &str, value: f64, min: f64) -> anyhow::Result<()> {
    // Written so that NaN fails.
    if value >= min && value.is_finite() {
        return Ok(());
    }
    bail!("{key}: {value} must be at least {min}")
}
