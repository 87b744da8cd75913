// SPDX-License-Identifier: Apache-2.0
//! Accounts for all input of a command: every frame yields a report or is counted under a reason,
//! and every report yields a row or is counted under a reason.

use crate::engine::Snapshot;
use daemon_kit::cli::NothingRead;
use int_report::{DecodeError, Report};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use tidemark_pcap::{Datagrams, Reason};
use tidemark_pipeline::Stats;

/// Counts of frames without a report, or of reports without a row, by reason.
type Reasons = BTreeMap<&'static str, u64>;

/// Datagrams of another protocol, counted apart from damaged reports.
const OTHER_PROTOCOL: &str = "other_protocol";
/// Datagrams to ports that were not selected.
const OTHER_PORT: &str = "other_port";
const MALFORMED: &str = "malformed";

/// Words for each key, to follow its count.
const WORDS: [(&str, &str); 17] = [
    (OTHER_PROTOCOL, "of other protocols"),
    (OTHER_PORT, "to other ports"),
    (MALFORMED, "malformed"),
    ("duplicate", "duplicates"),
    ("unknown_node", "of unknown nodes"),
    ("unknown_exporter", "of unknown exporters"),
    ("no_tag", "without a tag"),
    ("wrong_tag", "with a wrong tag"),
    ("replayed", "sent again"),
    ("implausible_time", "with an impossible time"),
    ("not_of_queue", "drops for other reasons than the queue"),
    ("drop_summary", "sums of losses between hosts"),
    ("no_card", "of no card"),
    ("unknown_flow", "of flows that no report has shown"),
    ("receiver", "of sockets that only receive"),
    ("invalid", "with impossible sequence numbers"),
    ("late", "after a later one of their flow"),
];

fn words(key: &str) -> &str {
    let frames = Reason::ALL.iter().find(|r| r.label() == key);
    let known = || WORDS.iter().find(|(k, _)| *k == key).map(|(_, w)| *w);
    frames.map(|r| r.words()).or_else(known).unwrap_or(key)
}

/// Returns the reason under which a datagram with this label of an error is counted.
fn undecoded(label: &str) -> &'static str {
    match label {
        "unknown_version" | "bad_header_length" | "unknown_next_protocol" | "not_a_report" => {
            OTHER_PROTOCOL
        }
        _ => MALFORMED,
    }
}

/// Account of the frames of a capture file and their reports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FrameAccount {
    /// Frames read.
    pub frames: u64,
    /// Reports in them; a datagram may hold several.
    pub reports: u64,
    /// Hop records in these reports, if packets carried hop metadata.
    pub hops: u64,
    /// Frames without a report, by reason; counted per datagram if a frame holds several.
    pub without_report: Reasons,
}

impl FrameAccount {
    /// Counts a datagram to a port that was not selected.
    pub fn other_port(&mut self) {
        self.count(OTHER_PORT);
    }

    /// Counts a datagram that holds no card.
    pub fn no_card(&mut self) {
        self.count("no_card");
    }

    /// Counts a datagram that cannot be decoded to its end.
    pub fn refused(&mut self, error: &DecodeError) {
        let label = DecodeError::LABELS.get(error.index());
        self.count(label.map_or(MALFORMED, |label| undecoded(label)));
    }

    /// Decodes a datagram, counts its reports, and hands on each.
    ///
    /// # Errors
    /// It cannot be decoded to its end, which is counted.
    pub fn decode(
        &mut self,
        payload: &[u8],
        mut each: impl FnMut(&Report<'_>),
    ) -> Result<usize, DecodeError> {
        int_report::decode(payload, |report| {
            self.reports += u64::from(report.hop.is_none_or(|hop| !hop.further));
            self.hops += u64::from(report.hop.is_some());
            each(report);
        })
        .inspect_err(|error| self.refused(error))
    }

    fn count(&mut self, key: &'static str) {
        *self.without_report.entry(key).or_default() += 1;
    }

    /// Builds an account of datagrams instead of frames, from an engine's counters.
    pub fn of_datagrams(s: &Snapshot) -> Self {
        let mut account = Self {
            frames: s.datagrams,
            reports: s.stats.reports,
            hops: s.stats.hops,
            ..Self::default()
        };
        for (label, &datagrams) in DecodeError::LABELS.iter().zip(&s.malformed) {
            if datagrams > 0 {
                *account.without_report.entry(undecoded(label)).or_default() += datagrams;
            }
        }
        account
    }

    /// Takes the frame counts of a file that has been read to its end.
    pub fn end(&mut self, pcap: &Datagrams) {
        self.frames = pcap.frames();
        for (reason, frames) in pcap.unread.counts().filter(|c| c.1 > 0) {
            self.without_report.insert(reason.label(), frames);
        }
    }

    /// Checks that at least one report was read.
    ///
    /// # Errors
    /// No report was read; the message lists the frames and the reasons.
    pub fn something(&self) -> Result<(), NothingRead> {
        match self.reports {
            0 => Err(NothingRead::new(format!("nothing was read: {self}"))),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for FrameAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} frames: {} reports", self.frames, self.reports)?;
        if self.hops > 0 {
            write!(f, ", {} hop records", self.hops)?;
        }
        reasons(f, &self.without_report)
    }
}

/// Account of reports, or of their hop records, and of their rows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RowAccount {
    /// One record per report, or per hop if the report has hop records.
    pub records: u64,
    /// Rows of packets.
    pub rows: u64,
    /// Records without a row.
    pub without_row: Reasons,
    /// Rows without a flow, because the packet in the report cannot be read.
    pub without_flow: u64,
    /// Records that wait for their sample, in a running collector.
    pub waiting: u64,
}

impl RowAccount {
    /// Builds the account from a pipeline's counters.
    pub fn new(s: &Stats) -> Self {
        let reasons = [
            ("duplicate", s.reports_duplicate),
            ("unknown_node", s.nodes_refused),
            ("unknown_exporter", s.reports_refused_exporter),
            ("no_tag", s.reports_refused_no_tag),
            ("wrong_tag", s.reports_refused_wrong_tag),
            ("replayed", s.reports_refused_replayed),
            ("implausible_time", s.reports_implausible_time),
            ("not_of_queue", s.drops_not_of_queue),
            ("drop_summary", s.drop_summaries),
        ];
        Self {
            records: s.reports + s.hops_further,
            rows: s.postcard_rows,
            without_row: reasons.into_iter().filter(|r| r.1 > 0).collect(),
            without_flow: s.inner_errors.iter().sum(),
            waiting: 0,
        }
    }
}

impl fmt::Display for RowAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} records: {} rows", self.records, self.rows)?;
        reasons(f, &self.without_row)?;
        match self.without_flow {
            0 => Ok(()),
            n => write!(f, "; {n} rows without a flow, whose packet cannot be read"),
        }
    }
}

/// Account of the senders' samples and their rows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SampleAccount {
    /// Samples given to the pipeline.
    pub samples: u64,
    /// Rows of these samples.
    pub rows: u64,
    /// Samples without a row.
    pub without_row: Reasons,
}

impl SampleAccount {
    /// Builds the account from a pipeline's counters.
    pub fn new(s: &Stats) -> Self {
        let reasons = [
            ("unknown_flow", s.samples_unknown_flow),
            ("receiver", s.samples_receiver),
            ("invalid", s.samples_invalid),
            ("late", s.samples_late),
        ];
        Self {
            samples: s.samples,
            rows: s.probe_rows,
            without_row: reasons.into_iter().filter(|r| r.1 > 0).collect(),
        }
    }
}

impl fmt::Display for SampleAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} samples: {} rows", self.samples, self.rows)?;
        reasons(f, &self.without_row)
    }
}

fn reasons(f: &mut fmt::Formatter<'_>, all: &Reasons) -> fmt::Result {
    for (i, (key, n)) in all.iter().enumerate() {
        let before = if i == 0 { " (" } else { ", " };
        write!(f, "{before}{n} {}", words(key))?;
    }
    if all.is_empty() {
        Ok(())
    } else {
        write!(f, ")")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_told_with_its_reasons() {
        let mut account = FrameAccount {
            frames: 51,
            reports: 51,
            ..FrameAccount::default()
        };
        assert_eq!(account.to_string(), "51 frames: 51 reports");
        assert!(account.something().is_ok());
        account.reports = 0;
        account.without_report.insert(Reason::Cut.label(), 50);
        account.refused(&DecodeError::NotAReport { what: "" });
        let said = "51 frames: 0 reports (50 cut by the snapshot length, 1 of other protocols)";
        assert_eq!(account.to_string(), said);
        let nothing = account.something().unwrap_err().to_string();
        assert_eq!(nothing, format!("nothing was read: {said}"));
    }

    #[test]
    fn every_reason_has_words() {
        let rows = RowAccount::new(&Stats {
            reports: 5,
            postcard_rows: 3,
            reports_duplicate: 1,
            drops_not_of_queue: 1,
            ..Stats::default()
        });
        let said = "5 records: 3 rows (1 duplicates, 1 drops for other reasons than the queue)";
        assert_eq!(rows.to_string(), said);
        let samples = SampleAccount::new(&Stats {
            samples: 9,
            probe_rows: 7,
            samples_unknown_flow: 1,
            samples_late: 1,
            ..Stats::default()
        });
        let said = "9 samples: 7 rows (1 after a later one of their flow, \
                    1 of flows that no report has shown)";
        assert_eq!(samples.to_string(), said);
        for reason in Reason::ALL {
            assert_ne!(words(reason.label()), reason.label());
        }
    }
}
