// SPDX-License-Identifier: Apache-2.0
//! Buffer-sizing rules and the advisor; pure, no I/O.
//!
//! A rule is a value ([`Rule`]): its formula, the goals it serves, what it
//! assumes of the traffic, and its size. There is one folder for each paper, with
//! the modules `formulas` and `rules`, and one list, [`RULES`].
//!
//! | folder | source |
//! |---|---|
//! | [`bscl`] | Dhamdhere, Jiang, Dovrolis: Buffer Sizing for Congested Internet Links, INFOCOM 2005 |
//! | [`ngi`] | Augé, Roberts: Buffer Sizing for Elastic Traffic, NGI 2006 |
//! | [`srb`] | Appenzeller, Keslassy, McKeown: Sizing Router Buffers, SIGCOMM 2004 |
//! | [`utb`] | Spang, Arslan, McKeown: Updating the Theory of Buffer Sizing, Performance 2021 |
//!
//! [`evaluate`] applies every rule to the measured [`Traffic`]. Advice, and what to
//! expect of a limit, are in `tidemark-advice`.
//!
//! # Units
//! Rates are in bits/s where the name ends in `_bps` and in bytes/s where it ends
//! in `_bytes_per_s`. Sizes are in bytes as the queue counts them (frames without
//! FCS on v1model), times in seconds unless the name says otherwise. Every formula
//! returns [`RuleError`] where an argument makes no sense.
//!
//! # Symbols of the papers
//!
//! | symbol | name in code | meaning |
//! |---|---|---|
//! | C | `drain_bytes_per_s`, `queue_drain_bps` | rate at which the queue drains |
//! | C_e, C_e/C | `lbp_bytes_per_s`, `c_e_share` | what locally bottlenecked persistent (LBP) flows carry of it |
//! | M | `segment_bytes` | segment of those flows |
//! | N, n | `n_active`, `flows` | flows at the link |
//! | N_b | `n_b` | flows bottlenecked at the link |
//! | Ñ_b | `crossover_flows` | N_b from which the loss bound decides |
//! | T_i | `base_rtts_s` | base RTTs, without queueing |
//! | T̄ | `t_mean_s` | their arithmetic mean |
//! | T_e | `t_e_s` | their harmonic mean |
//! | BDP | `bdp_bytes` | C·T_e or C_e·T_e |
//! | L̄ | `mean_loss_burst` | drops per loss event |
//! | α | `alpha` | L̄/N_b |
//! | q | `loss_fraction`, `q_observed` | fraction of the flows that lose in a loss event |
//! | K_p | `k_p` | 0.87/√p̂ |
//! | B | `buffer_bytes`, `limit_bytes` | buffer; the limit in force |
//! | B_ρ, B_p | `utilisation_bytes`, `loss_bytes` | buffer for utilisation, for loss |
//! | ρ̂, γ | `Targets::utilisation` | utilisation asked for |
//! | p̂ | `Targets::loss_rate`, `loss_bound` | loss rate allowed |
//! | d̂ | `Targets::delay_ms`, `delay_bound_s` | queueing delay allowed |
//! | ρ | `rho`, `rho_other` | offered load over C; its part that does not react |
//! | β | `beta` | factor of the window on loss |
//! | Δ | `delta` | every window is within a factor Δ of BDP/n |
//! | D, s | `d_mean`, `s_mean` | flows that reduce in one RTT; those beyond what growth makes up for |
//! | δ | `bbr_delta`, `delta_probability` | accepted probability that the queue empties |
//! | μ | `utilisation` | lowest utilisation |
//! | W | `window` | aggregate window over C·T_e |
//! | k | `scale` | windows at a limit over those at the limit in force |
//! | E\[X\], E\[X²\] | `mean_pkts`, `mean_square_pkts2` | moments of slow-start bursts |

#![forbid(unsafe_code)]
#![warn(missing_docs)]
// Private modules here hold items that the crate takes as a whole.
#![allow(unreachable_pub)]

pub mod bisection;
pub mod bscl;
pub mod error;
pub mod limit;
pub mod list;
pub mod ngi;
pub mod range;
pub mod rule;
pub mod sawtooth;
pub mod srb;
pub mod targets;
pub mod traffic;
pub mod utb;

pub use error::{RuleError, digits};
pub use limit::Limit;
pub use list::{RULES, evaluate};
pub use range::Range;
pub use rule::{Condition, Input, Rule, RuleId, RuleResult};
pub use targets::{Goal, Options, Targets};
pub use traffic::{
    CongestionControl, FlowMix, LossMix, Observed, Occupancy, Regime, Synchrony, Traffic,
    TriedLimit,
};
