// SPDX-License-Identifier: Apache-2.0
//! Which part may know which. `cargo xtask architecture` reads the `use` lines, the
//! paths in the code and the manifests of every crate of the workspace and fails on
//!
//! * a circle between the modules (files) of a crate,
//! * an arrow that the layers forbid ([`layers`]),
//! * a clock read below the daemons ([`layers::CLOCKS`]).
//!
//! Test code is left out: items and modules under `#[cfg(test)]`.

mod circles;
mod layers;
mod source;

use std::path::Path;

use anyhow::Result;

/// Prints every violation; whether there is none.
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
    let crates = source::workspace(root)?;
    let mut problems = circles::problems(&crates);
    problems.extend(layers::problems(&crates));
    Ok(problems)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_keeps_its_architecture() {
        let found = problems(&crate::root()).unwrap();
        assert!(found.is_empty(), "{}", found.join("\n"));
    }

    /// A crate with the given files, as the checks see it.
    fn crate_of(name: &str, dependencies: &str, files: &[(&str, &str)]) -> source::Crate {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("x/src")).unwrap();
        let manifest = |text: String| text;
        std::fs::write(
            dir.path().join("Cargo.toml"),
            "[workspace]\nmembers = [\"x\"]\n",
        )
        .unwrap();
        std::fs::write(
            dir.path().join("x/Cargo.toml"),
            manifest(format!(
                "[package]\nname = \"{name}\"\n[dependencies]\n{dependencies}"
            )),
        )
        .unwrap();
        for (path, text) in files {
            let path = dir.path().join("x/src").join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        source::workspace(dir.path()).unwrap().remove(0)
    }

    #[test]
    fn a_circle_is_found_also_through_a_reexport() {
        let c = crate_of(
            "x",
            "",
            &[
                ("lib.rs", "mod a; mod b; pub use a::A;"),
                ("a.rs", "use crate::b::B; pub struct A;"),
                ("b.rs", "use crate::A; pub struct B;"),
            ],
        );
        let found = circles::problems(&[c]);
        assert_eq!(found, ["x: circle between modules: a <-> b"]);
    }

    /// Paths where they are used: in a function, in a type, in a macro, through a name
    /// of a module, in a `use` line inside a function.
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
            let found = circles::problems(&[crate_of("x", "", &files)]);
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
            !circles::problems(&[crate_of("x", "", &files)]).is_empty()
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
        assert!(circles::problems(&[crate_of("x", "", &files)]).is_empty());
    }

    #[test]
    fn a_facade_and_tests_make_no_circle() {
        let c = crate_of(
            "x",
            "",
            &[
                ("lib.rs", "mod a; mod b; pub use a::A; pub struct Shared;"),
                ("a.rs", "use super::Shared; pub struct A;"),
                (
                    "b.rs",
                    "use crate::a::A; pub struct B; #[cfg(test)] mod tests { use crate::b::B; }",
                ),
            ],
        );
        assert!(circles::problems(&[c]).is_empty());
    }

    #[test]
    fn forbidden_arrows_and_clocks_are_found() {
        let c = crate_of(
            "tidemark-rules",
            "tidemark-controller = \"1\"\n",
            &[(
                "lib.rs",
                "fn f() { let _ = std::time::Instant::now(); }\n\
                 #[cfg(test)] mod tests { fn g() { let _ = std::time::Instant::now(); } }",
            )],
        );
        let found = layers::problems(&[c]);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("tidemark-controller"), "{found:?}");
        assert!(found[1].contains("Instant::now"), "{found:?}");
    }
}
