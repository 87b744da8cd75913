// SPDX-License-Identifier: Apache-2.0
//! The repository as seen by git and cargo.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

/// A crate, by its manifest.
#[derive(Deserialize)]
pub(crate) struct Package {
    pub name: String,
    pub description: Option<String>,
    pub manifest_path: PathBuf,
    pub dependencies: Vec<Dependency>,
    /// Relative to the top of the repository.
    #[serde(skip)]
    pub folder: String,
}

#[derive(Deserialize)]
pub(crate) struct Dependency {
    /// Name of the package.
    pub name: String,
    /// `dev`, `build`, or `None` for normal dependencies.
    pub kind: Option<String>,
}

impl Package {
    /// Returns the packages that the crate itself needs, without those for its tests.
    pub(crate) fn needs(&self) -> impl Iterator<Item = &str> {
        let own = self.dependencies.iter().filter(|d| d.kind.is_none());
        own.map(|d| d.name.as_str())
    }
}

/// Returns every crate, including separate workspaces (fuzz targets), sorted by folder.
pub(crate) fn packages(root: &Path) -> Result<Vec<Package>> {
    let mut packages = metadata(root, "Cargo.toml")?;
    for file in files(root)? {
        let known = packages
            .iter()
            .any(|p| file == format!("{}/Cargo.toml", p.folder));
        if file.ends_with("/Cargo.toml") && !known {
            packages.extend(metadata(root, &file)?);
        }
    }
    packages.sort_by(|a, b| a.folder.cmp(&b.folder));
    Ok(packages)
}

fn metadata(root: &Path, manifest: &str) -> Result<Vec<Package>> {
    #[derive(Deserialize)]
    struct Metadata {
        packages: Vec<Package>,
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let arguments = ["metadata", "--no-deps", "--offline", "--format-version=1"];
    let text = run(
        root,
        Command::new(cargo)
            .args(arguments)
            .args(["--manifest-path", manifest]),
    )?;
    let mut found: Metadata = serde_json::from_str(&text)?;
    // Cargo reports the canonical path.
    let root = root.canonicalize()?;
    for p in &mut found.packages {
        let folder = p.manifest_path.parent().unwrap_or(Path::new(""));
        let folder = folder.strip_prefix(&root).unwrap_or(folder);
        p.folder = folder.to_string_lossy().into_owned();
    }
    Ok(found.packages)
}

/// Returns every file that git tracks and that exists, relative to the top of the repository.
pub(crate) fn files(root: &Path) -> Result<Vec<String>> {
    let text = run(root, Command::new("git").args(["ls-files", "-z"]))?;
    let there = |f: &&str| {
        let path = root.join(f);
        path.is_file() && !path.is_symlink()
    };
    Ok(text.split('\0').filter(there).map(str::to_owned).collect())
}

fn run(folder: &Path, command: &mut Command) -> Result<String> {
    let name = format!("{:?}", command.get_program());
    let output = command
        .current_dir(folder)
        .output()
        .with_context(|| format!("cannot start {name}"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{name} failed: {errors}");
    Ok(String::from_utf8(output.stdout)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uses the last column of each table, except for the table of commands.
    #[test]
    fn tests_that_the_page_of_attacks_names_exist() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let page = std::fs::read_to_string(root.join("docs/explanation/attacks.md")).unwrap();
        let tables = page.split("\n## ").skip(1);
        let rows = tables.flat_map(str::lines).filter(|l| l.starts_with("| "));
        let named: Vec<&str> = rows
            .filter_map(|row| row.trim_end_matches(" |").rsplit(" | ").next())
            .flat_map(|tests| tests.split('`').skip(1).step_by(2))
            .collect();
        assert!(named.len() > 40, "{named:?}");
        let is_code = |f: &String| f.ends_with(".rs") || f.ends_with(".py");
        let code: Vec<String> = files(root).unwrap().into_iter().filter(is_code).collect();
        let code: Vec<String> = code
            .iter()
            .map(|f| std::fs::read_to_string(root.join(f)).unwrap())
            .collect();
        let is_there = |name: &str| {
            let forms = [
                format!("fn {name}("),
                format!("def {name}("),
                format!("mod {name}"),
            ];
            code.iter().any(|c| forms.iter().any(|f| c.contains(f)))
        };
        let missing: Vec<&str> = named.into_iter().filter(|n| !is_there(n)).collect();
        assert_eq!(missing, Vec::<&str>::new());
    }
}
