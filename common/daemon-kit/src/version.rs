// SPDX-License-Identifier: Apache-2.0
//! Version of a program, with the commit from which it was built.
//!
//! It is a macro, not a build script: it expands in a program's `main.rs`, so that a new
//! commit recompiles only these few lines, not the libraries. A source tree unpacked inside
//! another repository does not use that repository's commit: `.cargo/config.toml` ends
//! git's search at the top of the tree.

use std::sync::OnceLock;

#[doc(hidden)]
pub use git_version::git_version;

static RUNNING: OnceLock<&'static str> = OnceLock::new();

const UNKNOWN: &str = "unknown commit";
/// Digits of a shortened commit, independent of the number of objects in a clone.
const DIGITS: usize = 7;

/// Returns the version of the calling package and its commit, as `"0.1.0 (abc1234)"`. The
/// commit is `TIDEMARK_COMMIT` of the build's environment, otherwise the repository's;
/// `"0.1.0 (unknown commit)"` without both.
#[macro_export]
macro_rules! version {
    () => {{
        static VERSION: std::sync::LazyLock<String> = std::sync::LazyLock::new(|| {
            $crate::version::with_commit(
                env!("CARGO_PKG_VERSION"),
                option_env!("TIDEMARK_COMMIT"),
                $crate::version::git_version!(
                    args = ["--always", "--abbrev=40", "--exclude=*"],
                    fallback = ""
                ),
            )
        });
        $crate::version::running(VERSION.as_str())
    }};
}

/// Returns the version followed by the first commit that is not empty.
#[doc(hidden)]
pub fn with_commit(version: &str, given: Option<&str>, found: &str) -> String {
    let mut commits = [given.unwrap_or_default().trim(), found].into_iter();
    let commit = commits.find(|c| !c.is_empty()).unwrap_or(UNKNOWN);
    format!("{version} ({})", shortened(commit))
}

/// Stores the version of this process for [`parts`], and returns it.
#[doc(hidden)]
pub fn running(version: &'static str) -> &'static str {
    RUNNING.get_or_init(|| version)
}

/// Returns the running program's version and commit; no commit if it is unknown or the program
/// has not called [`version!`](crate::version!).
pub fn parts() -> (&'static str, Option<&'static str>) {
    split(RUNNING.get().copied().unwrap_or(env!("CARGO_PKG_VERSION")))
}

fn split(version: &str) -> (&str, Option<&str>) {
    let Some((version, commit)) = version.split_once(" (") else {
        return (version, None);
    };
    let commit = commit.trim_end_matches(')');
    (version, Some(commit).filter(|&c| c != UNKNOWN))
}

/// Shortens a full commit hash; returns any other text unchanged.
fn shortened(commit: &str) -> &str {
    let whole = commit.len() == 40 && commit.bytes().all(|b| b.is_ascii_hexdigit());
    commit.get(..DIGITS).filter(|_| whole).unwrap_or(commit)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOUND: &str = "0123456789abcdef0123456789abcdef01234567";

    #[test]
    fn the_commit_follows_the_version_with_seven_digits() {
        assert_eq!(with_commit("0.1.0", None, FOUND), "0.1.0 (0123456)");
    }

    #[test]
    fn the_environment_comes_first() {
        let version = |given| with_commit("0.1.0", Some(given), FOUND);
        assert_eq!(version("5f6aaab"), "0.1.0 (5f6aaab)");
        assert_eq!(version("1.el9"), "0.1.0 (1.el9)");
        let whole = "f".repeat(40);
        assert_eq!(version(&whole), "0.1.0 (fffffff)");
        assert_eq!(version(" "), "0.1.0 (0123456)");
    }

    #[test]
    fn version_and_commit_are_told_apart() {
        assert_eq!(split("0.1.0 (0123456)"), ("0.1.0", Some("0123456")));
        assert_eq!(split("0.1.0 (unknown commit)"), ("0.1.0", None));
        assert_eq!(split("0.1.0"), ("0.1.0", None));
    }

    #[test]
    fn without_git_the_commit_is_unknown() {
        assert_eq!(with_commit("0.1.0", None, ""), "0.1.0 (unknown commit)");
    }
}
