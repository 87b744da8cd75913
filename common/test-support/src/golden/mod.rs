// SPDX-License-Identifier: Apache-2.0
//! Simulated runs with known truth, for tests.
//!
//! [`Run::golden`] gives a run of the golden set, which is in the repository.
//! [`Run::read`] gives a run as the simulator wrote it; the whole runs, if present, lie next to the
//! repository ([`shared`]). A test of those is declared with [`shared_data_test!`]: cargo reports
//! it as *ignored* where the runs are not, and `TIDEMARK_SHARED_DATA=required` makes it fail there.

mod error;
mod packed;
mod pcap;
mod report;
mod run;
mod trace;

pub use report::Report;
pub use run::{GOLDEN_RUNS, Run, SharedDataMissing, shared, shared_runs};

/// Declares a test that needs the whole runs in `../shared/data`.
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

/// Declares a test that needs the whole runs in `../shared/data`. They are not
/// there, so the test is ignored.
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
