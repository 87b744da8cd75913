// SPDX-License-Identifier: Apache-2.0
//! Buffer-sizing rules and the advisor; pure, no I/O.
//!
//! A rule is a value ([`Rule`]): its formula, the goals it serves, its assumptions about the
//! traffic, and its size. Each paper has a folder with the modules `formulas` and `rules`; the list
//! is [`RULES`].
//!
//! | folder | source |
//! |---|---|
//! | [`bscl`] | Dhamdhere, Jiang, Dovrolis: Buffer Sizing for Congested Internet Links, INFOCOM 2005 |
//! | [`ngi`] | Augé, Roberts: Buffer Sizing for Elastic Traffic, NGI 2006 |
//! | [`srb`] | Appenzeller, Keslassy, McKeown: Sizing Router Buffers, SIGCOMM 2004 |
//! | [`utb`] | Spang, Arslan, McKeown: Updating the Theory of Buffer Sizing, Performance 2021 |
//!
//! [`evaluate`] applies every rule to the measured [`Traffic`]. Advice and predictions of the
//! effect of a limit are in `tidemark-advice`.
//!
//! # Units
//! Rates are in bits/s if the name ends in `_bps` and in bytes/s if it ends in `_bytes_per_s`.
//! Sizes are in bytes as the queue counts them (frames without FCS on v1model), times in seconds
//! unless the name says otherwise. Every formula returns [`RuleError`] if an argument is out of
//! range.
//!
//! # Symbols of the papers
//!
//! `docs/reference/glossary.md` defines them.
//!
//! | symbol | name in code |
//! |---|---|
//! | C | `drain_bytes_per_s`, `queue_drain_bps` |
//! | C_e, C_e/C | `lbp_bytes_per_s`, `c_e_share` |
//! | M | `segment_bytes` |
//! | N, n | `n_active`, `flows` |
//! | N_b | `n_b` |
//! | Ñ_b | `crossover_flows` |
//! | T_i | `base_rtts_s` |
//! | T̄ | `t_mean_s` |
//! | T_e | `t_e_s` |
//! | BDP | `bdp_bytes` |
//! | L̄ | `mean_loss_burst` |
//! | α | `alpha` |
//! | q | `loss_fraction`, `q_observed` |
//! | K_p | `k_p` |
//! | B | `buffer_bytes`, `limit_bytes` |
//! | B_ρ, B_p | `utilisation_bytes`, `loss_bytes` |
//! | ρ̂, γ | `Targets::utilisation` |
//! | p̂ | `Targets::loss_rate`, `loss_bound` |
//! | d̂ | `Targets::delay_ms`, `delay_bound_s` |
//! | ρ | `rho`, `rho_other` |
//! | β | `beta` |
//! | Δ | `delta` |
//! | D, s | `d_mean`, `s_mean` |
//! | δ | `bbr_delta`, `delta_probability` |
//! | μ | `utilisation` |
//! | W | `window` |
//! | k | `scale` |
//! | E\[X\], E\[X²\] | `mean_pkts`, `mean_square_pkts2` |

#![forbid(unsafe_code)]
#![warn(missing_docs)]
// Private modules hold items that are public within the crate only.
#![allow(unreachable_pub)]

pub mod bisection;
pub mod bscl;
pub mod dctcp;
pub mod error;
pub mod limit;
pub mod list;
pub mod ngi;
pub mod quantiles;
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
    BATCH_S, Batches, CongestionControl, FlowMix, LossMix, Observed, Occupancy, Regime, Synchrony,
    Traffic, TriedLimit,
};
