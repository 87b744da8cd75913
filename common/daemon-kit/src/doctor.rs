// SPDX-License-Identifier: Apache-2.0
//! Findings of the `doctor` verbs and their output: one line per check, with its remedy.

use serde::{Deserialize, Serialize};
use std::io::Write;

/// Result of the check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(
    feature = "openapi",
    derive(schemars::JsonSchema),
    schemars(rename = "FindingVerdict")
)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The check passed.
    Ok,
    /// It works, but less well than it could.
    Warning,
    /// Something configured does not work.
    Problem,
}

/// Result of one check, shown on one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Finding {
    /// The item checked.
    pub check: String,
    /// Result of the check.
    pub verdict: Verdict,
    /// The state found.
    pub found: String,
    /// How to fix the problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

impl Finding {
    /// Returns a finding without a problem.
    pub fn ok(check: impl Into<String>, found: impl Into<String>) -> Self {
        Self {
            check: check.into(),
            verdict: Verdict::Ok,
            found: found.into(),
            remedy: None,
        }
    }

    /// It works, but less well than it could.
    pub fn warning(
        check: impl Into<String>,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            verdict: Verdict::Warning,
            remedy: Some(remedy.into()),
            ..Self::ok(check, found)
        }
    }

    /// Returns a finding of something that does not work.
    pub fn problem(
        check: impl Into<String>,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            verdict: Verdict::Problem,
            ..Self::warning(check, found, remedy)
        }
    }
}

/// Counts the findings that are problems.
pub fn problems(found: &[Finding]) -> usize {
    let problems = found.iter().filter(|f| f.verdict == Verdict::Problem);
    problems.count()
}

/// Writes the findings as text, or as JSON.
///
/// # Errors
/// A write to `out` failed.
pub fn write(found: &[Finding], json: bool, out: &mut impl Write) -> std::io::Result<()> {
    if json {
        serde_json::to_writer_pretty(&mut *out, found)?;
        return writeln!(out);
    }
    for f in found {
        let verdict = match f.verdict {
            Verdict::Ok => "ok     ",
            Verdict::Warning => "warning",
            Verdict::Problem => "PROBLEM",
        };
        writeln!(out, "{verdict}  {}: {}", f.check, f.found)?;
        if let Some(remedy) = &f.remedy {
            writeln!(out, "         -> {remedy}")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_each_and_what_to_do() {
        let found = [
            Finding::ok("kernel", "6.1"),
            Finding::warning("buffer", "small", "make it larger"),
            Finding::problem("port", "taken", "take another"),
        ];
        let mut out = Vec::new();
        write(&found, false, &mut out).unwrap_or_default();
        let text = String::from_utf8_lossy(&out);
        assert_eq!(
            text.lines().collect::<Vec<_>>(),
            [
                "ok       kernel: 6.1",
                "warning  buffer: small",
                "         -> make it larger",
                "PROBLEM  port: taken",
                "         -> take another",
            ]
        );
        assert_eq!(problems(&found), 1);
        let mut out = Vec::new();
        write(&found, true, &mut out).unwrap_or_default();
        let json: serde_json::Value = serde_json::from_slice(&out).unwrap_or_default();
        assert_eq!(json[2]["verdict"], "problem");
        assert_eq!(json[0].get("remedy"), None);
    }
}
