// SPDX-License-Identifier: Apache-2.0
//! Whether the receiver's window limits a flow with a probed sender, and how surely.

/// Least part of its time at the receiver's window with which a flow is window-limited. A sawtooth
/// between W/2 and W that a window cuts for a part f of its time loses f²/3 of its mean: less than
/// 1 % here. Below, the losses decide what the flow gets (BSCL §II).
const LIMITS: f64 = 0.15;
/// Part of the time that leaves no doubt: the rest is recovery from losses.
const SURELY: f64 = 0.5;
/// Doubt that remains above that.
const LEFT: f64 = 0.05;
/// Longest time for which a sample holds, ns: beyond it the flow waits for a timeout.
const CARRY_NS: u64 = 2_000_000_000;

/// Effect of the receiver's window on a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ReceiverWindow {
    /// Part of the time in which the bytes in flight are at the receiver's window, which is then
    /// the smaller of the two windows.
    pub at: f64,
    /// Share of the stretches between two reductions in which the bytes in flight reached the
    /// receiver's window: the window, and not a loss, ended their growth.
    pub grown_to: f64,
    pub stretches: u32,
}

impl ReceiverWindow {
    pub fn limits(&self) -> bool {
        self.at >= LIMITS
    }

    /// Probability that in the long run the flow is at the window for too little of its time to be
    /// limited by it. Each stretch between reductions reaches the window or not, so that the part
    /// of the time is at worst as uncertain as a share of that many stretches.
    pub fn p_hardly_there(&self) -> f64 {
        if self.at >= SURELY {
            return LEFT * (1.0 - self.at);
        }
        // Approximates the normal distribution to 1 %.
        const LOGISTIC: f64 = 1.702;
        let error = (self.at * (1.0 - self.at) / f64::from(self.stretches.max(1))).sqrt();
        let deviations = (LIMITS - self.at) / error.max(1e-9);
        1.0 / (1.0 + (-LOGISTIC * deviations).exp())
    }

    pub fn why(&self) -> String {
        format!(
            "in flight is at the receiver's window for {:.0} % of the time, grows to it in {:.0} % of the times between reductions",
            self.at * 100.0,
            self.grown_to * 100.0
        )
    }
}

/// Follows a flow from sample to sample and weights samples by time: they come with
/// acknowledgements, and a large window has more of them.
#[derive(Default)]
pub(super) struct Watch {
    last: Option<(u64, bool)>,
    all_ns: u64,
    at_ns: u64,
    stretches: u32,
    reached: u32,
    /// Whether the current stretch has a sample, and a sample at the window.
    open: (bool, bool),
}

impl Watch {
    pub fn sample(&mut self, time_ns: u64, at_window: bool) {
        if let Some((before, was)) = self.last.replace((time_ns, at_window)) {
            let length = time_ns.saturating_sub(before).min(CARRY_NS);
            self.all_ns += length;
            self.at_ns += if was { length } else { 0 };
        }
        self.open = (true, self.open.1 || at_window);
    }

    /// Ends a stretch at a reduction.
    pub fn reduced(&mut self) {
        self.stretches += u32::from(self.open.0);
        self.reached += u32::from(self.open.1);
        self.open = (false, false);
    }

    /// Returns the result; the current stretch counts only if it has reached the window.
    pub fn result(mut self) -> ReceiverWindow {
        if self.open.1 || self.stretches == 0 {
            self.reduced();
        }
        ReceiverWindow {
            at: self.at_ns as f64 / self.all_ns.max(1) as f64,
            grown_to: f64::from(self.reached) / f64::from(self.stretches.max(1)),
            stretches: self.stretches,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_the_growth() {
        let mut w = Watch::default();
        // Reached the window, did not, has no sample, reached it and is not over.
        w.sample(1, true);
        w.reduced();
        w.sample(2, false);
        w.reduced();
        w.reduced();
        w.sample(3, true);
        let r = w.result();
        assert!((r.grown_to - 2.0 / 3.0).abs() < 1e-9 && r.stretches == 3);
        // A stretch that is not over and has not reached the window does not count.
        let mut w = Watch::default();
        w.sample(1, true);
        w.reduced();
        w.sample(2, false);
        let r = w.result();
        assert_eq!((r.grown_to, r.stretches), (1.0, 1));
        assert_eq!(Watch::default().result(), ReceiverWindow::default());
    }

    #[test]
    fn time_at_the_window_is_no_number_of_samples() {
        let mut w = Watch::default();
        // At the window for one second with ten samples, below for two; the pause counts as two.
        for i in 0..10 {
            w.sample(i * 100_000_000, true);
        }
        for at_s in [1, 2, 3, 20] {
            w.sample(at_s * 1_000_000_000, false);
        }
        assert_eq!(w.result().at, 0.2);
    }

    #[test]
    fn the_class_is_in_doubt_where_the_time_at_the_window_is_near_the_bound() {
        let p = |at, stretches| {
            let window = ReceiverWindow {
                at,
                stretches,
                ..ReceiverWindow::default()
            };
            window.p_hardly_there()
        };
        // Never at the window: no doubt, however few reductions there were.
        assert!(p(0.0, 1) > 0.999 && p(0.9, 1) < 0.01);
        assert!((p(LIMITS, 30) - 0.5).abs() < 1e-9);
        // 0.18 of 100 stretches is 0.78 standard errors above the bound.
        assert!((p(0.18, 100) - 0.218).abs() < 0.01, "{}", p(0.18, 100));
        assert!(p(0.18, 1000) < p(0.18, 100) && p(0.12, 1000) > p(0.12, 100));
    }
}
