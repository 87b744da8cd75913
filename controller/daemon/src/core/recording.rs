// SPDX-License-Identifier: Apache-2.0
//! A finished run in place of collectors: its capture is replayed into the core, and single packets
//! are read from its files. Nothing is written.

use super::audit::Audit;
use super::feed::Feed;
use super::phases::Phase;
use super::time::Clock;
use super::{Core, Event, tick};
use crate::config::{CollectorConfig, Config};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use tidemark_advice::Advice;
use tidemark_capture::{PacketSpan, packets};
use tidemark_control::{Input, StationarityWindow, WindowEstimate};
use tidemark_estimators::{LinkEstimate, LinkId};
use tidemark_proto::telemetry::{PacketBatch, ReadPacketsRequest};
use tidemark_rules::Traffic;

/// The finished run that is shown.
#[derive(Debug)]
pub struct Recording {
    /// Directory of the capture.
    pub capture: PathBuf,
    /// Start of the capture, Unix time.
    pub started_unix_ms: u64,
    /// End of the capture, Unix time; `None` if it was not closed.
    pub ended_unix_ms: Option<u64>,
    reading: Mutex<Reading>,
}

/// Progress of reading the capture.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// Share of the rows that were read, 0 to 1.
    pub share: f64,
    /// Time of the run read so far, s.
    pub seconds: f64,
    /// Remarks on the capture, in words.
    pub notes: Vec<String>,
    /// Why the capture was not read to its end.
    pub problem: Option<String>,
}

/// Results shown for a link once the whole run has been read.
#[derive(Debug)]
pub struct Concluded {
    /// Estimate over one phase of the run, or over one limit.
    pub estimate: Arc<LinkEstimate>,
    /// Advice of the sizing rules.
    pub advice: Advice,
    /// The traffic on which the advice is based.
    pub measured: Traffic,
}

impl Recording {
    /// Creates a recording of which nothing has been read yet.
    pub fn new(capture: PathBuf, started_unix_ms: u64, ended_unix_ms: Option<u64>) -> Self {
        Self {
            capture,
            started_unix_ms,
            ended_unix_ms,
            reading: Mutex::default(),
        }
    }

    /// Returns the progress of reading.
    pub fn reading(&self) -> Reading {
        self.reading.lock().clone()
    }

    /// Updates the progress of reading.
    pub fn read(&self, change: impl FnOnce(&mut Reading)) {
        change(&mut self.reading.lock());
    }

    /// Returns why nothing can be changed, and what can be done instead.
    pub fn refusal(&self) -> String {
        format!(
            "this is a finished run, read from {}: nothing can be set or started; \
             `tidemark-controller run` controls a live switch",
            self.capture.display()
        )
    }

    /// Reads single packets from the files. It blocks.
    pub fn packets(&self, request: &ReadPacketsRequest) -> Result<PacketBatch, String> {
        let span = PacketSpan {
            node_id: request.node_id,
            port: request.port,
            queue: request.queue,
            from_ns: request.from_ns,
            to_ns: request.to_ns,
            most: request.max_packets as usize,
        };
        let found = packets(&self.capture, &span).map_err(|e| e.to_string())?;
        let rows = &found.rows;
        let egress = |r: &tidemark_capture::PostcardRow| if r.dropped { 0 } else { r.egress_ns };
        Ok(PacketBatch {
            ingress_ns: rows.iter().map(|r| r.ingress_ns).collect(),
            egress_ns: rows.iter().map(egress).collect(),
            occupancy_bytes: rows
                .iter()
                .map(|r| r.occupancy().unwrap_or(u64::MAX))
                .collect(),
            flow_id: rows.iter().map(|r| r.flow_id).collect(),
            dropped: rows.iter().map(|r| r.dropped).collect(),
            ip_bytes: rows.iter().map(|r| r.ip_bytes).collect(),
            cwnd: rows.iter().map(|r| r.cwnd).collect(),
            truncated: found.truncated,
            tcp_seq: rows.iter().map(|r| r.tcp_seq).collect(),
            ce_marked: rows.iter().map(|r| r.ce_marked).collect(),
            oldest_ns: found.oldest_ns.unwrap_or(0),
        })
    }
}

impl Core {
    /// Creates a core that shows a finished run. `clock` is the run's time: that of the records
    /// read so far. `audit` is the log that the run left.
    pub fn of_recording(
        config: Config,
        clock: Clock,
        recording: Recording,
        audit: Option<Audit>,
    ) -> anyhow::Result<Self> {
        let address = recording.capture.display().to_string();
        let config = Config {
            collectors: vec![CollectorConfig::new(&address)],
            switches: Vec::new(),
            state_file: None,
            ..config
        };
        let mut core = Self::new(config, BTreeMap::new(), clock)?;
        core.write(|s| s.feeds = vec![Feed::of_whole_run(&address)]);
        core.recording = Some(recording);
        if let Some(audit) = audit {
            core.audit = audit;
        }
        Ok(core)
    }

    /// Returns the finished run that is shown; `None` in a live controller.
    pub fn recording(&self) -> Option<&Recording> {
        self.recording.as_ref()
    }

    /// Estimates every link at the clock's time, and tells the listeners. `unix_ms` must differ
    /// each time.
    pub fn estimate_links(&self, unix_ms: u64) {
        tick::links(self);
        self.announce(unix_ms);
    }

    /// Tells the listeners the current state; the last one again if `unix_ms` is the same.
    pub fn announce(&self, unix_ms: u64) {
        self.emit(Event::Estimated { unix_ms });
    }

    /// Shows the estimate of a whole run instead of that of its last seconds.
    pub fn conclude(&self, id: LinkId, whole: Concluded) {
        let now = self.now();
        self.write(|s| {
            // State that changes second by second does not apply to the whole.
            s.links.remove(&id);
            let link = s.link_mut(id);
            let window = WindowEstimate {
                estimate: whole.estimate,
                pure: false,
                limit_changed: false,
                traffic_changed: None,
                stationarity: StationarityWindow::default(),
            };
            link.on(Input::Estimate(window), now);
            let (advice, measured) = (Box::new(whole.advice), Box::new(whole.measured));
            link.on(Input::Advice { advice, measured }, now);
        });
    }

    /// Adds a phase of a finished run.
    pub fn add_phase(&self, phase: Phase) {
        self.write(|s| s.phases.add(phase));
    }
}
