// SPDX-License-Identifier: Apache-2.0
//! The controller's configuration: a TOML file, checked as a whole before
//! anything starts. Unknown keys are errors.

mod check;
mod clickhouse;
mod collector;

pub use clickhouse::ClickHouse;
pub use collector::CollectorConfig;
pub use tidemark_control::{Mode, Settings as Control};

use anyhow::Context as _;
use daemon_kit::credentials::{
    Access, ClientCredentials, ClientTls, Error as CredentialsError, Keys, ServerTls,
};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use tidemark_control::Range;
use tidemark_estimators::LinkId;
use tidemark_rules::Targets;
use tidemark_southbound::{DriverSection, Provision, SwitchAddress};

/// The controller's configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// User that the controller switches to once its port is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// gRPC addresses of the collectors.
    pub collectors: Vec<CollectorConfig>,
    /// Sliding window of the estimates, s.
    pub window_s: f64,
    /// How far back phases and series reach, s.
    pub retention_s: f64,
    /// File that keeps targets, mode and changed settings across restarts; without it nothing is
    /// kept.
    pub state_file: Option<PathBuf>,
    /// REST interface, console and metrics.
    pub http: Http,
    /// Targets of links without their own.
    pub targets: Targets,
    /// Options of the advisor.
    pub advisor: tidemark_rules::Options,
    /// Settings of the closed loop.
    pub control: Control,
    /// Database that stores the audit log in addition to its file.
    pub clickhouse: ClickHouse,
    /// Settings of single links.
    pub links: Vec<LinkConfig>,
    /// Switches whose limits can be set.
    pub switches: Vec<SwitchConfig>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            user: None,
            collectors: vec![CollectorConfig::new("127.0.0.1:9560")],
            window_s: 10.0,
            retention_s: 120.0,
            state_file: None,
            http: Http::default(),
            targets: Targets::default(),
            advisor: tidemark_rules::Options::default(),
            control: Control::default(),
            clickhouse: ClickHouse::default(),
            links: Vec::new(),
            switches: Vec::new(),
        }
    }
}

/// REST interface, console and metrics.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Http {
    /// Address and port of the server.
    pub listen: SocketAddr,
    /// Host names of the server, in addition to its address and `localhost`.
    pub hosts: Vec<String>,
    /// Bearer token required for writing; generated if absent.
    #[serde(skip_serializing)]
    pub token: Option<String>,
    /// File for a generated token (mode 0600).
    pub token_file: Option<PathBuf>,
    /// HTTPS instead of HTTP; mutual with `client_ca`.
    pub tls: Option<ServerTls>,
    /// Serve unencrypted on an address that other machines can reach.
    pub insecure: bool,
}

impl Default for Http {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            hosts: Vec::new(),
            token: None,
            token_file: None,
            tls: None,
            insecure: false,
        }
    }
}

/// Settings of a single link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkConfig {
    /// Node id of its switch.
    pub node: u32,
    /// Egress port.
    pub port: u32,
    /// Queue of the port.
    #[serde(default)]
    pub queue: u32,
    /// The link's own targets, instead of the default ones.
    pub targets: Option<Targets>,
    /// Largest limit that the depth of the target's own queue allows.
    pub max_limit_bytes: Option<u64>,
}

/// One switch, identified by the node id of its reports.
///
/// An unknown key is an error of [`DriverSection`], which takes the remaining keys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SwitchConfig {
    /// Node id of its reports.
    pub node: u32,
    /// Address of the server that the driver connects to, `host:port` or a URL.
    pub address: String,
    /// TLS to the switch; without it the connection is unencrypted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<ClientTls>,
    /// File with the token that the switch requires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_file: Option<PathBuf>,
    /// Device id of P4Runtime or BfRuntime.
    #[serde(default = "one")]
    pub device_id: u64,
    /// Election id; the connected client with the highest one may write.
    #[serde(default = "one")]
    pub election_id: u64,
    /// Bytes per unit of the limit (v1model 1, Tofino 80, Tofino 2 176).
    #[serde(default = "one_u32")]
    pub limit_unit_bytes: u32,
    /// Plan written to the switch when it comes up; without a plan, the switch must be ready.
    pub provision: Option<Provision>,
    /// The driver, with its own section.
    #[serde(flatten)]
    pub driver: DriverSection,
}

impl SwitchConfig {
    /// Creates a switch with the default driver and default ids.
    pub fn new(node: u32, address: &str) -> Self {
        Self {
            node,
            address: address.into(),
            tls: None,
            token_file: None,
            device_id: one(),
            election_id: one(),
            limit_unit_bytes: one_u32(),
            provision: None,
            driver: DriverSection::default(),
        }
    }

    /// Reads the credentials for the switch. `index` is its place in the list, and `now_unix_s` the
    /// current time, s.
    pub fn access(&self, index: usize, now_unix_s: u64) -> Result<Access, CredentialsError> {
        let own = ClientCredentials {
            tls: self.tls.clone(),
            token_file: self.token_file.clone(),
        };
        Access::load(&own, &Keys::under(format!("switches[{index}]")), now_unix_s)
    }

    /// Returns how the driver reaches the switch, with these credentials.
    pub fn reached_at(&self, access: Access) -> SwitchAddress {
        SwitchAddress {
            address: self.address.clone(),
            device_id: self.device_id,
            election_id: self.election_id,
            limit_unit_bytes: self.limit_unit_bytes,
            access,
            ..SwitchAddress::default()
        }
    }
}

fn one() -> u64 {
    1
}

fn one_u32() -> u32 {
    1
}

impl Config {
    /// Reads and checks a file; paths in it are relative to its directory.
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
        fix(&mut self.state_file);
        fix(&mut self.clickhouse.password_file);
        if let Some(tls) = &mut self.http.tls {
            tls.certificate = base.join(&tls.certificate);
            tls.key = base.join(&tls.key);
            fix(&mut tls.client_ca);
        }
        let collectors = self.collectors.iter_mut();
        let of_collectors = collectors.map(|c| (&mut c.tls, &mut c.token_file));
        let switches = self.switches.iter_mut();
        let of_switches = switches.map(|s| (&mut s.tls, &mut s.token_file));
        for (tls, token_file) in of_collectors.chain(of_switches) {
            if let Some(tls) = tls {
                tls.resolve(base);
            }
            fix(token_file);
        }
        for s in &mut self.switches {
            if let Some(p) = &mut s.provision {
                fix(&mut p.p4info);
                fix(&mut p.program);
            }
        }
    }

    /// Returns the settings of a single link, if any.
    pub fn link(&self, id: LinkId) -> Option<&LinkConfig> {
        let of = |l: &&LinkConfig| LinkId::new(l.node, l.port, l.queue) == id;
        self.links.iter().find(of)
    }

    /// Whether a link is named here: by its own section, or by a limit in its switch's plan.
    pub fn names_link(&self, id: LinkId) -> bool {
        let of_node = self.switches.iter().filter(|s| s.node == id.node_id);
        let mut plans = of_node.filter_map(|s| s.provision.as_ref());
        let of_port = id.port.to_string();
        self.link(id).is_some() || (id.queue == 0 && plans.any(|p| p.limits.contains_key(&of_port)))
    }

    /// Returns the largest limit allowed at a link, bytes.
    pub fn max_limit_bytes(&self, id: LinkId) -> u64 {
        self.link(id)
            .and_then(|l| l.max_limit_bytes)
            .unwrap_or(self.control.max_limit_bytes)
    }

    /// Returns the range of limits that may be written at a link.
    pub fn range(&self, id: LinkId) -> Range {
        let switch = self.switches.iter().find(|s| s.node == id.node_id);
        Range {
            min_bytes: self.control.min_limit_bytes,
            max_bytes: self.max_limit_bytes(id),
            unit_bytes: switch.map_or(1, |s| s.limit_unit_bytes),
        }
    }
}

#[cfg(test)]
mod tests;
