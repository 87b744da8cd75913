// SPDX-License-Identifier: Apache-2.0
//! Compares the router experiment of "Sizing Router Buffers" with the predictions.

#![allow(clippy::unwrap_used)] // helpers of tests

use tidemark_advice::predict;
use tidemark_rules::{CongestionControl, Traffic, srb, utb};

/// SRB Fig. 14: buffer (packets) and utilisation of the router, for 0.5, 1, 2, 3 times BDP/√n.
const ROUTER: [(f64, [(f64, f64); 4]); 4] = [
    (
        100.0,
        [(64.0, 94.9), (129.0, 98.1), (258.0, 99.8), (387.0, 99.7)],
    ),
    (
        200.0,
        [(46.0, 98.6), (91.0, 99.7), (182.0, 99.8), (273.0, 99.8)],
    ),
    (
        300.0,
        [(37.0, 99.6), (74.0, 99.8), (148.0, 99.8), (222.0, 100.0)],
    ),
    (
        400.0,
        [(32.0, 99.5), (64.0, 100.0), (128.0, 100.0), (192.0, 99.9)],
    ),
];

#[test]
fn router_experiment() {
    let m = |n: f64| {
        let mut m = Traffic::described(155e6, 1291.0 * 1500.0 * 8.0 / 155e6, n, 1500.0);
        m.congestion_control = CongestionControl::Reno;
        m
    };
    for (n, cells) in ROUTER {
        let base = srb::stanford_bytes(155e6 / 8.0, m(n).t_mean_s.value, n).unwrap() / 1500.0;
        let mut last = 0.0;
        for ((buffer, router), factor) in cells.into_iter().zip([0.5, 1.0, 2.0, 3.0]) {
            // The paper's own buffer sizes follow this rule, up to rounding.
            assert!((factor * base - buffer).abs() <= 2.0, "{n} {factor}");
            // UTB Theorem 7 is a lower bound of the measurements.
            let floor = utb::utilisation_floor(n, 1.0).unwrap();
            assert!(router / 100.0 >= floor, "{n} {buffer}");
            // With the buffer of the √n rule the router was at 98 % or above.
            assert!(factor < 1.0 || router >= 98.0);
            let p = predict(&m(n), buffer * 1500.0).unwrap().utilisation;
            println!("n {n} B {buffer}: predicted {p:?} router {router}");
            assert!(
                (p.value - router / 100.0).abs() < 0.05,
                "{n} {buffer} {p:?}"
            );
            assert!(p.value >= last, "more buffer, no less utilisation");
            last = p.value;
        }
    }
}
