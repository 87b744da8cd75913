// SPDX-License-Identifier: Apache-2.0
//! `set` and `status`: ask a running controller.

use super::buffer::{InBytes, PortSizes};
use super::units::{self, Buffer};
use super::{http, one_of, table};
use clap::Args;
use daemon_kit::cli::{Usage, print, print_json};
use serde_json::json;
use std::path::PathBuf;
use tidemark_advice::verdict::size;
use tidemark_api::operations::{ApplyAdvice, GetStatus, SetLimit};
use tidemark_api::{ApplyRequest, LimitAction, LimitRequest, Link, LinkPath, Nothing};
use tidemark_estimators::LinkId;
use tidemark_rules::Limit;

/// Arguments that name a running controller.
#[derive(Clone, Debug, Args)]
pub(super) struct Where {
    /// Address of the controller.
    #[arg(
        long,
        env = "TIDEMARK_CONTROLLER",
        default_value = "http://127.0.0.1:8080"
    )]
    controller: String,
    /// Certificate to trust (PEM), if the controller listens with https.
    #[arg(long, env = "TIDEMARK_CA")]
    ca: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct Controller {
    #[command(flatten)]
    place: Where,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl Where {
    pub(super) fn at(&self) -> http::At<'_> {
        http::At {
            base: &self.controller,
            ca: self.ca.as_deref(),
        }
    }
}

#[derive(Debug, Args)]
pub(super) struct SetArgs {
    #[command(flatten)]
    controller: Controller,
    /// File with the controller's token (or put the token itself into TIDEMARK_TOKEN).
    #[arg(long, env = "TIDEMARK_TOKEN_FILE")]
    token_file: Option<PathBuf>,
    /// Node id of the switch; may be left out if there is only one.
    #[arg(long)]
    node: Option<u32>,
    /// Egress port.
    #[arg(long)]
    port: u32,
    /// Queue of the port.
    #[arg(long, default_value_t = 0)]
    queue: u32,
    /// Limit: bytes (312500, 300kB), time at the port's capacity (10ms), or packets of the size
    /// that the port sees (100pkts). With mark_ce it must be above the threshold; without it, only
    /// the switch's own limit applies.
    #[arg(long, value_parser = units::buffer)]
    limit: Option<Buffer>,
    /// With mark_ce: occupancy at which marking starts, in the units of the limit.
    #[arg(long, value_parser = units::buffer, conflicts_with = "advice")]
    threshold: Option<Buffer>,
    #[arg(
        long,
        value_parser = one_of::<LimitAction>(&["drop_tail", "mark_ce", "unlimited"]),
        default_value = "drop_tail",
        conflicts_with = "advice"
    )]
    action: LimitAction,
    /// Apply the controller's current advice instead of a given limit.
    #[arg(long, conflicts_with = "limit")]
    advice: bool,
    /// Reason, for the audit log.
    #[arg(long)]
    reason: Option<String>,
}

impl SetArgs {
    fn token(&self) -> anyhow::Result<Option<String>> {
        use anyhow::Context as _;
        match &self.token_file {
            Some(f) => {
                let text = durable_fs::read_secret(f)
                    .with_context(|| format!("--token-file: {}", f.display()))?;
                Ok(Some(String::from_utf8_lossy(&text).trim().to_string()))
            }
            None => Ok(super::token_of_environment()),
        }
    }

    /// Checks that the options fit the action, before anything is sent.
    fn fits_action(&self) -> Result<(), Usage> {
        if self.advice {
            return Ok(());
        }
        let sized = self.limit.is_some() || self.threshold.is_some();
        let unlimited = self.action == LimitAction::Unlimited;
        Usage::unless(
            !(unlimited && sized),
            "--action unlimited takes neither --limit nor --threshold",
        )?;
        Usage::unless(
            unlimited || sized,
            "--limit is missing: give a limit, or --advice, or --action unlimited",
        )
    }

    fn node(&self, at: &http::At<'_>) -> anyhow::Result<u32> {
        if let Some(n) = self.node {
            return Ok(n);
        }
        let status = http::call::<GetStatus>(at, &Nothing {}, None, &Nothing {})?;
        match status.switches.as_slice() {
            [only] => Ok(only.node),
            [] => anyhow::bail!("the controller has no switch configured"),
            several => {
                let nodes: Vec<String> = several.iter().map(|s| s.node.to_string()).collect();
                let nodes = nodes.join(", ");
                Err(Usage::new(format!("--node: there are several; name one of {nodes}")).into())
            }
        }
    }
}

/// Returns the id of a link.
pub(super) fn link_id(l: &Link) -> LinkId {
    LinkId::new(l.node, l.port, l.queue)
}

/// Returns the port's sizes; asks the controller for them only if a size is not in bytes.
fn sizes_at(at: &http::At<'_>, id: LinkId, given: &[Option<Buffer>]) -> anyhow::Result<PortSizes> {
    let known = |b: &Option<Buffer>| matches!(b, None | Some(Buffer::Bytes(_)));
    if given.iter().all(known) {
        return Ok(PortSizes::new(0.0, 0.0));
    }
    let links = http::links(at)?;
    let link = links.iter().find(|l| link_id(l) == id);
    let Some(link) = link else {
        anyhow::bail!(
            "link {id} has not reported yet: its capacity and packets are not known; \
             give the limit in bytes"
        );
    };
    let packet_bytes = link.estimate.as_ref().map_or(0.0, |e| e.segment_bytes);
    Ok(PortSizes::new(link.capacity_bps as f64, packet_bytes))
}

/// Converts a size to whole bytes, which a request needs, with how they follow.
fn sized(
    name: &str,
    id: LinkId,
    given: Option<Buffer>,
    sizes: &PortSizes,
) -> anyhow::Result<Option<InBytes>> {
    let Some(given) = given else {
        return Ok(None);
    };
    let sized = sizes.of(given).ok_or_else(|| {
        Usage::new(format!(
            "{name}: the capacity of link {id} is not known: give it to the collector \
             (capacity_bps of [nodes.{}.ports.{}]), or the limit in bytes or packets",
            id.node_id, id.port
        ))
    })?;
    Ok(Some(InBytes {
        bytes: sized.bytes.round(),
        ..sized
    }))
}

pub(super) fn set(args: &SetArgs) -> anyhow::Result<()> {
    args.fits_action()?;
    let at = &args.controller.place.at();
    let token = args.token()?;
    let token = token.as_deref();
    let (node, port, queue) = (args.node(at)?, args.port, args.queue);
    let id = LinkId::new(node, port, queue);
    let mut given = Vec::new();
    let (answer, before, limit) = if args.advice {
        let body = ApplyRequest {
            node: Some(node),
            port: Some(port),
            queue: Some(queue),
            bytes: None,
        };
        let done = http::call::<ApplyAdvice>(at, &Nothing {}, token, &body)?;
        (json!(done), done.before, done.limit)
    } else {
        let action = args.action;
        let sizes = sizes_at(at, id, &[args.limit, args.threshold])?;
        let limit = sized("--limit", id, args.limit, &sizes)?;
        let threshold = sized("--threshold", id, args.threshold, &sizes)?;
        let whole = |s: &Option<InBytes>| s.as_ref().map(|s| s.bytes as u64);
        let body = LimitRequest {
            bytes: whole(&limit),
            threshold_bytes: whole(&threshold),
            action: Some(action),
            reason: args.reason.clone(),
        };
        let others = [limit, threshold].into_iter().flatten();
        given.extend(others.filter(|s| !s.words.is_empty()));
        let done = http::call::<SetLimit>(at, &LinkPath { node, port, queue }, token, &body)?;
        (json!(done), done.before, done.limit)
    };
    if args.controller.json {
        return print_json(&answer);
    }
    for InBytes { bytes, words } in &given {
        print(format!("{words} = {bytes} bytes"))?;
    }
    print(format!(
        "node {node} port {port} queue {queue}: {limit} (before: {})",
        or_unknown(before)
    ))
}

fn or_unknown(limit: Option<Limit>) -> String {
    limit.map_or_else(|| "unknown".into(), |l| l.to_string())
}

#[derive(Debug, Args)]
pub(super) struct StatusArgs {
    #[command(flatten)]
    controller: Controller,
}

pub(super) fn status(args: &StatusArgs) -> anyhow::Result<()> {
    let at = &args.controller.place.at();
    let status = http::call::<GetStatus>(at, &Nothing {}, None, &Nothing {})?;
    let links = http::links(at)?;
    if args.controller.json {
        let mut all = json!(status);
        all["links"] = json!(links);
        return print_json(&all);
    }
    print(format!(
        "tidemark-controller {}, mode {}, up {:.0} s",
        status.version,
        json!(status.mode).as_str().unwrap_or_default(),
        status.uptime_s
    ))?;
    for c in &status.collectors {
        let state = if c.connected {
            "connected"
        } else {
            "not connected"
        };
        print(format!(
            "collector {}: {}; {} reports, {} lost",
            c.address,
            c.problem.as_deref().unwrap_or(state),
            c.status.reports_received,
            c.status.reports_lost
        ))?;
    }
    for s in &status.switches {
        let state = if s.ready { "ready" } else { "not ready" };
        let problem = s.provision_problem.as_deref();
        let problem = problem.or(s.health.problem.as_deref()).unwrap_or(state);
        print(format!("switch {} at {}: {problem}", s.node, s.address))?;
    }
    if links.is_empty() {
        return print("no link has reported yet");
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
        "buffer",
    ];
    print(table::table(heading, links.iter().map(row)))
}

/// Formats the limit as read from the switch, or else as reported.
pub(super) fn limit(l: &Link) -> String {
    match (l.limit, l.reported_limit_bytes) {
        (None, Some(bytes)) => format!("{bytes} bytes, reported"),
        (limit, _) => or_unknown(limit),
    }
}

fn row(l: &Link) -> [String; 9] {
    let e = l.estimate.as_ref();
    let known = e.filter(|e| table::tells_of_flows(e));
    let percent = |v: Option<f64>| table::dash_or(v, table::percent);
    let marks = matches!(l.limit, Some(Limit::MarkCe { .. }));
    let marking = l.advice.as_ref().and_then(|a| a.marking.as_ref());
    let above = marking.filter(|_| marks).map_or_else(String::new, |m| {
        format!(", dropping at {}", size(m.limit_bytes as f64))
    });
    let verdict = l.verdict.as_ref();
    let buffer = table::dash_or(verdict, |v| table::answer(v) + &above);
    [
        link_id(l).to_string(),
        l.name.clone(),
        limit(l),
        percent(e.and_then(|e| e.utilisation.mean)),
        percent(e.and_then(|e| e.loss_rate)),
        table::or_dash(e.and_then(|e| e.delay_ms.p99)),
        table::or_dash(known.map(|e| e.estimates.n_b.value)),
        table::or_dash(e.and_then(|e| Some(e.estimates.t_e_ms?.value))),
        buffer,
    ]
}
