// SPDX-License-Identifier: Apache-2.0
//! The tracepoints to read, and how their samples are laid out in this kernel.

use super::error::OpenError;
use super::options::Options;
use super::tracefs;
use crate::format::{Format, FormatError};
use crate::layout::Layout;

/// A tracepoint other than `tcp_probe` that a kernel does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// `tcp_retransmit_skb`
    Retransmits,
    /// `tcp_cong_state_set`, which came with Linux 5.19.
    CongStates,
}

impl Missing {
    /// Returns a sentence on what is not seen without it.
    #[must_use]
    pub fn lost(self) -> &'static str {
        match self {
            Self::Retransmits => {
                "this kernel has no tracepoint tcp:tcp_retransmit_skb: senders do not report \
                 retransmissions; samples and everything derived from them are complete"
            }
            Self::CongStates => {
                "this kernel has no tracepoint tcp:tcp_cong_state_set, which came with Linux 5.19: \
                 changes of senders' congestion states are not stored as events; samples and \
                 everything derived from them are complete"
            }
        }
    }
}

pub(super) struct Tracepoints {
    pub layout: Layout,
    /// Names and ids of the tracepoints found.
    pub ids: Vec<(&'static str, u16)>,
    pub missing: Vec<Missing>,
}

impl Tracepoints {
    pub(super) fn find(options: &Options) -> Result<Self, OpenError> {
        let tracefs = tracefs::find(options)?;
        let mut found = Self {
            layout: Layout::default(),
            ids: Vec::new(),
            missing: Vec::new(),
        };
        type Set = fn(&mut Layout, &Format) -> Result<(), FormatError>;
        let wanted: [(bool, &str, Set, Option<Missing>); 3] = [
            (true, "tcp_probe", Layout::set_probe, None),
            (
                options.retransmits,
                "tcp_retransmit_skb",
                Layout::set_retransmit,
                Some(Missing::Retransmits),
            ),
            (
                options.cong_states,
                "tcp_cong_state_set",
                Layout::set_cong_state,
                Some(Missing::CongStates),
            ),
        ];
        for (_, name, set, without) in wanted.into_iter().filter(|w| w.0) {
            match (tracefs::format(&tracefs, name), without) {
                (Ok(format), _) => {
                    set(&mut found.layout, &format)?;
                    found.ids.push((name, format.id));
                }
                (Err(OpenError::NoTracepoint { .. }), Some(missing)) => found.missing.push(missing),
                (Err(error), _) => return Err(error),
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The format files of Linux 5.15: `tcp_cong_state_set` came later, and `tcp_probe` has
    /// neither the family nor the addresses of packet and socket.
    const LINUX_5_15: [(&str, &str); 2] = [
        (
            "tcp_probe",
            include_str!("../../fixtures/tcp_probe.linux-5.15.format"),
        ),
        (
            "tcp_retransmit_skb",
            include_str!("../../fixtures/tcp_retransmit_skb.linux-5.15.format"),
        ),
    ];

    fn tracefs(events: &[(&str, &str)]) -> (tempfile::TempDir, Options) {
        let dir = tempfile::tempdir().unwrap();
        for (name, format) in events {
            let event = dir.path().join("events/tcp").join(name);
            std::fs::create_dir_all(&event).unwrap();
            std::fs::write(event.join("format"), format).unwrap();
        }
        let options = Options {
            tracefs: Some(dir.path().to_path_buf()),
            ..Options::default()
        };
        (dir, options)
    }

    #[test]
    fn linux_5_15_is_read_without_congestion_states() {
        let (_dir, options) = tracefs(&LINUX_5_15);
        let found = Tracepoints::find(&options).unwrap();
        let names: Vec<_> = found.ids.iter().map(|i| i.0).collect();
        assert_eq!(names, ["tcp_probe", "tcp_retransmit_skb"]);
        assert_eq!(found.missing, [Missing::CongStates]);
        assert!(Missing::CongStates.lost().contains("Linux 5.19"));
        // Without asking for them, nothing is missing.
        let options = Options {
            cong_states: false,
            ..options
        };
        assert!(Tracepoints::find(&options).unwrap().missing.is_empty());
    }

    #[test]
    fn without_tcp_probe_there_is_nothing_to_read() {
        let (_dir, options) = tracefs(&LINUX_5_15[1..]);
        let error = Tracepoints::find(&options).err().unwrap().to_string();
        assert!(error.contains("no tracepoint tcp:tcp_probe"), "{error}");
    }
}
