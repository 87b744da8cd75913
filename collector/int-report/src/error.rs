// SPDX-License-Identifier: Apache-2.0
//! Reasons for refusing input. `LABELS` has a fixed word per reason, for counters.

use thiserror::Error;

/// Why a UDP payload is not a well-formed telemetry report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "the message of each variant says what it is")]
pub enum DecodeError {
    #[error("empty UDP payload")]
    Empty,
    #[error("unknown report version {version} (known: 0 = v0.5, 1 = v1.0, 2 = v2.0)")]
    UnknownVersion { version: u8 },
    #[error("{have_bytes} bytes are too short for the header, which needs {need_bytes}")]
    ShortHeader {
        have_bytes: usize,
        need_bytes: usize,
    },
    #[error("group header without any individual report")]
    NoReport,
    #[error("report at byte {offset} reaches to byte {end}, beyond the end of the UDP payload")]
    ReportBeyondEnd { offset: usize, end: usize },
    #[error("report at byte {offset} is too short for its fixed contents")]
    ShortReport { offset: usize },
    #[error("metadata of the report at byte {offset} reaches beyond the end of the report")]
    MetadataBeyondReport { offset: usize },
    #[error("report at byte {offset} announces more metadata than its metadata length holds")]
    MetadataTooShort { offset: usize },
    #[error("header length of {words} words is below the minimum of 4")]
    BadHeaderLength { words: u8 },
    #[error("unknown next protocol {code} in report version {version}")]
    UnknownNextProtocol { version: u8, code: u8 },
    #[error("not a telemetry report: {what} (another protocol sends to this port)")]
    NotAReport { what: &'static str },
}

impl DecodeError {
    /// Every label, so that counters can exist from the start.
    pub const LABELS: [&'static str; 11] = [
        "empty",
        "unknown_version",
        "short_header",
        "no_report",
        "report_beyond_end",
        "short_report",
        "metadata_beyond_report",
        "metadata_too_short",
        "bad_header_length",
        "unknown_next_protocol",
        "not_a_report",
    ];

    /// Position of this reason in [`Self::LABELS`].
    #[must_use]
    pub fn index(&self) -> usize {
        match self {
            Self::Empty => 0,
            Self::UnknownVersion { .. } => 1,
            Self::ShortHeader { .. } => 2,
            Self::NoReport => 3,
            Self::ReportBeyondEnd { .. } => 4,
            Self::ShortReport { .. } => 5,
            Self::MetadataBeyondReport { .. } => 6,
            Self::MetadataTooShort { .. } => 7,
            Self::BadHeaderLength { .. } => 8,
            Self::UnknownNextProtocol { .. } => 9,
            Self::NotAReport { .. } => 10,
        }
    }
}

/// Why the truncated original packet of a report could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "the message of each variant says what it is")]
pub enum InnerError {
    #[error("the report holds no packet")]
    NoPacket,
    #[error("the inner contents are not of a known packet type")]
    NotAPacket,
    #[error("inner packet cut within its {layer} header ({have_bytes} bytes of it left)")]
    Short {
        layer: &'static str,
        have_bytes: usize,
    },
    #[error("EtherType 0x{ethertype:04x} is not IP")]
    NotIp { ethertype: u16 },
    #[error("IP version {version} instead of the announced {expected}")]
    WrongVersion { version: u8, expected: u8 },
    #[error("{layer} header length {length_bytes} is impossible")]
    BadLength {
        layer: &'static str,
        length_bytes: usize,
    },
    #[error("more than {max} IPv6 extension headers")]
    TooManyExtensions { max: usize },
}

impl InnerError {
    /// Every label, so that counters can exist from the start.
    pub const LABELS: [&'static str; 7] = [
        "no_packet",
        "not_a_packet",
        "short",
        "not_ip",
        "wrong_version",
        "bad_length",
        "too_many_extensions",
    ];

    /// Position of this reason in [`Self::LABELS`].
    #[must_use]
    pub fn index(&self) -> usize {
        match self {
            Self::NoPacket => 0,
            Self::NotAPacket => 1,
            Self::Short { .. } => 2,
            Self::NotIp { .. } => 3,
            Self::WrongVersion { .. } => 4,
            Self::BadLength { .. } => 5,
            Self::TooManyExtensions { .. } => 6,
        }
    }
}
