// SPDX-License-Identifier: Apache-2.0
//! Error codes of BMv2.

use crate::errors::Failure;
use crate::store::NoEntry;
use tonic::Code;

/// Codes of BMv2's `InvalidTableOperation`.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableError {
    TableFull = 1,
    InvalidHandle = 2,
    ExpiredHandle = 3,
    CountersDisabled = 4,
    MetersDisabled = 5,
    AgeingDisabled = 6,
    InvalidTableName = 7,
    InvalidActionName = 8,
    WrongTableType = 9,
    InvalidMember = 10,
    MemberStillUsed = 11,
    MemberAlreadyInGroup = 12,
    MemberNotInGroup = 13,
    InvalidGroup = 14,
    GroupStillUsed = 15,
    EmptyGroup = 16,
    DuplicateEntry = 17,
    BadMatchKey = 18,
    DefaultEntryIsConst = 21,
    InvalidProfileName = 23,
    NoSelection = 24,
    ImmutableEntries = 25,
    BadActionData = 26,
    Error = 100,
}

/// Codes of BMv2's `InvalidCounterOperation` and `InvalidRegisterOperation`.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrayError {
    InvalidName = 1,
    InvalidIndex = 2,
    Error = 3,
}

/// Codes of BMv2's `InvalidMeterOperation`.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeterError {
    InvalidName = 1,
    InvalidIndex = 2,
    BadRatesList = 3,
    InvalidRate = 4,
    Error = 6,
}

/// Codes of BMv2's `InvalidMcOperation`.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum McError {
    TableFull = 1,
    InvalidGroup = 3,
    InvalidNode = 4,
    Error = 5,
}

impl From<Failure> for TableError {
    fn from(f: Failure) -> Self {
        tracing::debug!("runtime: {f}");
        match f.code {
            Code::ResourceExhausted => Self::TableFull,
            Code::AlreadyExists => Self::DuplicateEntry,
            _ => Self::Error,
        }
    }
}

impl From<NoEntry> for TableError {
    fn from(e: NoEntry) -> Self {
        match e {
            NoEntry::Never => Self::InvalidHandle,
            NoEntry::Expired => Self::ExpiredHandle,
        }
    }
}

/// Defines conversions for codes that do not distinguish kinds of failures.
macro_rules! any_failure_is_an_error {
    ($($code:ty),*) => {$(
        impl From<Failure> for $code {
            fn from(f: Failure) -> Self {
                tracing::debug!("runtime: {f}");
                Self::Error
            }
        }
    )*};
}

any_failure_is_an_error!(ArrayError, MeterError, McError);
