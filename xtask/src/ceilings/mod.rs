// SPDX-License-Identifier: Apache-2.0
//! Counts that may fall but not rise, bounded by `xtask/ceilings.toml`.

mod prose;
mod weight;

pub(crate) use prose::prose;
pub(crate) use weight::weight;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

const FILE: &str = "xtask/ceilings.toml";
const HEAD: &str = "# SPDX-License-Identifier: Apache-2.0
# Ceilings of `cargo xtask weight` and `cargo xtask prose`, by room or page. `--write` lowers them. To raise
# one, edit it here, in a commit with a decision record (docs/decisions) that says why.
";

/// Counts by measure and place; places with a count of zero are missing.
pub(crate) type Counts = BTreeMap<String, BTreeMap<String, usize>>;

/// Fails counts above their ceilings, and prints one remedy for all measures.
pub(crate) fn check(root: &Path, counts: &Counts, remedy: &str) -> Result<bool> {
    let ceilings = read(root)?;
    let above = above(counts, &ceilings);
    for line in &above {
        eprintln!("{line}");
    }
    if above.is_empty() {
        return Ok(true);
    }
    eprintln!("{remedy}, or raise the ceiling in {FILE} with a decision record that says why");
    Ok(false)
}

/// Lowers the ceilings to the counts. Writes all of them if there is no file.
pub(crate) fn write(root: &Path, counts: &Counts) -> Result<bool> {
    let path = root.join(FILE);
    let mut ceilings = if path.exists() {
        read(root)?
    } else {
        Counts::new()
    };
    for (measure, counted) in counts {
        let lowered = match ceilings.get(measure) {
            Some(held) => lowered(counted, held),
            None => counted.clone(),
        };
        ceilings.insert(measure.clone(), lowered);
    }
    fs::write(&path, HEAD.to_owned() + "\n" + &toml::to_string(&ceilings)?)?;
    Ok(true)
}

fn read(root: &Path) -> Result<Counts> {
    let text = fs::read_to_string(root.join(FILE)).context(FILE)?;
    toml::from_str(&text).context(FILE)
}

/// Returns one line for each count above its ceiling; a missing ceiling is 0.
fn above(counts: &Counts, ceilings: &Counts) -> Vec<String> {
    let mut lines = Vec::new();
    for (measure, places) in counts {
        for (place, count) in places {
            let held = ceilings.get(measure).and_then(|c| c.get(place));
            let ceiling = held.copied().unwrap_or(0);
            if *count > ceiling {
                lines.push(format!(
                    "{place}: {count} {measure}, the ceiling is {ceiling}"
                ));
            }
        }
    }
    lines
}

/// Returns the lower value for each place; omits places without a count.
fn lowered(
    counts: &BTreeMap<String, usize>,
    held: &BTreeMap<String, usize>,
) -> BTreeMap<String, usize> {
    let lower = |(place, ceiling): (&String, &usize)| {
        let count = counts.get(place).copied().unwrap_or(0);
        (count > 0).then(|| (place.clone(), count.min(*ceiling)))
    };
    held.iter().filter_map(lower).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(places: &[(&str, usize)]) -> BTreeMap<String, usize> {
        places.iter().map(|(p, n)| ((*p).to_owned(), *n)).collect()
    }

    #[test]
    fn what_rises_and_what_is_new_is_named_with_count_and_ceiling() {
        let of = |places| Counts::from([("product lines".to_owned(), counts(places))]);
        let ceilings = of(&[("a", 10), ("b", 10), ("gone", 3)]);
        let found = above(&of(&[("a", 10), ("b", 11), ("new", 1)]), &ceilings);
        assert_eq!(
            found,
            [
                "b: 11 product lines, the ceiling is 10",
                "new: 1 product lines, the ceiling is 0"
            ]
        );
    }

    #[test]
    fn writing_lowers_only() {
        let held = counts(&[("a", 10), ("b", 10), ("gone", 3)]);
        let now = counts(&[("a", 12), ("b", 4), ("new", 1)]);
        assert_eq!(lowered(&now, &held), counts(&[("a", 10), ("b", 4)]));
    }
}
