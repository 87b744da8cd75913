// SPDX-License-Identifier: Apache-2.0
//! Asks a controller for everything that `doctor` judges.

use crate::cli::http::{self, At};
use daemon_kit::doctor::Finding;
use std::time::Duration;
use tidemark_api::operations::{GetFindings, GetInspection, GetSeries, GetStatus};
use tidemark_api::{Inspection, LinkPath, NodePath, Nothing, SeriesQuery, Status};

/// Minimum share of the hardware's drops that must be reported: the deflection queue loses some of
/// a burst, and the two counters are read at different moments.
const MOST_DROPS: f64 = 0.9;

/// Returns the status, and the controller's own findings.
pub(super) fn ask(at: &At<'_>) -> anyhow::Result<(Status, Vec<Finding>)> {
    let status = http::call::<GetStatus>(at, &Nothing {}, None, &Nothing {})?;
    let found = http::call::<GetFindings>(at, &Nothing {}, None, &Nothing {})?;
    Ok((status, found.findings))
}

/// Returns the drivers' findings about their switches. If the hardware counts drops, those within
/// `length` are compared with those reported meanwhile.
pub(super) fn switches(at: &At<'_>, status: &Status, length: Duration) -> Vec<Finding> {
    let mut found = Vec::new();
    let connected = status.switches.iter().filter(|s| s.health.connected);
    let mut counted = Vec::new();
    for s in connected {
        match inspect(at, s.node) {
            Ok(i) => {
                let check = |f: &Finding| format!("switch {}: {}", s.node, f.check);
                let named = i.findings.iter().map(|f| Finding {
                    check: check(f),
                    ..f.clone()
                });
                found.extend(named);
                if !i.hardware_drops.is_empty() {
                    counted.push(i);
                }
            }
            Err(e) => found.push(unanswered(s.node, &e)),
        }
    }
    if counted.is_empty() {
        return found;
    }
    std::thread::sleep(length);
    for before in counted {
        match inspect(at, before.node) {
            Ok(after) => found.extend(drops(at, &before, &after, length)),
            Err(e) => found.push(unanswered(before.node, &e)),
        }
    }
    found
}

fn inspect(at: &At<'_>, node: u32) -> anyhow::Result<Inspection> {
    http::call::<GetInspection>(at, &NodePath { node }, None, &Nothing {})
}

fn unanswered(node: u32, e: &anyhow::Error) -> Finding {
    Finding::problem(
        format!("switch {node}"),
        format!("{e:#}"),
        "does the switch daemon answer? See its log",
    )
}

fn drops(at: &At<'_>, before: &Inspection, after: &Inspection, length: Duration) -> Vec<Finding> {
    let ports = after.hardware_drops.iter().filter_map(|now| {
        let then = before.hardware_drops.iter().find(|d| d.port == now.port)?;
        // No result if the counter was cleared meanwhile.
        let hardware = now.drops.checked_sub(then.drops)?;
        let path = LinkPath {
            node: after.node,
            port: now.port,
            queue: 0,
        };
        let span = SeriesQuery {
            // Reports take a moment to arrive.
            last_s: Some(length.as_secs_f64() + 1.0),
            ..SeriesQuery::default()
        };
        let check = format!("switch {}: drops at port {}", path.node, path.port);
        Some(
            match http::ask::<GetSeries>(at, &path, &span, None, &Nothing {}) {
                Ok(series) => compared(check, hardware, series.drops.iter().flatten().sum()),
                Err(e) => Finding::warning(
                    check,
                    format!("the reported drops cannot be read: {e:#}"),
                    "does the port report?",
                ),
            },
        )
    });
    ports.collect()
}

/// Compares the drops of the traffic manager with those reported meanwhile, in packets.
fn compared(check: String, hardware: u64, reported: u64) -> Finding {
    if hardware == 0 {
        let found = format!("the hardware dropped none, {reported} were reported by the program");
        return Finding::ok(check, found);
    }
    let found = format!("the hardware dropped {hardware}, {reported} were reported");
    if (reported as f64) < MOST_DROPS * hardware as f64 {
        return Finding::problem(
            check,
            found,
            "set hardware_drop to deflect with its queue (docs/how-to/tofino.md, \"Deflect on drop\"), or keep the traffic manager's limit above that of queue_limit",
        );
    }
    Finding::ok(check, found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use daemon_kit::doctor::Verdict;
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    /// Starts a controller whose switch drops 100 packets between two inspections, `reported` of
    /// which are in its series. It answers three requests.
    fn controller(reported: u64) -> (String, std::thread::JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let answers = std::thread::spawn(move || {
            let mut asked = Vec::new();
            for n in 0..3u64 {
                let (mut stream, _) = listener.accept().unwrap();
                let mut buffer = [0; 4096];
                let read = stream.read(&mut buffer).unwrap();
                let head = String::from_utf8_lossy(&buffer[..read]).into_owned();
                let path = head.split(' ').nth(1).unwrap().to_owned();
                let body = if path.contains("/series") {
                    series(reported)
                } else {
                    serde_json::json!({
                        "node": 10,
                        "findings": [{"check": "program", "verdict": "ok", "found": "there"}],
                        "hardware_drops": [{"port": 5, "drops": 7 + 100 * n}],
                    })
                    .to_string()
                };
                let length = body.len();
                write!(
                    stream,
                    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
                )
                .unwrap();
                asked.push(path);
            }
            asked
        });
        (base, answers)
    }

    fn series(reported: u64) -> String {
        let mut series = serde_json::to_value(tidemark_api::Series::default()).unwrap();
        series["drops"] = serde_json::json!([reported, 0]);
        series.to_string()
    }

    fn found(reported: u64) -> Vec<Finding> {
        let status = include_str!("../../../../console/dev/fixtures/status.json");
        let mut status: Status = serde_json::from_str(status).unwrap();
        status.switches.truncate(1);
        status.switches[0].node = 10;
        status.switches[0].health.connected = true;
        let (base, answers) = controller(reported);
        let at = At {
            base: &base,
            ca: None,
        };
        let found = switches(&at, &status, Duration::from_millis(10));
        let asked = answers.join().unwrap();
        assert!(asked[0].ends_with("/switches/10/inspection"), "{asked:?}");
        assert!(asked[2].contains("/links/10/5/series?"), "{asked:?}");
        found
    }

    #[test]
    fn what_the_hardware_dropped_is_held_against_the_reports() {
        let well = found(100);
        assert_eq!(well[0].check, "switch 10: program");
        assert_eq!(well[1].check, "switch 10: drops at port 5");
        assert_eq!(well[1].verdict, Verdict::Ok, "{well:?}");
        let silent = found(0);
        assert_eq!(silent[1].verdict, Verdict::Problem);
        assert!(silent[1].found.contains("dropped 100, 0 were reported"));
    }

    #[test]
    fn drops_of_the_hardware_are_to_be_reported() {
        let verdict = |hardware, reported| compared("drops".into(), hardware, reported).verdict;
        assert_eq!(verdict(0, 12), Verdict::Ok);
        assert_eq!(verdict(100, 90), Verdict::Ok);
        assert_eq!(verdict(100, 89), Verdict::Problem);
        assert_eq!(verdict(1, 0), Verdict::Problem);
    }
}
