// SPDX-License-Identifier: Apache-2.0
//! Which part may know which. `cargo xtask architecture` reads the `use` lines
//! and manifests of every crate of the workspace and fails on
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
