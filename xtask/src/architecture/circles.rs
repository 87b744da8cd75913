// SPDX-License-Identifier: Apache-2.0
//! Circles between the modules of a crate.

use std::collections::{BTreeMap, BTreeSet};

use super::modules::{ModulePath, Modules};

type Arrows<'a> = BTreeMap<&'a ModulePath, BTreeSet<&'a ModulePath>>;

/// One line for each group of modules of which each reaches each other.
pub(super) fn problems(name: &str, modules: &Modules) -> Vec<String> {
    let arrows: Arrows<'_> = modules
        .iter()
        .map(|(from, m)| {
            let to = m.imports.iter().filter_map(|i| module_of(modules, i));
            (from, to.filter(|to| *to != from).collect())
        })
        .collect();
    let reach: Arrows<'_> = arrows
        .keys()
        .map(|from| (*from, reachable(&arrows, from)))
        .collect();
    let mut done: BTreeSet<&ModulePath> = BTreeSet::new();
    let mut found = Vec::new();
    for (from, to) in &reach {
        if !to.contains(from) || done.contains(from) {
            continue;
        }
        let group: Vec<_> = to.iter().filter(|t| reach[*t].contains(from)).collect();
        done.extend(group.iter().copied());
        let names: Vec<String> = group.into_iter().map(|path| title(path)).collect();
        found.push(format!(
            "{name}: circle between modules: {}",
            names.join(" <-> ")
        ));
    }
    found
}

fn title(path: &ModulePath) -> String {
    match path.is_empty() {
        true => "(root)".to_owned(),
        false => path.join("::"),
    }
}

fn reachable<'a>(arrows: &Arrows<'a>, from: &'a ModulePath) -> BTreeSet<&'a ModulePath> {
    let mut found = BTreeSet::new();
    let mut open = vec![from];
    while let Some(at) = open.pop() {
        open.extend(arrows[at].iter().filter(|to| found.insert(**to)));
    }
    found
}

/// The module that defines what `path` names, re-exports followed.
fn module_of<'a>(modules: &'a Modules, path: &ModulePath) -> Option<&'a ModulePath> {
    let mut path = path.clone();
    // A chain of re-exports is short; the bound ends one that goes in circles.
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
