// SPDX-License-Identifier: Apache-2.0
//! `set` and `status`: through a running controller.

use super::{http, print, table};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use std::path::PathBuf;

#[derive(Debug, Args)]
struct Controller {
    /// Where the controller listens.
    #[arg(
        long,
        env = "TIDEMARK_CONTROLLER",
        default_value = "http://127.0.0.1:8080"
    )]
    controller: String,
    /// Certificate to trust, PEM, where the controller listens with https.
    #[arg(long, env = "TIDEMARK_CA")]
    ca: Option<PathBuf>,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

impl Controller {
    fn at(&self) -> http::At<'_> {
        http::At {
            base: &self.controller,
            ca: self.ca.as_deref(),
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Action {
    DropTail,
    MarkCe,
    Unlimited,
}

#[derive(Debug, Args)]
pub struct SetArgs {
    #[command(flatten)]
    controller: Controller,
    /// Bearer token of the controller.
    #[arg(long, env = "TIDEMARK_TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// File that holds the token.
    #[arg(long, env = "TIDEMARK_TOKEN_FILE", conflicts_with = "token")]
    token_file: Option<PathBuf>,
    /// Node id of the switch; may be left out where there is one.
    #[arg(long)]
    node: Option<u32>,
    /// Egress port.
    #[arg(long)]
    port: u32,
    /// Limit, bytes (312500, 300kB).
    #[arg(long, value_parser = super::units::bytes, required_unless_present = "advice")]
    limit: Option<f64>,
    #[arg(long, value_enum, default_value = "drop_tail")]
    action: Action,
    /// Apply the controller's present advice instead of a limit of yours.
    #[arg(long, conflicts_with = "limit")]
    advice: bool,
    /// For the audit log.
    #[arg(long)]
    reason: Option<String>,
}

impl SetArgs {
    fn token(&self) -> anyhow::Result<Option<String>> {
        use anyhow::Context as _;
        match &self.token_file {
            Some(f) => {
                let text = std::fs::read_to_string(f)
                    .with_context(|| format!("--token-file: {}: cannot be read", f.display()))?;
                Ok(Some(text.trim().to_string()))
            }
            None => Ok(self.token.clone()),
        }
    }

    fn node(&self, at: &http::At<'_>) -> anyhow::Result<u64> {
        if let Some(n) = self.node {
            return Ok(u64::from(n));
        }
        let status = http::request(at, "/status", None, None)?;
        let switches = status["switches"].as_array().cloned().unwrap_or_default();
        match switches.as_slice() {
            [only] => Ok(only["node"].as_u64().unwrap_or_default()),
            [] => anyhow::bail!("the controller has no switch configured"),
            _ => anyhow::bail!("--node: there are several switches; say which"),
        }
    }
}

pub fn set(args: &SetArgs) -> anyhow::Result<()> {
    let at = &args.controller.at();
    let token = args.token()?;
    let node = args.node(at)?;
    let port = args.port;
    let answer = if args.advice {
        let body = json!({"node": node, "port": port});
        http::request(at, "/advice/apply", token.as_deref(), Some(&body))?
    } else {
        let mut body = match args.action {
            Action::DropTail => json!({"action": "drop_tail", "bytes": args.limit}),
            Action::MarkCe => json!({"action": "mark_ce", "bytes": args.limit}),
            Action::Unlimited => json!({"action": "unlimited"}),
        };
        if let Some(bytes) = args.limit.filter(|_| !body["bytes"].is_null()) {
            body["bytes"] = json!(bytes.round() as u64);
        }
        if let Some(r) = &args.reason {
            body["reason"] = json!(r);
        }
        let path = format!("/links/{node}/{port}/limit");
        http::request(at, &path, token.as_deref(), Some(&body))?
    };
    if args.controller.json {
        return print(&serde_json::to_string_pretty(&answer)?);
    }
    print(&format!(
        "node {node} port {port}: {} (before: {})",
        limit(&answer["limit"]),
        limit(&answer["before"])
    ))
}

fn limit(v: &Value) -> String {
    match (v["action"].as_str(), v["limit_bytes"].as_u64()) {
        (Some(action), Some(bytes)) => format!("{action} {bytes} bytes"),
        (Some(action), None) => action.into(),
        _ => "unknown".into(),
    }
}

#[derive(Debug, Args)]
pub struct StatusArgs {
    #[command(flatten)]
    controller: Controller,
}

pub fn status(args: &StatusArgs) -> anyhow::Result<()> {
    let at = &args.controller.at();
    let mut status = http::request(at, "/status", None, None)?;
    let links = http::request(at, "/links", None, None)?;
    if args.controller.json {
        status["links"] = links["links"].clone();
        return print(&serde_json::to_string_pretty(&status)?);
    }
    print(&format!(
        "tidemark-controller {}, mode {}, up {:.0} s",
        status["version"].as_str().unwrap_or("?"),
        status["mode"].as_str().unwrap_or("?"),
        status["uptime_s"].as_f64().unwrap_or(0.0)
    ))?;
    let or = |v: &Value, good: &str| v.as_str().unwrap_or(good).to_string();
    let empty = Vec::new();
    for c in status["collectors"].as_array().unwrap_or(&empty) {
        let state = if c["connected"] == true {
            "connected"
        } else {
            "not connected"
        };
        print(&format!(
            "collector {}: {}; {} reports, {} lost",
            or(&c["address"], "?"),
            or(&c["problem"], state),
            c["status"]["reports_received"],
            c["status"]["reports_lost"]
        ))?;
    }
    for s in status["switches"].as_array().unwrap_or(&empty) {
        let state = if s["ready"] == true {
            "ready"
        } else {
            "not ready"
        };
        let problem = s["provision_problem"].as_str();
        let problem = problem.or(s["health"]["problem"].as_str()).unwrap_or(state);
        print(&format!(
            "switch {} at {}: {problem}",
            s["node"],
            or(&s["address"], "?")
        ))?;
    }
    let heading = [
        "link",
        "name",
        "limit",
        "utilisation",
        "loss",
        "delay p99 ms",
        "N_b",
        "T_e ms",
        "advice",
    ];
    let mut rows = vec![heading.map(String::from).to_vec()];
    for l in links["links"].as_array().unwrap_or(&empty) {
        let e = &l["estimate"];
        let number = |v: &Value| table::or_dash(v.as_f64());
        let percent = |v: &Value| v.as_f64().map_or("-".into(), table::percent);
        rows.push(vec![
            format!("{}:{}", l["node"], l["port"]),
            or(&l["name"], ""),
            limit(&l["limit"]),
            percent(&e["utilisation"]["mean"]),
            percent(&e["loss_rate"]),
            number(&e["delay_ms"]["p99"]),
            number(&e["estimates"]["n_b"]["value"]),
            number(&e["estimates"]["t_e_ms"]["value"]),
            l["advice"]["limit_bytes"]
                .as_u64()
                .map_or("-".into(), |b| format!("{b} bytes")),
        ]);
    }
    if rows.len() == 1 {
        return print("no link has reported yet");
    }
    print(&table::table(&rows))
}
