// SPDX-License-Identifier: Apache-2.0
//! Arrows that must not be, and clocks.

use super::source::Crate;

/// Crate, crates that it must not depend on, why.
const CRATES: &[(&str, &[&str], &str)] = &[
    ("tidemark-estimators", DAEMONS_AND_IO, "estimators are pure"),
    ("tidemark-rules", DAEMONS_AND_IO, "rules are pure"),
    ("tidemark-control", DAEMONS_AND_IO, "control is pure"),
    (
        "tidemark-api",
        SERVERS_AND_DRIVERS,
        "the REST interface is types",
    ),
    ("tidemark-pipeline", DAEMONS_AND_IO, "the pipeline is pure"),
    ("int-report", DAEMONS_AND_IO, "the codec stands alone"),
    ("p4-ir", SERVERS, "the engine knows no server"),
    ("p4-vm", SERVERS, "the engine knows no server"),
    ("traffic-manager", SERVERS, "the engine knows no server"),
];

const DAEMONS_AND_IO: &[&str] = &[
    "tidemark-controller",
    "tidemark-collector",
    "tidemark-southbound",
    "tidemark-api",
    "tokio",
    "tonic",
    "axum",
];

const SERVERS_AND_DRIVERS: &[&str] = &[
    "tidemark-controller",
    "tidemark-southbound",
    "tokio",
    "tonic",
    "axum",
];

const SERVERS: &[&str] = &["p4runtime-server", "tidemark-switch", "tokio", "tonic"];

/// Crate, modules that must not import, the modules they must not import, why.
const MODULES: &[(&str, &str, &str, &str)] = &[
    (
        "tidemark-controller",
        "core",
        "api",
        "the core serves the API and does not know it",
    ),
    ("tidemark-southbound", "p4rt", "bfrt", "drivers stand apart"),
    ("tidemark-southbound", "bfrt", "p4rt", "drivers stand apart"),
    (
        "tidemark-southbound",
        "driver",
        "p4rt",
        "common code knows no driver",
    ),
    (
        "tidemark-southbound",
        "driver",
        "bfrt",
        "common code knows no driver",
    ),
];

/// Programs, and what may read a clock for them.
const PROGRAMS: &[&str] = &[
    "tidemark-collector",
    "tidemark-controller",
    "tidemark-switch",
    "tidemark-traffic",
    "xtask",
];

/// Files of library crates that read a clock all the same, and why.
pub(super) const CLOCKS: &[(&str, &str)] = &[
    (
        "collector/capture/src/writer/thread.rs",
        "the thread waits for rows and cuts files by real time",
    ),
    (
        "collector/clickhouse/src/queue.rs",
        "inserters wait on a condition until a deadline",
    ),
    (
        "collector/clickhouse/src/sink.rs",
        "the end waits for threads until a deadline",
    ),
    (
        "collector/clickhouse/src/writer.rs",
        "the thread waits for rows and closes batches by real time",
    ),
    (
        "common/daemon-kit/src/cli/progress.rs",
        "a line for a person at a terminal says how long something takes still",
    ),
    (
        "testing/simulate/src/cli.rs",
        "the program says how many seeds an hour it runs; the simulation reads none",
    ),
    (
        "switch/p4runtime-server/src/forwarding.rs",
        "the task waits for digests until a deadline and stamps their lists",
    ),
];

/// One line for each violation.
pub(super) fn problems(crates: &[Crate]) -> Vec<String> {
    let mut problems = Vec::new();
    for c in crates {
        for (name, forbidden, why) in CRATES.iter().filter(|(name, ..)| *name == c.name) {
            for d in forbidden.iter().filter(|d| c.dependencies.contains(**d)) {
                problems.push(format!("{name} depends on {d}: {why}"));
            }
        }
        for (name, from, to, why) in MODULES.iter().filter(|(name, ..)| *name == c.name) {
            for (path, m) in &c.modules {
                if path.first().is_some_and(|p| p == from)
                    && m.imports.iter().any(|i| i.first().is_some_and(|i| i == to))
                {
                    let file = m.file.display();
                    problems.push(format!("{name}: {file} imports {to}: {why}"));
                }
            }
        }
        if PROGRAMS.contains(&c.name.as_str()) {
            continue;
        }
        for m in c.modules.values().filter(|m| !m.clocks.is_empty()) {
            let file = m.file.to_string_lossy();
            if !CLOCKS.iter().any(|(allowed, _)| *allowed == file) {
                problems.push(format!(
                    "{file} calls {}: below the daemons time is an argument",
                    m.clocks[0]
                ));
            }
        }
    }
    problems
}
