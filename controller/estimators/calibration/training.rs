// SPDX-License-Identifier: Apache-2.0
//! Names of the runs to which numbers are fitted.

/// Runs to which the weights are fitted. All other runs test the weights.
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
