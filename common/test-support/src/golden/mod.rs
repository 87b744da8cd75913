// SPDX-License-Identifier: Apache-2.0
//! Simulated runs with known truth, for tests.
//!
//! [`Run::golden`] returns a run of the golden set, which is in the repository. [`Run::read`]
//! reads a run as written by the simulator; the complete runs, if present, are next to the
//! repository ([`shared`]). Tests with them are declared with [`shared_data_test!`]: cargo reports
//! them as *ignored* if the runs are missing; `TIDEMARK_SHARED_DATA=required` makes them fail.

mod error;
mod packed;
mod pcap;
mod report;
mod run;
mod trace;

pub use report::Report;
pub use run::{GOLDEN_RUNS, Run, SharedDataMissing, shared, shared_runs};

/// Declares a test that needs the complete runs in `../shared/data`.
///
/// ```ignore
/// test_support::shared_data_test! {
///     /// Every report is read.
///     fn every_report_is_read() {
///         let runs = test_support::golden::shared("ns3").unwrap();
///     }
/// }
/// ```
#[cfg(shared_data)]
#[macro_export]
macro_rules! shared_data_test {
    ($($(#[$attribute:meta])* fn $name:ident() $body:block)+) => {
        $($(#[$attribute])* #[test] fn $name() $body)+
    };
}

/// Declares a test that needs the complete runs in `../shared/data`. They are
/// missing, so the test is ignored.
#[cfg(not(shared_data))]
#[macro_export]
macro_rules! shared_data_test {
    ($($(#[$attribute:meta])* fn $name:ident() $body:block)+) => {
        $(
            $(#[$attribute])*
            #[test]
            #[ignore = "needs ../shared/data next to the repository: see common/test-support/golden/README.md"]
            fn $name() $body
        )+
    };
}
