// SPDX-License-Identifier: Apache-2.0
//! The version of a program with the commit that it was built from.
//!
//! A macro, not a build script: it expands in a program's `main.rs`, so that a new commit
//! compiles these few lines again, and not the libraries below. A source tree that is
//! unpacked inside another repository does not take that one's commit: `.cargo/config.toml`
//! ends git's search at the top of the tree.

use std::sync::OnceLock;

#[doc(hidden)]
pub use git_version::git_version;

static RUNNING: OnceLock<&'static str> = OnceLock::new();

const UNKNOWN: &str = "unknown commit";
/// As many digits as tell commits apart, however many objects a clone has.
const DIGITS: usize = 7;

/// `"0.1.0 (abc1234)"`: the version of the package that calls it, with the commit in the
/// environment's `TIDEMARK_COMMIT` at the time of the build, else the commit of the
/// repository; `"0.1.0 (unknown commit)"` without both.
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

/// A version followed by the first commit that is given.
#[doc(hidden)]
pub fn with_commit(version: &str, given: Option<&str>, found: &str) -> String {
    let mut commits = [given.unwrap_or_default().trim(), found].into_iter();
    let commit = commits.find(|c| !c.is_empty()).unwrap_or(UNKNOWN);
    format!("{version} ({})", shortened(commit))
}

/// Remembers the version of this process for [`parts`], and gives it back.
#[doc(hidden)]
pub fn running(version: &'static str) -> &'static str {
    RUNNING.get_or_init(|| version)
}

/// Version and commit of the program that runs; no commit where none is known, or where no
/// program has called [`version!`](crate::version!).
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

/// A full commit shortened; anything else as it is.
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
