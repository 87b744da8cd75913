// SPDX-License-Identifier: Apache-2.0
//! The workspace as the checks see it: crates, their dependencies, their modules
//! and what each module imports.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use syn::visit::Visit;
use syn::{Attribute, Item, UseTree, Visibility};

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
    /// Absolute paths of the imports that are no re-exports.
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
    let mut below = Vec::new();
    read_items(&tree.items, &path, &mut module, &mut below);
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

fn read_items(items: &[Item], here: &[String], module: &mut Module, below: &mut Vec<String>) {
    for item in items {
        if is_test(attributes(item)) {
            continue;
        }
        match item {
            Item::Mod(m) => match &m.content {
                None => below.push(m.ident.to_string()),
                Some((_, items)) => read_items(items, here, module, below),
            },
            Item::Use(u) if u.leading_colon.is_none() => {
                let exported = !matches!(u.vis, Visibility::Inherited);
                let mut found = Vec::new();
                flatten(&u.tree, Vec::new(), &mut found);
                for (written, name) in found {
                    let Some(target) = absolute(&written, here, below) else {
                        continue;
                    };
                    module.aliases.insert(name, target.clone());
                    // `pub use child::Name` only gives a name to what is below.
                    if !(exported && target.starts_with(here)) {
                        module.imports.push(target);
                    }
                }
            }
            other => Clocks(module).visit_item(other),
        }
    }
}

/// `use` trees as (path, name in scope).
fn flatten(tree: &UseTree, before: Vec<String>, found: &mut Vec<(Vec<String>, String)>) {
    let with = |name: String| {
        let mut path = before.clone();
        if name != "self" || path.is_empty() {
            path.push(name);
        }
        path
    };
    match tree {
        UseTree::Path(p) => flatten(&p.tree, with(p.ident.to_string()), found),
        UseTree::Name(n) => {
            let path = with(n.ident.to_string());
            let name = path.last().cloned().unwrap_or_default();
            found.push((path, name));
        }
        UseTree::Rename(r) => found.push((with(r.ident.to_string()), r.rename.to_string())),
        UseTree::Glob(_) => found.push((before, "*".to_owned())),
        UseTree::Group(g) => {
            for tree in &g.items {
                flatten(tree, before.clone(), found);
            }
        }
    }
}

/// From the crate's root; None for paths into other crates.
fn absolute(written: &[String], here: &[String], below: &[String]) -> Option<ModulePath> {
    let mut path = here.to_vec();
    let mut rest = written;
    match rest.first()?.as_str() {
        "crate" => {
            path.clear();
            rest = &rest[1..];
        }
        "self" => rest = &rest[1..],
        "super" => {
            while rest.first().is_some_and(|s| s == "super") {
                path.pop();
                rest = &rest[1..];
            }
        }
        first if below.iter().any(|b| b == first) => {}
        _ => return None,
    }
    path.extend(rest.iter().cloned());
    Some(path)
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Mod(i) => &i.attrs,
        Item::Use(i) => &i.attrs,
        Item::Fn(i) => &i.attrs,
        Item::Impl(i) => &i.attrs,
        Item::Struct(i) => &i.attrs,
        Item::Const(i) => &i.attrs,
        _ => &[],
    }
}

/// `#[cfg(test)]` and `#[cfg(all(test, …))]`.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|a| {
        let mut test = false;
        if a.path().is_ident("cfg") {
            // An unknown form inside is an error of parsing, and then no test.
            let _ = a.parse_nested_meta(|m| {
                if m.path.is_ident("test") {
                    test = true;
                } else if m.path.is_ident("all") {
                    m.parse_nested_meta(|m| {
                        test |= m.path.is_ident("test");
                        if m.input.peek(syn::Token![=]) {
                            m.value()?.parse::<syn::Lit>()?;
                        }
                        Ok(())
                    })?;
                } else if m.input.peek(syn::Token![=]) {
                    m.value()?.parse::<syn::Lit>()?;
                }
                Ok(())
            });
        }
        test
    })
}

struct Clocks<'a>(&'a mut Module);

impl<'ast> Visit<'ast> for Clocks<'_> {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|s| s.ident.to_string()).collect();
        if let [.., kind, now] = names.as_slice()
            && now == "now"
            && (kind == "Instant" || kind == "SystemTime")
        {
            self.0.clocks.push(format!("{kind}::now"));
        }
        syn::visit::visit_path(self, path);
    }
}
