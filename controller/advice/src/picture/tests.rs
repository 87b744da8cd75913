// SPDX-License-Identifier: Apache-2.0
use super::*;
use crate::Verdict;
use tidemark_rules::{Options, Targets, Traffic};

fn about() -> About {
    About {
        link: "s1 <α>, port 5".into(),
        run: Some("phase first".into()),
        date: Some("2026-11-27".into()),
    }
}

fn verdict() -> Verdict {
    let mut traffic = Traffic::described(100e6, 0.02, 12.0, 1514.0);
    traffic.limit_bytes = Some(312_500.0);
    traffic.seconds = 30.0;
    traffic.observed = Some(tidemark_rules::Observed {
        utilisation: 0.999,
        loss_rate: 0.006,
        drops: 1500,
        delay_mean_ms: 20.0,
        delay_p50_ms: 20.5,
        delay_p99_ms: 24.9,
        delay_max_ms: 25.0,
    });
    let targets = Targets {
        delay_ms: Some(30.0),
        ..Targets::default()
    };
    Verdict::of(&traffic, &targets, &Options::default())
}

#[test]
fn the_figure_holds_what_was_measured_and_advised() {
    let v = verdict();
    let f = Figure::of(&v, &about()).unwrap();
    assert_eq!(f.in_force_bytes, Some(312_500.0));
    let inside = |b: f64| (f.limit.low..=f.limit.high).contains(&b);
    assert!(f.advised_bytes.unwrap().into_iter().all(inside));
    let measured: Vec<f64> = f.panels.iter().map(|p| p.measured[0].value).collect();
    for (value, expected) in measured.iter().zip([99.9, 0.6, 20.0]) {
        assert!((value - expected).abs() < 1e-9, "{measured:?}");
    }
    // At the measured limit the curve is the measurement.
    for panel in &f.panels {
        let curve = match panel.mean.is_empty() {
            true => &panel.curve,
            false => &panel.mean,
        };
        let there = curve.iter().find(|p| p.limit_bytes == 312_500.0);
        let (there, is) = (there.unwrap().value, panel.measured[0].value);
        assert!(
            (there - is).abs() <= 0.02 * is,
            "{}: {there} {is}",
            panel.name
        );
    }
}

#[test]
fn the_drawing_is_well_formed_and_says_where_it_is_from() {
    let f = Figure::of(&verdict(), &about()).unwrap();
    for theme in [Theme::Light, Theme::Dark] {
        let drawing = svg(&f, theme, &Layout::PAPER);
        assert!(
            drawing.contains("s1 &lt;α&gt;, port 5: buffer"),
            "{drawing}"
        );
        for part in [
            "phase first, 2026-11-27",
            "utilisation",
            "loss",
            "delay",
            "packets",
        ] {
            assert!(drawing.contains(part), "{part}");
        }
        assert!(!drawing.contains("NaN") && !drawing.contains("inf"));
        assert_eq!(drawing.matches("<svg").count(), 1);
        assert_eq!(
            drawing.matches("<g ").count(),
            drawing.matches("</g>").count()
        );
    }
}

#[test]
fn the_text_has_at_most_80_columns() {
    let f = Figure::of(&verdict(), &about()).unwrap();
    let lines = text(&f);
    assert!(lines.lines().all(|l| l.chars().count() <= 80), "{lines}");
    for part in ["●", "[", "]", "▲", "packets", "limit"] {
        assert!(lines.contains(part), "{part}: {lines}");
    }
}

#[test]
fn without_a_curve_there_is_no_figure() {
    let mut v = verdict();
    v.curve.clear();
    assert_eq!(Figure::of(&v, &about()), None);
}

#[test]
fn file_names_are_ascii() {
    assert_eq!(about().file_stem(), "verdict-s1-port-5-phase-first");
}

#[test]
fn a_page_has_its_width_and_neither_title_nor_background() {
    let f = Figure::of(&verdict(), &about()).unwrap();
    for width in [320.0, 640.0, 1000.0] {
        let drawing = svg(&f, Theme::Dark, &Layout::page(width));
        let root = format!("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} ");
        assert!(drawing.starts_with(&root), "{drawing}");
        assert!(!drawing.contains("font-size=\"20\"") && !drawing.contains("<rect width"));
        let numbers = drawing.split(" x=\"").skip(1);
        let places = numbers.map(|rest| rest.split('"').next().unwrap().parse::<f64>().unwrap());
        assert!(places.into_iter().all(|x| (0.0..=width).contains(&x)));
    }
    assert_eq!(Layout::page(0.0).width, 240.0);
    assert_eq!(Layout::page(1e9).width, 2400.0);
}
