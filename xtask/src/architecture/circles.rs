// SPDX-License-Identifier: Apache-2.0
//! Circles between the modules of a crate.

use std::collections::{BTreeMap, BTreeSet};

use super::source::{Crate, ModulePath};

/// Circles that are known and shall go: crate, modules. A circle that has gone
/// must leave this list.
const KNOWN: &[(&str, &[&str])] = &[];

/// One line for each circle.
pub(super) fn problems(crates: &[Crate]) -> Vec<String> {
    let mut problems = Vec::new();
    let mut seen = BTreeSet::new();
    for c in crates {
        for circle in circles(c) {
            let names: Vec<String> = circle.iter().map(name).collect();
            let known = KNOWN.iter().position(|(of, modules)| {
                *of == c.name && names.iter().all(|n| modules.contains(&n.as_str()))
            });
            match known {
                Some(i) => {
                    seen.insert(i);
                }
                None => problems.push(format!(
                    "{}: circle between modules: {}",
                    c.name,
                    names.join(" <-> ")
                )),
            }
        }
    }
    for (i, (of, modules)) in KNOWN.iter().enumerate() {
        if !seen.contains(&i) && crates.iter().any(|c| c.name == *of) {
            problems.push(format!(
                "{of}: the circle {} is gone: remove it from KNOWN in {}",
                modules.join(", "),
                file!()
            ));
        }
    }
    problems
}

fn name(path: &ModulePath) -> String {
    if path.is_empty() {
        "(root)".to_owned()
    } else {
        path.join("::")
    }
}

/// Groups of modules of which each reaches each other, two or more.
fn circles(c: &Crate) -> Vec<Vec<ModulePath>> {
    let arrows: BTreeMap<&ModulePath, BTreeSet<&ModulePath>> = c
        .modules
        .iter()
        .map(|(from, m)| {
            let to = m.imports.iter().filter_map(|i| module_of(c, i));
            (from, to.filter(|to| *to != from).collect())
        })
        .collect();
    let reach: BTreeMap<&ModulePath, BTreeSet<&ModulePath>> = arrows
        .keys()
        .map(|from| (*from, reachable(&arrows, from)))
        .collect();
    let mut done = BTreeSet::new();
    let mut found = Vec::new();
    for (from, to) in &reach {
        if !to.contains(from) || done.contains(from) {
            continue;
        }
        let group: Vec<&ModulePath> = to
            .iter()
            .copied()
            .filter(|t| reach[t].contains(from))
            .collect();
        done.extend(group.iter().copied());
        found.push(group.into_iter().cloned().collect());
    }
    found
}

fn reachable<'a>(
    arrows: &BTreeMap<&'a ModulePath, BTreeSet<&'a ModulePath>>,
    from: &ModulePath,
) -> BTreeSet<&'a ModulePath> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&ModulePath> = vec![from];
    while let Some(at) = open.pop() {
        for to in &arrows[at] {
            if found.insert(*to) {
                open.push(*to);
            }
        }
    }
    found
}

/// The module that defines what `path` names, re-exports followed.
fn module_of<'a>(c: &'a Crate, path: &ModulePath) -> Option<&'a ModulePath> {
    let mut path = path.clone();
    // A chain of re-exports is short; the bound ends one that goes in circles.
    for _ in 0..16 {
        let length = (0..=path.len())
            .rev()
            .find(|&n| c.modules.contains_key(&path[..n]))?;
        let (module, _) = c.modules.get_key_value(&path[..length])?;
        let next = path
            .get(length)
            .and_then(|name| c.modules[module].aliases.get(name));
        match next {
            Some(target) => {
                let rest = path[length + 1..].to_vec();
                path = target.clone();
                path.extend(rest);
            }
            None => return Some(module),
        }
    }
    None
}
