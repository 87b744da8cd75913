// SPDX-License-Identifier: Apache-2.0
//! Medians, CPU clocks and the table of results.

use serde::Serialize;
use std::time::{Duration, Instant};

pub(crate) const RUNS: usize = 5;

/// One line of the table; values are items per second.
#[derive(Serialize)]
pub(crate) struct Row {
    pub what: &'static str,
    pub target: f64,
    /// The median of `runs`.
    pub value: f64,
    /// Values of all runs, in ascending order.
    pub runs: Vec<f64>,
    pub note: String,
    /// CPU time per item on the receiving core, if measured.
    pub cpu_ns: Option<f64>,
}

impl Row {
    /// Median of [`RUNS`] runs, each of which gives items per second.
    pub(crate) fn median(what: &'static str, target: f64, mut run: impl FnMut() -> f64) -> Self {
        let mut values: Vec<f64> = (0..RUNS).map(|_| run()).collect();
        values.sort_by(f64::total_cmp);
        Self {
            what,
            target,
            value: values[RUNS / 2],
            runs: values,
            note: String::new(),
            cpu_ns: None,
        }
    }

    /// Like `median`, for runs that also return the CPU time per item, in ns, of the receiving and
    /// of the sending side.
    pub(crate) fn median_with_cpu(
        what: &'static str,
        target: f64,
        mut run: impl FnMut() -> (f64, [f64; 2]),
    ) -> Self {
        let mut cpu = [const { Vec::new() }; 2];
        let mut row = Self::median(what, target, || {
            let (rate, cpu_ns) = run();
            cpu.iter_mut()
                .zip(cpu_ns)
                .for_each(|(all, ns)| all.push(ns));
            rate
        });
        cpu.iter_mut().for_each(|all| all.sort_by(f64::total_cmp));
        let [receiver, sender] = cpu.map(|all| all[RUNS / 2]);
        row.cpu_ns = Some(receiver);
        row.note = format!("{receiver:.0} ns of CPU each; the sender {sender:.0} with its waiting");
        row
    }

    pub(crate) fn head() {
        println!(
            "{:58} {:>8} {:>8} {:>17}",
            "millions per second, median of 5", "at least", "measured", "least to most"
        );
    }

    pub(crate) fn print(&self) {
        let m = |v: f64| format!("{:.2}", v / 1e6);
        let target = if self.target > 0.0 {
            m(self.target)
        } else {
            "-".to_owned()
        };
        let (least, most) = (self.runs[0], self.runs[RUNS - 1]);
        println!(
            "{:58} {:>8} {:>8} {:>17} {}{}",
            self.what,
            target,
            m(self.value),
            format!("{} to {}", m(least), m(most)),
            if self.value < self.target {
                "BELOW "
            } else {
                ""
            },
            self.note
        );
    }
}

/// Returns the CPU time of all threads of this process.
pub(crate) fn process_cpu() -> Duration {
    cpu(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// Returns the CPU time of the calling thread.
pub(crate) fn thread_cpu() -> Duration {
    cpu(libc::CLOCK_THREAD_CPUTIME_ID)
}

fn cpu(clock: libc::clockid_t) -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` outlives the call.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Returns the items per second of CPU time of the whole process. Threads that take part must have
/// been started after [`pin`], so that all share one core: two at once on the halves of one core
/// would be charged for each other.
pub(crate) fn per_core(items: u64, run: impl FnOnce()) -> f64 {
    let before = process_cpu();
    run();
    items as f64 / (process_cpu() - before).as_secs_f64()
}

/// Pins the calling thread, and the threads that it starts from now on, to one core.
pub(crate) fn pin(core: usize) {
    // SAFETY: zero is a valid, empty set; it outlives the call that reads it.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set);
    }
}

/// Lets the calling thread use every core again.
pub(crate) fn unpin() {
    // SAFETY: zero is a valid, empty set; it outlives the call that reads it.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        for core in 0..libc::CPU_SETSIZE as usize {
            libc::CPU_SET(core, &mut set);
        }
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set);
    }
}

/// Waits until `done`, for at most `limit`.
pub(crate) fn wait(limit: Duration, mut done: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + limit;
    while !done() {
        if Instant::now() >= end {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    true
}
