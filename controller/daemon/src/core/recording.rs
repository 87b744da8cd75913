// SPDX-License-Identifier: Apache-2.0
//! A finished run in the place of collectors: its capture is replayed into the core,
//! and single packets are read from its files. Nothing is written then.

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
    /// Its end; `None` of one that was not closed.
    pub ended_unix_ms: Option<u64>,
    reading: Mutex<Reading>,
}

/// How far the reading has come.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// Part of the rows that were read, 0 to 1.
    pub share: f64,
    /// Of the run what was read, s.
    pub seconds: f64,
    /// Remarks on the capture, in words.
    pub notes: Vec<String>,
    /// Why it was not read to its end.
    pub problem: Option<String>,
}

/// Results shown of a link once the whole run was read.
#[derive(Debug)]
pub struct Concluded {
    /// Over the run, or over its last limit.
    pub estimate: Arc<LinkEstimate>,
    /// Advice of the sizing rules.
    pub advice: Advice,
    /// The traffic that the advice rests on.
    pub measured: Traffic,
}

impl Recording {
    /// A capture of which nothing was read yet.
    pub fn new(capture: PathBuf, started_unix_ms: u64, ended_unix_ms: Option<u64>) -> Self {
        Self {
            capture,
            started_unix_ms,
            ended_unix_ms,
            reading: Mutex::default(),
        }
    }

    /// How far the reading has come.
    pub fn reading(&self) -> Reading {
        self.reading.lock().clone()
    }

    /// The reading has come further.
    pub fn read(&self, change: impl FnOnce(&mut Reading)) {
        change(&mut self.reading.lock());
    }

    /// Why nothing can be changed, and what can be done.
    pub fn refusal(&self) -> String {
        format!(
            "this is a finished run, read from {}: nothing can be set or started; \
             `tidemark-controller run` controls a live switch",
            self.capture.display()
        )
    }

    /// Single packets, from the files. It blocks.
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
    /// A core that shows a finished run. `clock` is the run's: it stands where the
    /// reading stands. `audit` is the log that the run left.
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

    /// The finished run that is shown; `None` of a live controller.
    pub fn recording(&self) -> Option<&Recording> {
        self.recording.as_ref()
    }

    /// Estimates every link where the clock stands, and tells the listeners.
    /// `unix_ms` is another one each time.
    pub fn estimate_links(&self, unix_ms: u64) {
        tick::links(self);
        self.announce(unix_ms);
    }

    /// Tells the listeners what there is; once more the same where `unix_ms` is.
    pub fn announce(&self, unix_ms: u64) {
        self.emit(Event::Estimated { unix_ms });
    }

    /// Shows the estimate of a whole run in the place of that of its last seconds.
    pub fn conclude(&self, id: LinkId, whole: Concluded) {
        let now = self.now();
        self.write(|s| {
            // State held steady second by second does not bear on the whole.
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
