// SPDX-License-Identifier: Apache-2.0
//! Which runs numbers are fitted to.

/// Runs that weights are fitted to. The others judge them.
pub(crate) const TRAINING: [&str; 8] = [
    "bbr_n20",
    "bscl_n60_bdp",
    "cubic_n100_b3326",
    "cubic_n100_b904",
    "elastic_n2_b100",
    "late_reno_n60",
    "medium_flows",
    "one_cubic_half_bdp",
];
