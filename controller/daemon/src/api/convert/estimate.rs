// SPDX-License-Identifier: Apache-2.0
//! Estimates.

use super::{fields, variants};

variants! {
    tidemark_rules::Regime => Regime { Transparent, Elastic, Overload, Unknown }
    tidemark_rules::CongestionControl => CongestionControl { Reno, Cubic, Bbr, Scalable, Unknown }
    tidemark_estimators::Evidence => Evidence { Probed, Passive, Mixed, Assumed }
    tidemark_estimators::FlowClass => FlowClass { Lbp, Rbp, Wl, Short, Other }
}

fields! {
    tidemark_estimators::Estimate => Estimate { value, low, high, evidence, samples }
    tidemark_estimators::RegimeEstimate => RegimeEstimate { value, evidence, why }
    tidemark_estimators::Saturable => Saturable { value, bounded_share }
    tidemark_estimators::Estimates => Estimates {
        n_b, alpha, mean_loss_burst, median_loss_burst, q, delta, delta_low, delta_high, jain,
        window_p01_pkts, d_mean, d_max, s, condition_fraction, t_e_ms, t_mean_ms, c_e_share, rho,
        rho_other, regime, saturable,
    }
    tidemark_estimators::FlowKeyText => FlowKey { src, dst, src_port, dst_port, protocol }
    tidemark_estimators::FlowEstimate => Flow {
        flow, key, class, confidence, p_lbp, why, evidence, rate_bps, packets, drops,
        active_fraction, cwnd, srtt_ms, base_rtt_ms, congestion_control, beta, reductions_local,
        reductions_remote,
    }
    tidemark_estimators::Utilisation => Utilisation { mean, non_empty, p01, windows }
    tidemark_estimators::Quantiles => Quantiles { mean, p50, p99, max }
    tidemark_rules::Occupancy => Occupancy { arrivals, met_empty, bytes }
    tidemark_estimators::ClassCounts => ClassCounts { lbp, rbp, wl, short, other }
    tidemark_estimators::LinkEstimate => LinkEstimate {
        node, port, node_name, port_name, from_ns, to_ns, capacity_bps, queue_drain_bps,
        segment_bytes, limit_bytes, utilisation, loss_rate, arrivals, drops, ce_marked, delay_ms,
        occupancy_bytes, occupancy, reports_lost, loss_events, overshoot_drops, estimates, classes,
        flows, caveats,
    }
}
