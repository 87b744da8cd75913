// SPDX-License-Identifier: Apache-2.0
//! The version of a program with the commit that it was built from.
//!
//! A macro in the place of a build script: what it expands to names the files that
//! change with a commit, so that a new commit compiles the few lines of `main.rs`
//! again, and not the libraries below.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

use proc_macro::TokenStream;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Names the commit where there is no git, as in the build of a package.
const GIVEN: &str = "TIDEMARK_COMMIT";
const UNKNOWN: &str = "unknown commit";
/// As many digits as tell commits apart.
const DIGITS: usize = 7;

/// `"0.1.0 (abc1234)"`: the version of the package that calls it, with the commit in
/// the environment's `TIDEMARK_COMMIT`, else that of the repository that it is built in;
/// `"0.1.0 (unknown commit)"` where neither is.
#[proc_macro]
pub fn version(_: TokenStream) -> TokenStream {
    let given = std::env::var(GIVEN).ok();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let found = root.canonicalize().ok().and_then(|root| commit_of(&root));
    let (text, files) = expansion(given.as_deref(), found);
    let watched = files
        .iter()
        .filter_map(|f| f.to_str())
        .map(|f| format!("const _: &[u8] = include_bytes!({f:?});"));
    let watched: String = watched.collect();
    let code = format!(
        "{{ const _: Option<&str> = option_env!({GIVEN:?}); {watched} \
         concat!(env!(\"CARGO_PKG_VERSION\"), {text:?}) }}"
    );
    code.parse().unwrap_or_default()
}

/// A commit, and the files that change when another one is checked out or made.
type Found = (String, Vec<PathBuf>);

/// What follows the version, and the files that it depends on.
fn expansion(given: Option<&str>, found: Option<Found>) -> (String, Vec<PathBuf>) {
    let given = given.map(str::trim).filter(|c| !c.is_empty());
    let (commit, files) = match (given, found) {
        (Some(given), _) => (shortened(given), Vec::new()),
        (None, Some((commit, files))) => (shortened(&commit), files),
        (None, None) => (UNKNOWN.to_owned(), Vec::new()),
    };
    (format!(" ({commit})"), files)
}

/// A full commit shortened; anything else as it is.
fn shortened(commit: &str) -> String {
    let whole = commit.len() == 40 && commit.bytes().all(|b| b.is_ascii_hexdigit());
    if whole {
        commit.chars().take(DIGITS).collect()
    } else {
        commit.to_owned()
    }
}

/// The commit of the repository whose top is `root`; `None` where `root` is in none, or
/// is a part of another one.
fn commit_of(root: &Path) -> Option<Found> {
    let top = PathBuf::from(git(root, &["rev-parse", "--show-toplevel"])?);
    if top.canonicalize().ok()? != root.canonicalize().ok()? {
        return None;
    }
    let commit = git(root, &["rev-parse", "HEAD"])?;
    let branch = git(root, &["symbolic-ref", "-q", "HEAD"]);
    let names = [
        Some("HEAD".to_owned()),
        branch,
        Some("packed-refs".to_owned()),
    ];
    let paths = names.into_iter().flatten();
    let paths = paths.filter_map(|n| git(root, &["rev-parse", "--git-path", &n]));
    let files = paths.map(|p| root.join(p)).filter(|p| p.is_file());
    Some((commit, files.collect()))
}

/// One line of what git says.
fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let said = Command::new("git")
        .arg("-C")
        .arg(root)
        .args(arguments)
        // Those of a hook are of another repository.
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .env_remove("GIT_INDEX_FILE")
        .output()
        .ok()?;
    let line = String::from_utf8(said.stdout).ok()?.trim().to_owned();
    (said.status.success() && !line.is_empty()).then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Removed with its last user. Not `tempfile`: what the tests of a procedural macro need is
    /// compiled for the compiler, apart from what programs have of it.
    struct TempDir(PathBuf);

    impl TempDir {
        fn new() -> Self {
            static COUNT: AtomicUsize = AtomicUsize::new(0);
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let name = format!("tidemark-commit-{}-{number}", std::process::id());
            let path = std::env::temp_dir().join(name);
            std::fs::create_dir(&path).unwrap();
            Self(path)
        }

        fn path(&self) -> &Path {
            &self.0
        }
    }

    impl Drop for TempDir {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn repository() -> TempDir {
        let dir = TempDir::new();
        let root = dir.path();
        assert!(git(root, &["init", "-q"]).is_none() && root.join(".git").is_dir());
        commit(root, "one");
        dir
    }

    fn commit(root: &Path, message: &str) {
        let who = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
        let what = ["commit", "-q", "--allow-empty", "-m", message];
        git(root, &[&who[..], &what[..]].concat());
    }

    #[test]
    fn the_commit_is_that_of_the_repository_and_its_files_change_with_it() {
        let dir = repository();
        let (first, files) = commit_of(dir.path()).unwrap();
        assert_eq!(first.len(), 40);
        let contents = |files: &[PathBuf]| -> Vec<Vec<u8>> {
            files.iter().map(|f| std::fs::read(f).unwrap()).collect()
        };
        let before = contents(&files);
        commit(dir.path(), "two");
        let (second, again) = commit_of(dir.path()).unwrap();
        assert_ne!(first, second);
        assert_ne!(before, contents(&again));
        let (text, _) = expansion(None, Some((second.clone(), again)));
        assert_eq!(text, format!(" ({})", &second[..7]));
    }

    #[test]
    fn what_is_in_no_repository_or_in_another_ones_has_an_unknown_commit() {
        let dir = repository();
        let inner = dir.path().join("tarball");
        std::fs::create_dir(&inner).unwrap();
        assert_eq!(commit_of(&inner), None);
        let outside = TempDir::new();
        assert_eq!(commit_of(outside.path()), None);
        assert_eq!(
            expansion(None, None),
            (" (unknown commit)".to_owned(), Vec::new())
        );
    }

    #[test]
    fn the_environment_comes_first() {
        let found = || Some(("f".repeat(40), vec![PathBuf::from("/HEAD")]));
        assert_eq!(
            expansion(Some("5f6aaab"), found()),
            (" (5f6aaab)".to_owned(), Vec::new())
        );
        let whole = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(expansion(Some(whole), None).0, " (0123456)");
        assert_eq!(expansion(Some(" "), found()).0, " (fffffff)");
    }
}
