// SPDX-License-Identifier: Apache-2.0
//! A fixed memory-bound loop to compare rows with: machines and their other guests differ, but the
//! ratio of two loops in one run hardly does.
//!
//! Each step changes one cache line at an unpredictable place of a table of 64 MiB, as a join
//! touches the line of a flow.

use crate::figure::{per_core, pin};
use std::hint::black_box;
use std::sync::Barrier;
use std::time::Instant;

const LINES: usize = 1 << 20;
const STEPS: u64 = 20_000_000;

#[repr(align(64))]
#[derive(Clone, Copy)]
struct Line([u64; 8]);

/// Returns a table whose pages are resident.
fn table() -> Vec<Line> {
    vec![Line([1; 8]); LINES]
}

fn walk(table: &mut [Line]) {
    let mut place = 1u64;
    for _ in 0..STEPS {
        // Knuth's MMIX generator; its high bits are the place.
        place = place
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let line = &mut table[(place >> 44) as usize % LINES];
        line.0[0] = line.0[0].wrapping_add(place);
    }
    black_box(table);
}

/// Returns the steps per second of one core: the median of three.
pub(crate) fn steps_per_s() -> f64 {
    let mut table = table();
    walk(&mut table);
    let mut runs: Vec<f64> = (0..3)
        .map(|_| per_core(STEPS, || walk(&mut table)))
        .collect();
    runs.sort_by(f64::total_cmp);
    runs[1]
}

/// Returns how many times as many steps per second two cores do: the median of three.
pub(crate) fn gain_of_two_cores() -> f64 {
    let rate = |cores: usize| {
        let begin = Barrier::new(cores + 1);
        let start = std::thread::scope(|scope| {
            for core in 0..cores {
                let begin = &begin;
                scope.spawn(move || {
                    pin(core);
                    let mut table = table();
                    begin.wait();
                    walk(&mut table);
                });
            }
            begin.wait();
            Instant::now()
        });
        (cores as u64 * STEPS) as f64 / start.elapsed().as_secs_f64()
    };
    let mut gains: Vec<f64> = (0..3).map(|_| rate(2) / rate(1)).collect();
    gains.sort_by(f64::total_cmp);
    gains[1]
}
