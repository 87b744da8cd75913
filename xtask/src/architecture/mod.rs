// SPDX-License-Identifier: Apache-2.0
//! Rules of dependencies. `cargo xtask architecture` reads the manifests and the modules of every
//! crate and fails on
//!
//! * an arrow from a room up to a higher floor ([`rules::FLOORS`]), from tests too, or one
//!   from code without I/O to code with it ([`rules::PURE`]), or one that the modules of a
//!   crate must not have ([`rules::MODULES`]),
//! * a circle between rooms of a floor, or between the modules (files) of a crate,
//! * a clock read below the daemons ([`rules::CLOCKS`]).
//!
//! Code under `#[cfg(test)]` makes neither circles nor reads clocks.

mod circles;
mod modules;
mod rules;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Result;

use crate::repository::{Package, files, packages};
use modules::Modules;
use rules::{CLOCKS, FLOORS, IO, MODULES, PROGRAMS, PURE};

/// Prints every violation; returns whether there is none.
pub(crate) fn check(root: &Path) -> Result<bool> {
    let problems = problems(root)?;
    for p in &problems {
        eprintln!("architecture: {p}");
    }
    if problems.is_empty() {
        println!("architecture: no circle, no forbidden arrow, no clock below the daemons");
    }
    Ok(problems.is_empty())
}

fn problems(root: &Path) -> Result<Vec<String>> {
    let packages = packages(root)?;
    let mut problems = arrows(&packages);
    for p in &packages {
        let modules = modules::of_crate(root, &format!("{}/src", p.folder))?;
        problems.extend(circles::problems(&p.name, &modules));
        problems.extend(layers(p, &modules));
    }
    // A benchmark with several files is its own crate.
    for file in files(root)?.iter().filter(|f| f.contains("/benches/")) {
        let Some(folder) = file.strip_suffix("/main.rs") else {
            continue;
        };
        problems.extend(circles::problems(folder, &modules::of_crate(root, folder)?));
    }
    Ok(problems)
}

fn room(folder: &str) -> &str {
    folder.split('/').next().unwrap_or(folder)
}

/// Returns the floor of a folder; `None` if its room has none.
pub(crate) fn floor(folder: &str) -> Option<usize> {
    FLOORS
        .iter()
        .position(|rooms| rooms.contains(&room(folder)))
}

/// Returns upward arrows between rooms, and circles between rooms of a floor.
fn arrows(packages: &[Package]) -> Vec<String> {
    let folders: BTreeMap<&str, &str> = packages.iter().map(|p| (&*p.name, &*p.folder)).collect();
    let mut problems = BTreeSet::new();
    let mut sideways = BTreeSet::new();
    for p in packages {
        let from = &*p.folder;
        let Some(at) = floor(from) else {
            let place = format!("{from}: the room {} has no floor: give it one", room(from));
            problems.insert(place + " in xtask/src/architecture/rules.rs");
            continue;
        };
        for to in p.dependencies.iter().filter_map(|d| folders.get(&*d.name)) {
            if floor(to) == Some(at) && room(to) != room(from) {
                sideways.insert((room(from), room(to)));
            }
            if floor(to).is_some_and(|to| to > at) {
                problems.insert(format!(
                    "{from} depends on {to}, which is on a higher floor: move what both need down"
                ));
            }
        }
    }
    for (a, b) in sideways
        .iter()
        .filter(|(a, b)| a < b && sideways.contains(&(b, a)))
    {
        problems.insert(format!("{a} and {b} are on one floor and know each other"));
    }
    problems.into_iter().collect()
}

/// Returns a crate's forbidden dependencies, forbidden imports, and clock reads.
fn layers(p: &Package, modules: &Modules) -> Vec<String> {
    let mut problems = Vec::new();
    if PURE.contains(&p.name.as_str()) {
        for d in p.needs().filter(|d| IO.contains(d)) {
            problems.push(format!("{} depends on {d} and shall do no I/O", p.name));
        }
    }
    for (name, from, to, why) in MODULES.iter().filter(|(name, ..)| *name == p.name) {
        for (_, m) in modules
            .iter()
            .filter(|(path, _)| path.first().is_some_and(|p| p == from))
        {
            let names = m.imports.iter().filter_map(|i| i.first());
            for import in names.filter(|i| to.contains(&i.as_str())) {
                problems.push(format!("{name}: {} imports {import}: {why}", m.file));
            }
        }
    }
    let program = PROGRAMS.contains(&p.name.as_str());
    for m in modules
        .values()
        .filter(|m| !program && !m.clocks.is_empty())
    {
        if !CLOCKS.iter().any(|(allowed, _)| *allowed == m.file) {
            let clock = &m.clocks[0];
            problems.push(format!(
                "{} calls {clock}: below the daemons time is an argument",
                m.file
            ));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::Dependency;

    /// Returns the modules of a crate with the given files, as used by the checks.
    fn modules_of(files: &[(&str, &str)]) -> Modules {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join("x/src").join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        modules::of_crate(dir.path(), "x/src").unwrap()
    }

    fn circles(files: &[(&str, &str)]) -> Vec<String> {
        circles::problems("x", &modules_of(files))
    }

    fn package(folder: &str, needs: &[&str], tests: &[&str]) -> Package {
        let all = needs.iter().map(|n| (n, None));
        let all = all.chain(tests.iter().map(|n| (n, Some("dev".to_owned()))));
        Package {
            name: folder.rsplit('/').next().unwrap().to_owned(),
            description: None,
            manifest_path: "".into(),
            dependencies: all
                .map(|(name, kind)| Dependency {
                    name: (*name).to_owned(),
                    kind,
                })
                .collect(),
            folder: folder.to_owned(),
        }
    }

    #[test]
    fn the_tree_keeps_its_architecture() {
        assert_eq!(problems(&crate::root()).unwrap(), [""; 0]);
    }

    #[test]
    fn an_arrow_never_runs_upward() {
        let tree = [
            package("contract/proto", &[], &[]),
            package("common/kit", &["proto"], &[]),
            package("collector/pipeline", &["proto"], &["kit"]),
            package("controller/rules", &["pipeline"], &[]),
        ];
        assert_eq!(arrows(&tree), [""; 0]);
        let up = [
            package("contract/rows", &["pipeline"], &[]),
            package("collector/pipeline", &[], &["rules"]),
            package("controller/rules", &[], &[]),
        ];
        let found = arrows(&up);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("collector/pipeline depends on controller/rules"));
        assert!(found[1].starts_with("contract/rows depends on collector/pipeline"));
    }

    #[test]
    fn rooms_of_one_floor_make_no_circle_and_every_room_has_a_floor() {
        let tree = [
            package("contract/proto", &["kit"], &[]),
            package("common/kit", &[], &["proto"]),
            package("attic/thing", &[], &[]),
        ];
        let found = arrows(&tree);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("attic has no floor"), "{found:?}");
        assert!(found[1].contains("common and contract"), "{found:?}");
    }

    #[test]
    fn a_circle_is_found_also_through_a_reexport() {
        let found = circles(&[
            ("lib.rs", "mod a; mod b; pub use a::A;"),
            ("a.rs", "use crate::b::B; pub struct A;"),
            ("b.rs", "use crate::A; pub struct B;"),
        ]);
        assert_eq!(found, ["x: circle between modules: a <-> b"]);
    }

    /// Paths without a `use` line: in a function, a type, a macro, through a module's name, or in a
    /// `use` line inside a function.
    #[test]
    fn a_circle_is_found_also_without_use_lines() {
        for b in [
            "pub fn f() { crate::a::f() }",
            "pub struct B(super::a::A);",
            "pub fn f() { println!(\"{}\", 1 + crate::a::f()); }",
            "use crate::a; pub fn f() { a::f() }",
            "pub fn f() { use super::a::f; f() }",
            "mod inner { pub fn f() { super::super::a::f() } }",
        ] {
            let files = [
                ("lib.rs", "mod b; mod a;"),
                ("a.rs", "pub struct A(crate::b::B); pub fn f() {}"),
                ("b.rs", b),
            ];
            let found = circles(&files);
            assert_eq!(found, ["x: circle between modules: a <-> b"], "{b}");
        }
    }

    #[test]
    fn a_parent_that_hands_work_to_its_child_makes_no_circle() {
        let circle = |parent: &str| {
            let files = [
                ("lib.rs", "mod a;"),
                ("a/mod.rs", parent),
                ("a/below.rs", "pub fn f() { super::g() }"),
            ];
            !circles(&files).is_empty()
        };
        assert!(!circle("mod below; fn f() { below::f() } fn g() {}"));
        assert!(circle("mod below; use below::f; fn g() { f() }"));
        assert!(circle("mod below; fn g() { crate::a::below::f() }"));
    }

    #[test]
    fn what_is_visible_and_what_tests_call_makes_no_circle() {
        let b = "pub(in crate::a) struct B; impl B { #[cfg(test)] fn f() { crate::a::f() } }";
        let files = [
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "use crate::b::B; pub fn f() {}"),
            ("b.rs", b),
        ];
        assert!(circles(&files).is_empty());
    }

    #[test]
    fn a_facade_and_tests_make_no_circle() {
        let found = circles(&[
            ("lib.rs", "mod a; mod b; pub use a::A; pub struct Shared;"),
            ("a.rs", "use super::Shared; pub struct A;"),
            (
                "b.rs",
                "use crate::a::A; pub struct B; #[cfg(test)] mod tests { use crate::b::B; }",
            ),
        ]);
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn forbidden_arrows_and_clocks_are_found() {
        let code = "fn f() { let _ = std::time::Instant::now(); }";
        let tests = format!("#[cfg(test)] mod tests {{ {code} }}");
        let rules = package("controller/tidemark-rules", &["tokio"], &["tonic"]);
        let found = layers(
            &rules,
            &modules_of(&[("lib.rs", &format!("{code} {tests}"))]),
        );
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("depends on tokio"), "{found:?}");
        assert!(found[1].contains("Instant::now"), "{found:?}");
        assert!(
            layers(
                &package("x/x", &[], &[]),
                &modules_of(&[("lib.rs", &tests)])
            )
            .is_empty()
        );
    }
}
