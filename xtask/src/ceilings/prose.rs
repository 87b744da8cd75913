// SPDX-License-Identifier: Apache-2.0
//! Sentences that are hard to read: comments that begin with a relative clause in place of a
//! noun, words of another century, lines of documents that no diff shows well.

use std::fs;
use std::path::Path;

use anyhow::Result;

use super::Counts;
use super::weight::{is_code, room};
use crate::repository;

/// Words that must not begin a comment, docstring, paragraph, item or cell.
const OPENINGS: &[&str] = &["What", "Whoever", "Those", "The same", "Where"];
/// Marks before the text: of comments, and of items, titles and cells of a document.
const COMMENTS: &[&str] = &[
    "///", "//!", "//", "#", "--", "/**", "/*", "*", "\"\"\"", "'''",
];
const ITEMS: &[&str] = &["", "-", "*", ">", "|", "#"];
const WORDS: &[&str] = &["anew", "beside", "foretold", "of theirs", "whoever"];
/// Longest line of a document outside tables.
const LONGEST: usize = 200;

/// Counts openings and words by room and page, long lines by page.
pub(crate) fn prose(root: &Path) -> Result<Counts> {
    let mut counts = Counts::new();
    for file in repository::files(root)? {
        let page = file.ends_with(".md");
        // This list would be counted itself.
        if !(page || is_code(&file)) || file == file!() {
            continue;
        }
        let bytes = fs::read(root.join(&file))?;
        let text = String::from_utf8_lossy(&bytes);
        let place = if page { file.clone() } else { room(&file) };
        let marks = if page { ITEMS } else { COMMENTS };
        for line in text.lines() {
            for (measure, n) in [
                ("openings", usize::from(is_opening(line, marks))),
                ("words to avoid", words(line)),
                ("long lines", usize::from(page && is_long(line))),
            ] {
                if n > 0 {
                    let places = counts.entry(measure.to_owned()).or_default();
                    *places.entry(place.clone()).or_default() += n;
                }
            }
        }
    }
    Ok(counts)
}

fn is_opening(line: &str, marks: &[&str]) -> bool {
    let line = line.trim_start();
    let said = |mark: &&str| Some(line.strip_prefix(*mark)?.trim_start());
    marks
        .iter()
        .filter_map(said)
        .any(|text| OPENINGS.iter().any(|o| begins(text, o)))
}

/// Whether the text begins with the whole word.
fn begins(text: &str, word: &str) -> bool {
    let rest = text.strip_prefix(word);
    rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
}

fn words(line: &str) -> usize {
    let line = line.to_lowercase();
    let starts = |at: usize| !line[..at].ends_with(|c: char| c.is_alphanumeric());
    let of = |word: &&str| {
        line.match_indices(*word)
            .filter(|(at, _)| starts(*at) && begins(&line[*at..], word))
            .count()
    };
    WORDS.iter().map(of).sum()
}

fn is_long(line: &str) -> bool {
    !line.trim_start().starts_with('|') && line.chars().count() > LONGEST
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openings_words_and_long_lines_are_found() {
        for line in [
            "/// What is left.",
            "  # Those of",
            "    \"\"\"Where it",
            "// The same as",
            "/** Whoever",
        ] {
            assert!(is_opening(line, COMMENTS), "{line}");
        }
        for line in [
            "/// Whatever it is.",
            "let x; // What",
            "/// Says what is left.",
            "What = 1",
        ] {
            assert!(!is_opening(line, COMMENTS), "{line}");
        }
        for line in ["What is not in it", "* Those of", "| The same |", "# What"] {
            assert!(is_opening(line, ITEMS), "{line}");
        }
        assert!(!is_opening("Say what. What is it?", ITEMS));
        assert_eq!(words("Beside it, besides; anew (foretold) of theirs"), 4);
        assert!(is_long(&"x".repeat(201)) && !is_long(&"ü".repeat(200)));
        assert!(!is_long(&format!("| {} |", "x".repeat(300))));
    }
}
