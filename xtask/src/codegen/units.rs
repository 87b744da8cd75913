// SPDX-License-Identifier: Apache-2.0
//! Generates units of quantities from `contract/units.toml`: tables in Rust and in Python.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::{Generated, head, read};

const SOURCE: &str = "contract/units.toml";
const RUST: &str = "common/daemon-kit/src/cli/generated/units.rs";
const PYTHON: &str = "testbed/lab/tidemark_lab/experiment/units.py";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Quantity {
    example: String,
    units: Vec<Unit>,
    #[serde(rename = "cases")]
    _cases: toml::Table,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Unit {
    size: f64,
    names: Vec<String>,
}

pub(super) fn generate(root: &Path) -> Result<Vec<Generated>> {
    let text = read(&root.join(SOURCE))?;
    let quantities: toml::Table = toml::from_str(&text).context(SOURCE)?;
    let mut rust = head(SOURCE);
    let mut python = head(SOURCE).replace("//", "#");
    python += "\"\"\"Units of quantities: size in the base unit, names.\"\"\"\n";
    for (name, quantity) in quantities {
        let q: Quantity = quantity
            .try_into()
            .with_context(|| format!("{SOURCE}: {name}"))?;
        let (upper, example) = (name.to_uppercase(), &q.example);
        write!(
            rust,
            "\nconst {upper}: Quantity = Quantity {{\n    name: {name:?},\n"
        )?;
        write!(rust, "    example: {example:?},\n    units: &[\n")?;
        writeln!(python, "\n{upper}: list[tuple[float, list[str]]] = [")?;
        for u in &q.units {
            writeln!(rust, "        ({:?}, &{:?}),", u.size, u.names)?;
            writeln!(python, "    ({:?}, {:?}),", u.size, u.names)?;
        }
        rust += "    ],\n};\n";
        python += "]\n";
    }
    Ok(vec![
        Generated::file(RUST, rust),
        Generated::file(PYTHON, python),
    ])
}
