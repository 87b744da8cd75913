// SPDX-License-Identifier: Apache-2.0
//! Generators of all committed generated files.
//!
//! A new generator is one file here and one line in [`GENERATORS`]: a function from the top of the
//! repository to the files it makes. Those of the features `proto` and `programs` take minutes to
//! compile: only `make codegen` and `make lint` enable them.

mod cluster;
mod columns;
mod map;
#[cfg(feature = "programs")]
mod programs;
#[cfg(feature = "proto")]
mod proto;
mod report;
mod units;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

/// A function that makes files from the contract. Reads below `root`, writes nothing.
type Generator = fn(root: &Path) -> Result<Vec<Generated>>;

const GENERATORS: &[(&str, Generator)] = &[
    ("columns", columns::generate),
    ("map", map::generate),
    ("report", report::generate),
    ("units", units::generate),
    #[cfg(feature = "programs")]
    ("metrics", programs::metrics::generate),
    #[cfg(feature = "programs")]
    ("openapi", programs::openapi::generate),
    #[cfg(feature = "programs")]
    ("rules", programs::rules::generate),
    #[cfg(feature = "proto")]
    ("protobuf", proto::generate),
];

/// A generated file, or a generated block of a handwritten file.
pub(crate) struct Generated {
    /// Relative to the top of the repository.
    path: PathBuf,
    content: Content,
}

enum Content {
    /// A whole file.
    File(Vec<u8>),
    /// The part between the markers with this name.
    Block { name: String, text: String },
}

impl Generated {
    /// Makes a whole file.
    pub(crate) fn file(path: impl Into<PathBuf>, content: impl Into<Vec<u8>>) -> Self {
        Self {
            path: path.into(),
            content: Content::File(content.into()),
        }
    }

    /// Makes the lines between `<begin generated: NAME>` and `<end generated: NAME>` in a
    /// handwritten file. The markers are in comments of the file's language.
    pub(crate) fn block(path: impl Into<PathBuf>, name: &str, text: String) -> Self {
        Self {
            path: path.into(),
            content: Content::Block {
                name: name.to_owned(),
                text,
            },
        }
    }
}

/// Writes every generated file that is stale.
pub(crate) fn write(root: &Path) -> Result<bool> {
    for (path, content, stale) in outputs(root)? {
        if stale {
            let to = root.join(&path);
            if let Some(folder) = to.parent() {
                std::fs::create_dir_all(folder)
                    .with_context(|| format!("cannot create {}", folder.display()))?;
            }
            std::fs::write(&to, content)
                .with_context(|| format!("cannot write {}", to.display()))?;
            println!("wrote {}", path.display());
        }
    }
    Ok(true)
}

/// Prints every generated file that is stale; returns false if there is one.
pub(crate) fn check(root: &Path) -> Result<bool> {
    let mut fresh = true;
    for (path, _, stale) in outputs(root)? {
        if stale {
            eprintln!("stale: {}", path.display());
            fresh = false;
        }
    }
    if !fresh {
        eprintln!("run `cargo xtask codegen` and commit the result");
    }
    Ok(fresh)
}

/// For every generated file, returns its path, full content and whether the file is stale.
fn outputs(root: &Path) -> Result<Vec<(PathBuf, Vec<u8>, bool)>> {
    let mut files: Vec<(PathBuf, Vec<u8>)> = Vec::new();
    for (name, generator) in GENERATORS {
        for g in generator(root).with_context(|| format!("generator {name}"))? {
            let earlier = files.iter().position(|(path, _)| *path == g.path);
            match (g.content, earlier) {
                (Content::File(text), None) => files.push((g.path, text)),
                (Content::File(_), Some(_)) => {
                    anyhow::bail!("{} is made by two generators", g.path.display())
                }
                (Content::Block { name, text }, earlier) => {
                    // A file may hold several blocks.
                    let before = match earlier {
                        Some(i) => String::from_utf8(files.swap_remove(i).1)?,
                        None => read(&root.join(&g.path))?,
                    };
                    let after = replace_block(&before, &name, &text)
                        .with_context(|| g.path.display().to_string())?;
                    files.push((g.path, after.into()));
                }
            }
        }
    }
    files.sort();
    Ok(files
        .into_iter()
        .map(|(path, content)| {
            let stale = std::fs::read(root.join(&path)).ok().as_ref() != Some(&content);
            (path, content, stale)
        })
        .collect())
}

/// Reads a file of the repository as text.
pub(crate) fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// Returns the first lines of generated Rust.
fn head(source: &str) -> String {
    format!(
        "// SPDX-License-Identifier: Apache-2.0\n\
         // Generated by `cargo xtask codegen` from {source}. Do not edit.\n"
    )
}

/// Capitalises the first letter, to turn a field's meaning into the sentence of a doc comment.
fn capitalised(text: &str) -> String {
    let mut c = text.chars();
    c.next().map_or(String::new(), |first| {
        first.to_uppercase().chain(c).collect()
    })
}

/// Replaces the lines between the markers of `name` in `before` by `text`.
fn replace_block(before: &str, name: &str, text: &str) -> Result<String> {
    let (begin, end) = (
        format!("<begin generated: {name}>"),
        format!("<end generated: {name}>"),
    );
    let lines: Vec<&str> = before.lines().collect();
    let find = |marker: &str| -> Result<usize> {
        let mut at = (0..lines.len()).filter(|&i| lines[i].contains(marker));
        let first = at
            .next()
            .with_context(|| format!("no line holds {marker}"))?;
        ensure!(at.next().is_none(), "two lines hold {marker}");
        Ok(first)
    };
    let (from, to) = (find(&begin)?, find(&end)?);
    ensure!(from < to, "{end} stands before {begin}");
    let mut out = lines[..=from].join("\n");
    out.push('\n');
    out.push_str(text.trim_end_matches('\n'));
    out.push('\n');
    out.push_str(&lines[to..].join("\n"));
    out.push('\n');
    Ok(out)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const DOC: &str =
        "# Title\n<!-- <begin generated: a> -->\nold\n<!-- <end generated: a> -->\nrest\n";

    #[test]
    fn a_block_is_replaced_between_its_markers() {
        let after = replace_block(DOC, "a", "one\ntwo\n").unwrap();
        assert_eq!(after, DOC.replace("old", "one\ntwo"));
        assert_eq!(replace_block(&after, "a", "one\ntwo").unwrap(), after);
    }

    #[test]
    fn markers_that_are_missing_or_doubled_are_refused() {
        assert!(replace_block(DOC, "b", "").is_err());
        assert!(replace_block(&DOC.repeat(2), "a", "").is_err());
    }

    #[test]
    fn what_is_committed_is_fresh() {
        let root = crate::root();
        let stale: Vec<_> = outputs(&root)
            .unwrap()
            .into_iter()
            .filter_map(|(path, _, stale)| stale.then_some(path))
            .collect();
        assert!(stale.is_empty(), "run `cargo xtask codegen`: {stale:?}");
    }
}
