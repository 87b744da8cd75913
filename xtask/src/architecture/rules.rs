// SPDX-License-Identifier: Apache-2.0
//! The rules of the checks, as data.

/// Rooms (top-level folders) by floor, from the bottom. A crate, including its tests, may use
/// crates of its own floor and of those below; of two rooms on one floor at most one may use the
/// other.
pub(super) const FLOORS: &[&[&str]] = &[
    &["contract", "common", "p4src", "ptf-tests"],
    &["collector"],
    &["controller", "switch"],
    &["testbed", "testing"],
    &["deploy", "tools", "xtask"],
];

/// Crates without I/O, which the floors do not enforce.
pub(super) const PURE: &[&str] = &[
    "int-report",
    "p4-ir",
    "p4-vm",
    "tidemark-advice",
    "tidemark-api",
    "tidemark-control",
    "tidemark-estimators",
    "tidemark-pipeline",
    "tidemark-rules",
    "traffic-manager",
];
/// Crates that do I/O, which the `PURE` crates must not depend on.
pub(super) const IO: &[&str] = &[
    "axum",
    "p4runtime-server",
    "tidemark-southbound",
    "tokio",
    "tonic",
];

/// Crate, modules with forbidden imports, the modules they must not import, and why.
pub(super) const MODULES: &[(&str, &str, &[&str], &str)] = &[
    (
        "tidemark-controller",
        "core",
        &["api"],
        "the core serves the API and does not know it",
    ),
    (
        "tidemark-southbound",
        "p4rt",
        &["bfrt"],
        "drivers stand apart",
    ),
    (
        "tidemark-southbound",
        "bfrt",
        &["p4rt"],
        "drivers stand apart",
    ),
    (
        "tidemark-southbound",
        "driver",
        &["bfrt", "p4rt"],
        "common code knows no driver",
    ),
];

/// Library files that read a clock nevertheless, and why.
pub(super) const CLOCKS: &[(&str, &str)] = &[
    (
        "collector/capture/src/writer/thread.rs",
        "waits for rows, cuts files by real time",
    ),
    (
        "collector/clickhouse/src/queue.rs",
        "inserters wait until a deadline",
    ),
    (
        "collector/clickhouse/src/sink.rs",
        "the end waits for threads until a deadline",
    ),
    (
        "collector/clickhouse/src/writer.rs",
        "waits for rows, closes batches by real time",
    ),
    (
        "common/daemon-kit/src/cli/progress.rs",
        "tells a person how long something still takes",
    ),
    (
        "common/daemon-kit/src/credentials/seats.rs",
        "tells which connection was silent for longest",
    ),
    (
        "testing/simulate/src/cli.rs",
        "tells seeds an hour; the simulation reads no clock",
    ),
    (
        "switch/p4runtime-server/src/forwarding.rs",
        "stamps and waits for digests",
    ),
];

/// Programs, which may read a clock.
pub(super) const PROGRAMS: &[&str] = &[
    "tidemark-collector",
    "tidemark-controller",
    "tidemark-switch",
    "tidemark-traffic",
    "xtask",
];
