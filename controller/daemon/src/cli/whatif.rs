// SPDX-License-Identifier: Apache-2.0
//! `whatif`: predicted utilisation, loss and delay over the limit.

use super::analyze::{self, WhichArgs};
use super::buffer::PortSizes;
use super::table;
use super::units::{self, Buffer};
use anyhow::Context as _;
use clap::Args;
use daemon_kit::cli::{Usage, print, print_json};
use serde_json::json;
use std::path::PathBuf;
use tidemark_advice::{WhatIfPoint, what_if};
use tidemark_analysis::Asked;
use tidemark_estimators::LinkId;
use tidemark_rules::{Traffic, digits};

#[derive(Debug, Args)]
pub(super) struct WhatIfArgs {
    /// Directory of a run, or of its capture.
    #[arg(value_name = "RUN")]
    capture: PathBuf,
    /// Start, in seconds after the link's first interval in the capture.
    #[arg(long)]
    from_s: Option<f64>,
    /// End, in seconds after the link's first interval in the capture.
    #[arg(long)]
    to_s: Option<f64>,
    #[command(flatten)]
    which: WhichArgs,
    /// Number of limits to predict at, spaced geometrically.
    #[arg(long, default_value_t = 40, value_parser = clap::value_parser!(u16).range(2..=1000))]
    points: u16,
    /// Predict at this limit only: bytes (312500, 300kB), time at the link's rate (10ms), or
    /// packets of the measured size (100pkts); may be repeated.
    #[arg(long, value_parser = units::buffer, value_delimiter = ',', conflicts_with = "points")]
    limit: Vec<Buffer>,
    /// Print CSV.
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl WhatIfArgs {
    /// Predicts at the given limits, or over all relevant ones.
    fn predicted(&self, m: &Traffic) -> anyhow::Result<Vec<WhatIfPoint>> {
        if self.limit.is_empty() {
            return curve(m, self.points);
        }
        let sizes = PortSizes::new(m.queue_drain_bps, m.segment_bytes);
        let limits = self.limit.iter().map(|b| sizes.of(*b).map(|s| s.bytes));
        let limits: Option<Vec<f64>> = limits.collect();
        let limits = limits.context(
            "--limit: the capacity is not known: give it to the collector (capacity_bps of the port), \
             or the limit in bytes or packets",
        )?;
        let above_0 = limits.iter().all(|&bytes| bytes > 0.0);
        Usage::unless(above_0, "--limit: must be above 0")?;
        Ok(what_if(m, limits)?)
    }
}

pub(super) const COLUMNS: [&str; 16] = [
    "node",
    "port",
    "queue",
    "limit_bytes",
    "limit_packets",
    "limit_ms",
    "utilisation",
    "utilisation_low",
    "utilisation_high",
    "loss_rate",
    "loss_rate_low",
    "loss_rate_high",
    "delay_mean_ms",
    "delay_mean_ms_low",
    "delay_mean_ms_high",
    "delay_full_ms",
];

/// Predicts from two packets to twice the limit in force, C·T, or a delay of 10 ms, whichever is
/// largest.
pub(super) fn curve(m: &Traffic, points: u16) -> anyhow::Result<Vec<WhatIfPoint>> {
    let drain = m.drain_bytes_per_s();
    let least = 2.0 * m.segment_bytes.max(1.0);
    let most = [
        m.limit_bytes.unwrap_or(0.0),
        drain * m.t_mean_s.value,
        drain * 0.01,
        4.0 * least,
    ];
    let most = 2.0 * most.into_iter().fold(0.0, f64::max);
    let last = f64::from(points.max(2) - 1);
    let limits = (0..points).map(|i| least * (most / least).powf(f64::from(i) / last));
    Ok(what_if(m, limits)?)
}

/// Formats one line of CSV for each point.
pub(super) fn csv(link: Option<LinkId>, m: &Traffic, curve: &[WhatIfPoint]) -> Vec<String> {
    let of = |f: fn(LinkId) -> Option<u32>| {
        let number = link.and_then(f);
        number.map_or(String::new(), |n| n.to_string())
    };
    curve
        .iter()
        .map(|p| {
            let x = &p.predicted;
            let mut cells = vec![
                of(|l| Some(l.node_id)),
                of(|l| l.known_port()),
                of(|l| Some(l.queue)),
            ];
            cells.extend(
                [
                    p.buffer_bytes,
                    p.buffer_bytes / m.segment_bytes,
                    p.buffer_bytes / m.drain_bytes_per_s() * 1e3,
                    x.utilisation.value,
                    x.utilisation.low,
                    x.utilisation.high,
                    x.loss_rate.value,
                    x.loss_rate.low,
                    x.loss_rate.high,
                    x.delay_mean_ms.value,
                    x.delay_mean_ms.low,
                    x.delay_mean_ms.high,
                    x.delay_ms.value,
                ]
                .map(digits),
            );
            cells.join(",")
        })
        .collect()
}

fn text(curve: &[WhatIfPoint], m: &Traffic) -> String {
    let heading = [
        "bytes",
        "packets",
        "ms",
        "utilisation",
        "loss",
        "mean delay ms",
    ];
    let rows = curve.iter().map(|p| {
        let x = &p.predicted;
        [
            table::number(p.buffer_bytes),
            table::number(p.buffer_bytes / m.segment_bytes),
            table::number(p.buffer_bytes / m.drain_bytes_per_s() * 1e3),
            table::percent_range(x.utilisation),
            table::percent_range(x.loss_rate),
            table::number(x.delay_mean_ms.value),
        ]
    });
    table::table(heading, rows)
}

pub(super) fn whatif(args: &WhatIfArgs) -> anyhow::Result<()> {
    let asked = Asked {
        from_s: args.from_s,
        to_s: args.to_s,
        ..Asked::default()
    };
    let links = analyze::estimated(&args.capture, asked, args.which.which())?;
    let mut all = Vec::new();
    if args.csv {
        print(COLUMNS.join(","))?;
    }
    for link in links {
        let (id, m) = (link.id, link.estimate.measured());
        let points = args
            .predicted(&m)
            .map_err(|e| e.context(format!("link {id}: nothing can be predicted")))?;
        if args.csv {
            for line in csv(Some(id), &m, &points) {
                print(line)?;
            }
        } else if args.json {
            all.push(json!({
                "node": id.node_id, "port": id.known_port(), "queue": id.queue, "cut": link.cut, "curve": points,
            }));
        } else {
            print(format!("link {id}"))?;
            for note in link.limits.iter().chain(&link.cut) {
                print(format!("  note: {note}"))?;
            }
            print(text(&points, &m))?;
        }
    }
    if args.json {
        print_json(&json!({"links": all}))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_as_csv() {
        let m = Traffic::described(50e6, 0.06, 100.0, 1500.0);
        let points = curve(&m, 40).unwrap();
        assert_eq!(points.len(), 40);
        assert!(points.is_sorted_by(|a, b| a.buffer_bytes < b.buffer_bytes));
        assert!((points[39].buffer_bytes - 2.0 * 375_000.0).abs() < 1.0);
        for line in csv(None, &m, &points) {
            assert_eq!(line.split(',').count(), COLUMNS.len());
            assert!(line.split(',').skip(3).all(|c| c.parse::<f64>().is_ok()));
            let figures = |c: &str| c.bytes().filter(u8::is_ascii_digit).count();
            // Six, and the zeros around them.
            assert!(line.split(',').all(|c| figures(c) <= 10), "{line}");
        }
        assert!(curve(&Traffic::described(50e6, 0.06, 1.0, 0.0), 10).is_err());
    }

    #[derive(Debug, clap::Parser)]
    struct Wrap {
        #[command(flatten)]
        args: WhatIfArgs,
    }

    fn parsed(text: &str) -> Result<WhatIfArgs, clap::Error> {
        use clap::Parser as _;
        Wrap::try_parse_from(text.split(' ')).map(|w| w.args)
    }

    #[test]
    fn a_given_limit() {
        let m = Traffic::described(50e6, 0.06, 100.0, 1500.0);
        let args = parsed("whatif dir --limit 300kB,1MB").unwrap();
        let points = args.predicted(&m).unwrap();
        let limits: Vec<f64> = points.iter().map(|p| p.buffer_bytes).collect();
        assert_eq!(limits, [300e3, 1e6]);
        assert_eq!(
            points[0].predicted,
            tidemark_advice::predict(&m, 300e3).unwrap()
        );
        assert!(parsed("whatif dir --limit 300kB --points 5").is_err());
        // As the table has them: 48 ms and 200 packets of 1500 bytes are 300 kB.
        let args = parsed("whatif dir --limit 48ms --limit 200pkts").unwrap();
        for p in args.predicted(&m).unwrap() {
            assert!((p.buffer_bytes - 300e3).abs() < 1e-6, "{}", p.buffer_bytes);
        }
        let zero = parsed("whatif dir --limit 0ms").unwrap();
        assert!(zero.predicted(&m).is_err());
        let unknown = Traffic {
            queue_drain_bps: 0.0,
            ..m
        };
        let said = parsed("whatif dir --limit 48ms")
            .unwrap()
            .predicted(&unknown);
        let said = said.unwrap_err().to_string();
        assert!(said.contains("capacity is not known"), "{said}");
    }
}
