// SPDX-License-Identifier: Apache-2.0
//! Generates the map in `CONTRIBUTING.md` from the manifests.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::Generated;
use crate::architecture;
use crate::repository::packages;

const PAGE: &str = "CONTRIBUTING.md";
/// Folders and files without a manifest.
const FOLDERS: &[(&str, &str)] = &[
    (
        "contract/columns.toml",
        "stored columns; `cargo xtask codegen` writes all that follows from them",
    ),
    (
        "contract/report.toml",
        "fields of a report; `cargo xtask codegen` writes all that follows from them",
    ),
    (
        "contract/openapi",
        "the REST interface, generated from `tidemark-api`",
    ),
    ("controller/console", "the controller's web page"),
    (
        "deploy",
        "Debian packages, OCI image, ClickHouse schema and queries, Grafana, Prometheus",
    ),
    ("p4src", "the data plane and its compiled artifacts"),
    ("ptf-tests", "data-plane tests, the same for every switch"),
    ("testbed/clickhouse", "ClickHouse in one process"),
    (
        "testbed/experiments",
        "runs described in files: demo, sweeps, trials, the papers' runs",
    ),
    (
        "testbed/lab",
        "network namespaces, real TCP, experiments and the demo",
    ),
    ("testbed/mininet", "Tidemark in a Mininet topology"),
    (
        "testbed/ns3",
        "simulated bottleneck, started by the lab as a process; GPL-2.0-only, as it links ns-3: nothing links or includes it",
    ),
    ("testbed/reproduce", "the papers' data through our code"),
    ("tools", "the Wireshark dissector"),
];

pub(super) fn generate(root: &Path) -> Result<Vec<Generated>> {
    let packages = packages(root)?;
    let ours = |name: &&str| packages.iter().any(|p| p.name == **name);
    let mut rows = Vec::new();
    for p in &packages {
        let about = p.description.as_deref();
        let about = about.with_context(|| format!("{}: no description", p.folder))?;
        let mut needs: Vec<String> = p.needs().filter(ours).map(|n| format!("`{n}`")).collect();
        needs.sort();
        rows.push((
            p.folder.as_str(),
            format!("`{}`: {about}", p.name),
            needs.join(", "),
        ));
    }
    for (folder, about) in FOLDERS {
        ensure!(
            root.join(folder).exists(),
            "{folder} is gone: remove it from {}",
            file!()
        );
        rows.push((folder, (*about).to_owned(), String::new()));
    }
    rows.sort_by_key(|(folder, ..)| (architecture::floor(folder), *folder));
    let mut text = String::from("| folder | what | knows of ours |\n|---|---|---|\n");
    for (folder, about, needs) in rows {
        writeln!(text, "| `{folder}` | {about} | {needs} |")?;
    }
    Ok(vec![Generated::block(PAGE, "map", text)])
}
