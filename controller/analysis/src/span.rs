// SPDX-License-Identifier: Apache-2.0
//! Decides which part of a capture is estimated, and under which limits.

use crate::AnalysisError;
use crate::marks::Mark;
use std::collections::BTreeMap;
use tidemark_estimators::LinkId;
use tidemark_proto::telemetry::LinkInterval;

/// Spans of all links.
pub type Spans = BTreeMap<LinkId, LinkSpan>;

/// Span of one link in a capture, on the switch's clock.
#[derive(Clone, Debug, Default)]
pub struct LinkSpan {
    /// Start of its first interval.
    pub first_ns: u64,
    /// End of its last interval.
    pub last_ns: u64,
    /// Limits with the time from which each was reported, bytes; 0 if unlimited.
    limits: Vec<(u64, u64)>,
}

impl LinkSpan {
    /// Adds the next interval record of the link.
    pub fn extend(&mut self, interval: &LinkInterval) {
        let end_ns = interval.start_ns + interval.duration_ns;
        let first = if self.last_ns == 0 {
            interval.start_ns
        } else {
            self.first_ns.min(interval.start_ns)
        };
        (self.first_ns, self.last_ns) = (first, self.last_ns.max(end_ns));
        // Without an arrival, nothing tells the limit.
        let known = self.limits.last().map(|l| l.1);
        if interval.arrivals > 0 && known != Some(interval.limit_bytes) {
            self.limits.push((interval.start_ns, interval.limit_bytes));
        }
    }

    /// Returns the limits in force within a span, with the time from which each applied.
    fn limits_within(&self, from_ns: u64, to_ns: u64) -> Vec<(u64, u64)> {
        let ends = self.limits.iter().skip(1).map(|l| l.0);
        let ends = ends.chain(std::iter::once(u64::MAX));
        let all = self.limits.iter().zip(ends);
        all.filter(|((start, _), end)| *start < to_ns && *end > from_ns)
            .map(|(&(start, limit), _)| (start.max(from_ns), limit))
            .collect()
    }
}

/// The requested span.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Asked {
    /// Start, in seconds after the link's first interval in the capture.
    pub from_s: Option<f64>,
    /// End, in seconds after the link's first interval in the capture.
    pub to_s: Option<f64>,
    /// Start on the switch's clock, as phases give it; `from_s` overrides it.
    pub from_ns: Option<u64>,
    /// End on the switch's clock; `to_s` overrides it.
    pub to_ns: Option<u64>,
}

impl Asked {
    /// Whether a span is requested.
    pub fn given(self) -> bool {
        [self.from_s, self.to_s].iter().any(Option::is_some)
            || [self.from_ns, self.to_ns].iter().any(Option::is_some)
    }

    /// Returns the span of a link that begins at `first_ns`, unchecked.
    pub(crate) fn about(self, first_ns: u64) -> (u64, u64) {
        let at = |s: f64| first_ns.saturating_add((s.max(0.0) * 1e9).round() as u64);
        (
            self.from_s.map(at).or(self.from_ns).unwrap_or(0),
            self.to_s.map(at).or(self.to_ns).unwrap_or(u64::MAX),
        )
    }
}

/// A part of a link's capture that is estimated.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Name of the phase, if the part is one.
    pub phase: Option<String>,
    /// Start, ns of the switch's clock.
    pub from_ns: u64,
    /// End, exclusive.
    pub to_ns: u64,
    /// Remark on its limits, in words, if there is one.
    pub limits: Option<String>,
    /// Whether several limits were in force within it.
    pub mixes_limits: bool,
    /// Remark that a part of the requested span is not in the capture.
    pub cut: Option<String>,
}

/// Returns the spans to estimate of one link, at least one. A span that reaches beyond the capture
/// is cut.
///
/// # Errors
/// The span is empty, or lies outside of the capture.
pub fn span_of(asked: Asked, link: &LinkSpan) -> Result<Vec<Part>, AnalysisError> {
    let at = |s: Option<f64>, ns: Option<u64>, default: u64, name: &str| match s {
        Some(s) if !(s >= 0.0 && s.is_finite()) => Err(AnalysisError::Span(format!(
            "{name}: {s} is not a time from 0 on"
        ))),
        Some(s) => Ok(link.first_ns.saturating_add((s * 1e9).round() as u64)),
        None => Ok(ns.unwrap_or(default)),
    };
    let from_ns = at(asked.from_s, asked.from_ns, link.first_ns, "from_s")?;
    let to_ns = at(asked.to_s, asked.to_ns, link.last_ns, "to_s")?;
    let asked_words = words(from_ns, to_ns, link);
    let there = format!(
        "the capture has {}",
        words(link.first_ns, link.last_ns, link)
    );
    if from_ns >= to_ns {
        let empty = format!("the span is empty: {asked_words}; {there}");
        return Err(AnalysisError::Span(empty));
    }
    if from_ns >= link.last_ns || to_ns <= link.first_ns {
        return Err(AnalysisError::Span(format!(
            "the span {asked_words} is not there: {there}; ask for a span within it"
        )));
    }
    let is_cut = from_ns < link.first_ns || to_ns > link.last_ns;
    let (from_ns, to_ns) = (from_ns.max(link.first_ns), to_ns.min(link.last_ns));
    let cut = is_cut.then(|| format!("a part of {asked_words} is missing: {there}"));
    let limits = link.limits_within(from_ns, to_ns);
    let whole = |limits: Option<String>| {
        vec![Part {
            phase: None,
            from_ns,
            to_ns,
            mixes_limits: limits.is_some(),
            limits,
            cut: cut.clone(),
        }]
    };
    if limits.len() < 2 {
        return Ok(whole(None));
    }
    let changes = changes(&limits, link.first_ns);
    if asked.given() {
        let mixed = "the estimates and the advice mix them; ask for a span of one limit";
        return Ok(whole(Some(format!("{changes}: {mixed}"))));
    }
    let starts = limits.iter().enumerate().map(|(i, l)| match i {
        0 => from_ns,
        _ => l.0,
    });
    let ends = limits.iter().skip(1).map(|l| l.0);
    let ends = ends.chain(std::iter::once(to_ns));
    let said = format!("{changes}: each has its own span");
    Ok(starts
        .zip(ends)
        .map(|(from_ns, to_ns)| Part {
            phase: None,
            from_ns,
            to_ns,
            limits: Some(said.clone()),
            mixes_limits: false,
            cut: None,
        })
        .collect())
}

/// Returns the spans to estimate of one link: the phases that the run's record names, or else those
/// of [`span_of`]. `place` is that of the link's node among `nodes`.
///
/// # Errors
/// See [`span_of`].
pub fn parts_of(
    asked: Asked,
    link: &LinkSpan,
    marks: &[Mark],
    (place, nodes): (usize, usize),
) -> Result<Vec<Part>, AnalysisError> {
    let mut parts = Vec::new();
    for mark in marks.iter().filter(|_| !asked.given()) {
        let Some((from_ns, to_ns)) = mark.span_ns(place, nodes) else {
            continue;
        };
        let (from_ns, to_ns) = (from_ns.max(link.first_ns), to_ns.min(link.last_ns));
        if from_ns >= to_ns {
            continue;
        }
        let span = Asked {
            from_ns: Some(from_ns),
            to_ns: Some(to_ns),
            ..Asked::default()
        };
        parts.extend(span_of(span, link)?.into_iter().map(|part| Part {
            phase: Some(mark.name.clone()),
            ..part
        }));
    }
    if parts.is_empty() {
        span_of(asked, link)
    } else {
        Ok(parts)
    }
}

/// Formats a span on the switch's clock, and as seconds from the first interval.
fn words(from_ns: u64, to_ns: u64, link: &LinkSpan) -> String {
    let seconds = |ns: u64| (i128::from(ns) - i128::from(link.first_ns)) as f64 / 1e9;
    let (from_s, to_s) = (seconds(from_ns), seconds(to_ns));
    format!("{from_s:.3} s to {to_s:.3} s ({from_ns} ns to {to_ns} ns)")
}

fn changes(limits: &[(u64, u64)], first_ns: u64) -> String {
    let each = limits.iter().map(|&(start, limit)| {
        let from_s = start.saturating_sub(first_ns) as f64 / 1e9;
        match limit {
            0 => format!("none reported from {from_s:.3} s"),
            bytes => format!("{bytes} bytes from {from_s:.3} s"),
        }
    });
    let each: Vec<String> = each.collect();
    format!("the limit changed ({})", each.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link() -> LinkSpan {
        let mut span = LinkSpan::default();
        for (i, limit_bytes) in [9, 9, 5, 5, 5, 7].into_iter().enumerate() {
            span.extend(&LinkInterval {
                start_ns: 1_000 + 100 * i as u64,
                duration_ns: 100,
                arrivals: u32::from(i != 3),
                limit_bytes: if i == 3 { 0 } else { limit_bytes },
                ..LinkInterval::default()
            });
        }
        span
    }

    #[test]
    fn without_a_span_each_limit_has_its_own() {
        let parts = span_of(Asked::default(), &link()).unwrap();
        let spans: Vec<_> = parts.iter().map(|p| (p.from_ns, p.to_ns)).collect();
        assert_eq!(spans, [(1000, 1200), (1200, 1500), (1500, 1600)]);
        assert!(parts.iter().all(|p| !p.mixes_limits));
        let said = parts[0].limits.as_ref().unwrap();
        assert!(
            said.contains("9 bytes") && said.contains("7 bytes"),
            "{said}"
        );
    }

    #[test]
    fn a_span_that_is_asked_for_is_kept_and_what_it_mixes_is_said() {
        let asked = Asked {
            from_ns: Some(1100),
            to_ns: Some(1400),
            ..Asked::default()
        };
        let parts = span_of(asked, &link()).unwrap();
        assert_eq!(
            (parts.len(), parts[0].from_ns, parts[0].to_ns),
            (1, 1100, 1400)
        );
        let said = parts[0].limits.as_ref().unwrap();
        assert!(said.contains("mix") && !said.contains("7 bytes"), "{said}");
        assert!(parts[0].mixes_limits);
        let one = Asked {
            from_ns: Some(1200),
            to_ns: Some(1500),
            ..Asked::default()
        };
        assert_eq!(span_of(one, &link()).unwrap()[0].limits, None);
        // A phase of a run's record that mixes limits is evidence of none of them either.
        let marks = [(1100, 1400), (1200, 1500)].map(|span| Mark {
            name: "phase".to_owned(),
            spans_ns: vec![span],
        });
        let parts = parts_of(Asked::default(), &link(), &marks, (0, 1)).unwrap();
        let mixed: Vec<bool> = parts.iter().map(|p| p.mixes_limits).collect();
        assert_eq!(mixed, [true, false]);
    }

    #[test]
    fn a_span_beyond_the_capture_is_an_error_and_one_that_reaches_beyond_is_cut() {
        let ask = |from_ns, to_ns| Asked {
            from_ns: Some(from_ns),
            to_ns: Some(to_ns),
            ..Asked::default()
        };
        for (from_ns, to_ns) in [(1600, 2000), (100, 1000)] {
            let refused = span_of(ask(from_ns, to_ns), &link())
                .unwrap_err()
                .to_string();
            assert!(refused.contains("(1000 ns to 1600 ns)"), "{refused}");
        }
        let cut = span_of(ask(900, 1100), &link()).unwrap();
        assert_eq!((cut[0].from_ns, cut[0].to_ns), (1000, 1100));
        let said = cut[0].cut.as_ref().unwrap();
        assert!(said.contains("(900 ns to 1100 ns)"), "{said}");
        assert!(said.contains("(1000 ns to 1600 ns)"), "{said}");
        let whole = span_of(ask(1000, 1600), &link()).unwrap();
        assert!(whole.iter().all(|p| p.cut.is_none()));
    }

    #[test]
    fn nonsense_is_refused() {
        let empty = Asked {
            from_ns: Some(9),
            to_ns: Some(9),
            ..Asked::default()
        };
        assert!(span_of(empty, &link()).is_err());
        let nan = Asked {
            from_s: Some(f64::NAN),
            ..Asked::default()
        };
        assert!(span_of(nan, &link()).is_err());
    }
}
