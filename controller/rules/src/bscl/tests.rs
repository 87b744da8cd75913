// SPDX-License-Identifier: Apache-2.0
use super::formulas::*;
use proptest::prelude::*;

const M: f64 = 1500.0;

fn link(c_bps: f64, t_e_ms: f64, n_b: f64) -> Link {
    Link {
        lbp_bytes_per_s: c_bps / 8.0,
        t_e_s: t_e_ms / 1e3,
        segment_bytes: M,
        n_b,
    }
}

#[test]
fn bscl_column_of_table_1() {
    for (t_e_ms, n_b, packets) in [
        (48.5, 100.0, 688.0),
        (74.7, 400.0, 3200.0),
        (40.3, 300.0, 2459.0),
    ] {
        let at = link(0.9 * 50e6, t_e_ms, n_b);
        let b_p = loss_bytes(at, 0.01).unwrap() / M;
        assert!((b_p - packets).abs() < 1.5, "N_b={n_b}: {b_p}");
        let q = loss_fraction(n_b, DEFAULT_ALPHA * n_b).unwrap();
        let b = buffer_bytes(at, 6.25e6, q, Some(0.01)).unwrap() / M;
        assert!((b - packets).abs() < 1.5, "N_b={n_b}: {b}");
    }
}

#[test]
fn loss_fraction_of_one_and_a_hundred_flows() {
    assert_eq!(loss_fraction(1.0, 0.55).unwrap(), 1.0);
    assert_eq!(loss_fraction(1.0, 7.0).unwrap(), 1.0);
    assert!((loss_fraction(100.0, 55.0).unwrap() - 0.4246).abs() < 5e-5);
}

#[test]
fn k_p_at_one_and_two_percent() {
    assert!((k_p(0.01).unwrap() - 8.7).abs() < 1e-9);
    assert!((k_p(0.02).unwrap() - 6.152).abs() < 5e-4);
    assert!(k_p(0.0).is_err());
    assert!(k_p(1.0).is_err());
}

#[test]
fn full_synchronisation_is_the_deterministic_model() {
    let at = link(45e6, 60.0, 20.0);
    assert!((utilisation_bytes(at, 1.0).unwrap() - at.bdp_bytes()).abs() < 1e-6);
    assert!(utilisation_bytes(at, 0.0).unwrap() < 0.0);
}

#[test]
fn few_flows_get_the_full_product() {
    for n_b in [1.0, 4.0] {
        let at = link(45e6, 60.0, n_b);
        // C·T_e, with the whole capacity (§VII).
        assert_eq!(buffer_bytes(at, 6.25e6, 0.3, None).unwrap(), 375_000.0);
    }
    let at = link(45e6, 60.0, 5.0);
    assert!(buffer_bytes(at, 6.25e6, 0.3, None).unwrap() < at.bdp_bytes());
}

#[test]
fn buffer_of_the_loss_bound_gives_that_loss() {
    let at = link(45e6, 60.0, 200.0);
    for p in [0.005, 0.01, 0.03] {
        let b = loss_bytes(at, p).unwrap();
        assert!((loss_rate_at(at, b).unwrap() - p).abs() < 1e-9);
    }
}

/// R = 0.87·M/(T·√p) (eq. 2).
fn flow_bytes_per_s(rtt_s: f64, loss_rate: f64) -> f64 {
    SQRT_CONSTANT * M / (rtt_s * loss_rate.sqrt())
}

#[test]
fn flow_rates_add_up_to_the_link() {
    let at = link(45e6, 60.0, 50.0);
    let b = 500.0 * M;
    let p = loss_rate_at(at, b).unwrap();
    let rtt = at.t_e_s + b / at.lbp_bytes_per_s;
    let sum = 50.0 * flow_bytes_per_s(rtt, p);
    assert!((sum / at.lbp_bytes_per_s - 1.0).abs() < 1e-9);
}

#[test]
fn crossover_makes_both_equal() {
    let at = link(45e6, 60.0, 1.0);
    let n = crossover_flows(at, DEFAULT_ALPHA, 0.01).unwrap().unwrap();
    let there = Link { n_b: n, ..at };
    let q = loss_fraction(n, DEFAULT_ALPHA * n).unwrap();
    let difference = loss_bytes(there, 0.01).unwrap() - utilisation_bytes(there, q).unwrap();
    assert!(difference.abs() < 1.0, "{difference}");
    assert!((20.0..40.0).contains(&n), "{n}");
    let tiny = Link { t_e_s: 1e-6, ..at };
    assert_eq!(crossover_flows(tiny, DEFAULT_ALPHA, 0.01).unwrap(), None);
}

#[test]
fn fpq_and_delay() {
    assert_eq!(fpq_bytes(M, 100.0).unwrap(), 900_000.0);
    assert_eq!(delay_bytes(6.25e6, 0.01).unwrap(), 62_500.0);
}

#[test]
fn nonsense_is_refused_by_name() {
    let good = link(45e6, 60.0, 20.0);
    assert_eq!(
        utilisation_bytes(Link { t_e_s: 0.0, ..good }, 0.5)
            .unwrap_err()
            .name,
        "T_e (s)"
    );
    assert_eq!(
        loss_bytes(Link { n_b: 0.0, ..good }, 0.01)
            .unwrap_err()
            .name,
        "N_b"
    );
    assert_eq!(loss_rate_at(good, -1.0).unwrap_err().name, "B (bytes)");
    assert_eq!(utilisation_bytes(good, 1.1).unwrap_err().name, "q");
    assert!(loss_fraction(10.0, 0.0).is_err());
    assert!(loss_fraction(0.5, 1.0).is_err());
    assert!(delay_bytes(0.0, 1.0).is_err());
    assert_eq!(product_bytes(1e6, 0.0).unwrap_err().name, "T (s)");
    assert!(product_bytes(0.0, 0.1).is_err());
    assert!(product_bytes(f64::NAN, 0.1).is_err());
    assert!(crossover_flows(good, 0.0, 0.01).is_err());
}

prop_compose! {
    fn links()(c in 1e5f64..1e9, t in 1e-3f64..0.5, m in 500.0f64..9000.0, n in 1.0f64..500.0) -> Link {
        Link { lbp_bytes_per_s: c, t_e_s: t, segment_bytes: m, n_b: n }
    }
}

proptest! {
    #[test]
    fn q_is_a_fraction_and_monotone(n in 1.0f64..1e4, l in 0.01f64..1e4) {
        let q = loss_fraction(n, l).unwrap();
        prop_assert!((0.0..=1.0).contains(&q));
        prop_assert!(loss_fraction(n, l * 1.1).unwrap() >= q);
        prop_assert!(loss_fraction(n * 1.1, l).unwrap() <= q);
    }

    #[test]
    fn utilisation_buffer_grows_with_synchrony_and_shrinks_with_flows(at in links(), q in 0.0f64..0.99) {
        let b = utilisation_bytes(at, q).unwrap();
        prop_assert!(utilisation_bytes(at, q + 0.01).unwrap() >= b);
        let more = Link { n_b: at.n_b + 1.0, ..at };
        prop_assert!(utilisation_bytes(more, q).unwrap() <= b);
        prop_assert!(b <= at.bdp_bytes() * (1.0 + 1e-9));
    }

    #[test]
    fn loss_falls_with_buffer_and_grows_with_flows(at in links(), b in 0.0f64..1e7) {
        let p = loss_rate_at(at, b).unwrap();
        prop_assert!((0.0..=1.0).contains(&p));
        prop_assert!(loss_rate_at(at, b * 1.1 + 1.0).unwrap() <= p);
        let more = Link { n_b: at.n_b + 1.0, ..at };
        prop_assert!(loss_rate_at(more, b).unwrap() >= p);
    }

    #[test]
    fn tighter_loss_bound_needs_more(at in links(), p in 0.001f64..0.05) {
        prop_assert!(loss_bytes(at, p).unwrap() > loss_bytes(at, p * 1.1).unwrap());
        let q = loss_fraction(at.n_b, 0.55 * at.n_b).unwrap();
        prop_assert!(buffer_bytes(at, 2.0 * at.lbp_bytes_per_s, q, Some(p)).unwrap() >= 0.0);
    }

    #[test]
    fn units_scale(at in links(), q in 0.0f64..1.0) {
        // Quantities in bytes that are ten times as large give a buffer ten times as large.
        let big = Link { lbp_bytes_per_s: at.lbp_bytes_per_s * 10.0, segment_bytes: at.segment_bytes * 10.0, ..at };
        let (small, large) = (utilisation_bytes(at, q).unwrap(), utilisation_bytes(big, q).unwrap());
        prop_assert!((large - 10.0 * small).abs() <= 1e-6 * (1.0 + large.abs() + at.bdp_bytes()));
    }
}
