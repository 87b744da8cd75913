// SPDX-License-Identifier: Apache-2.0
//! The workspace as the checks see it: crates, their dependencies, their modules
//! and what each module imports.

mod imports;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Path of a module from the crate's root; empty for the root itself.
pub(super) type ModulePath = Vec<String>;

pub(super) struct Crate {
    pub name: String,
    /// Names of the packages under `[dependencies]`.
    pub dependencies: BTreeSet<String>,
    pub modules: BTreeMap<ModulePath, Module>,
}

pub(super) struct Module {
    /// From the top of the repository.
    pub file: PathBuf,
    /// Names that this module brings into scope, and what they stand for.
    pub aliases: BTreeMap<String, ModulePath>,
    /// Absolute paths of what is imported, without re-exports, and of what is named by
    /// its path where it is used.
    pub imports: Vec<ModulePath>,
    /// `Instant::now` and the like that are called.
    pub clocks: Vec<String>,
}

/// Every member of the workspace at `root`.
pub(super) fn workspace(root: &Path) -> Result<Vec<Crate>> {
    let manifest = read_manifest(&root.join("Cargo.toml"))?;
    let members = manifest["workspace"]["members"]
        .as_array()
        .context("Cargo.toml: no workspace.members")?;
    members
        .iter()
        .filter_map(toml::Value::as_str)
        .map(|m| read_crate(root, &root.join(m)))
        .collect()
}

fn read_manifest(path: &Path) -> Result<toml::Value> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    toml::from_str(&text).with_context(|| path.display().to_string())
}

fn read_crate(root: &Path, dir: &Path) -> Result<Crate> {
    let manifest = read_manifest(&dir.join("Cargo.toml"))?;
    let name = manifest["package"]["name"]
        .as_str()
        .with_context(|| format!("{}: no package.name", dir.display()))?;
    let dependencies = manifest
        .get("dependencies")
        .and_then(toml::Value::as_table)
        .map(|t| t.keys().cloned().collect())
        .unwrap_or_default();
    let mut modules = BTreeMap::new();
    let src = dir.join("src");
    for start in ["lib.rs", "main.rs"] {
        if src.join(start).is_file() {
            read_module(root, &src.join(start), &src, Vec::new(), &mut modules)?;
        }
    }
    Ok(Crate {
        name: name.to_owned(),
        dependencies,
        modules,
    })
}

/// Reads a file and those of its modules. `children` is where these lie.
fn read_module(
    root: &Path,
    file: &Path,
    children: &Path,
    path: ModulePath,
    modules: &mut BTreeMap<ModulePath, Module>,
) -> Result<()> {
    let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let tree = syn::parse_file(&text).with_context(|| file.display().to_string())?;
    // A crate with a library and a program has two roots: they are one here.
    let mut module = modules.remove(&path).unwrap_or_else(|| Module {
        file: file.strip_prefix(root).unwrap_or(file).to_owned(),
        aliases: BTreeMap::new(),
        imports: Vec::new(),
        clocks: Vec::new(),
    });
    let below = imports::read(&tree.items, &path, &mut module);
    modules.insert(path.clone(), module);
    for name in below {
        let flat = children.join(format!("{name}.rs"));
        let nested = children.join(&name).join("mod.rs");
        let file = if flat.is_file() { flat } else { nested };
        // Generated modules that a build script writes have no file here.
        if file.is_file() {
            let mut path = path.clone();
            path.push(name.clone());
            read_module(root, &file, &children.join(&name), path, modules)?;
        }
    }
    Ok(())
}
