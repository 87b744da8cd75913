// SPDX-License-Identifier: Apache-2.0
//! Circular imports between the modules of a crate.

use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;

use super::modules::{ModulePath, Modules};

/// Returns one line for each group of modules that all reach each other.
pub(super) fn problems(name: &str, modules: &Modules) -> Vec<String> {
    let mut arrows: DiGraphMap<&ModulePath, ()> = DiGraphMap::new();
    for (from, m) in modules {
        let to = m.imports.iter().filter_map(|i| module_of(modules, i));
        for to in to.filter(|to| *to != from) {
            arrows.add_edge(from, to, ());
        }
    }
    let mut groups = tarjan_scc(&arrows);
    groups.retain(|group| group.len() > 1);
    groups.iter_mut().for_each(|group| group.sort());
    groups.sort();
    let circle = |group: &Vec<&ModulePath>| {
        let names: Vec<String> = group.iter().map(|path| title(path)).collect();
        format!("{name}: circle between modules: {}", names.join(" <-> "))
    };
    groups.iter().map(circle).collect()
}

fn title(path: &ModulePath) -> String {
    match path.is_empty() {
        true => "(root)".to_owned(),
        false => path.join("::"),
    }
}

/// Returns the module that defines `path`, following re-exports.
fn module_of<'a>(modules: &'a Modules, path: &ModulePath) -> Option<&'a ModulePath> {
    let mut path = path.clone();
    // Chains of re-exports are short; the bound ends a circular one.
    for _ in 0..16 {
        let length = (0..=path.len())
            .rev()
            .find(|&n| modules.contains_key(&path[..n]))?;
        let (at, module) = modules.get_key_value(&path[..length])?;
        let Some(target) = path.get(length).and_then(|name| module.aliases.get(name)) else {
            return Some(at);
        };
        path = [&target[..], &path[length + 1..]].concat();
    }
    None
}
