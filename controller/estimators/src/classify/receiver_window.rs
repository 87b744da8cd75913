// SPDX-License-Identifier: Apache-2.0
//! Whether the receiver's window limits a flow whose sender is probed, and how surely.

/// Part of its time that a flow is at its receiver's window for, from which on it is
/// window-limited. A sawtooth between W/2 and W that a window cuts for a part f of its time
/// loses f²/3 of its mean to it: here less than 1 %. Below, the losses decide what the flow
/// gets (BSCL §II).
const LIMITS: f64 = 0.15;
/// Part of the time that leaves no doubt: the rest are its recoveries from losses.
const SURELY: f64 = 0.5;
/// Doubt that remains then.
const LEFT: f64 = 0.05;
/// A sample says nothing of what comes later than this, ns: the flow waits for a timeout.
const CARRY_NS: u64 = 2_000_000_000;

/// Effect of the receiver's window on a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ReceiverWindow {
    /// Part of the time with the bytes in flight at the receiver's window, and that the
    /// smaller of the two windows.
    pub at: f64,
    /// Of the stretches between two reductions, the share in which the bytes in flight came
    /// up to it: it, and not a loss, ended their growth.
    pub grown_to: f64,
    pub stretches: u32,
}

impl ReceiverWindow {
    pub fn limits(&self) -> bool {
        self.at >= LIMITS
    }

    /// Probability that in the long run the flow is at the window for too little of its time
    /// to be limited by it. Each stretch between its reductions reaches the window or does
    /// not, so that the part of the time is known as a share of so many, at worst.
    pub fn p_hardly_there(&self) -> f64 {
        if self.at >= SURELY {
            return LEFT * (1.0 - self.at);
        }
        // The normal distribution, to 1 %.
        const LOGISTIC: f64 = 1.702;
        let error = (self.at * (1.0 - self.at) / f64::from(self.stretches.max(1))).sqrt();
        let deviations = (LIMITS - self.at) / error.max(1e-9);
        1.0 / (1.0 + (-LOGISTIC * deviations).exp())
    }

    pub fn why(&self) -> String {
        format!(
            "in flight sits at the receiver's window for {:.0} % of the time, grows to it in {:.0} % of the times between its reductions",
            self.at * 100.0,
            self.grown_to * 100.0
        )
    }
}

/// Watches a flow from sample to sample. These come with acknowledgements, the more of them
/// the larger a window is: their number is no time.
#[derive(Default)]
pub(super) struct Watch {
    last: Option<(u64, bool)>,
    all_ns: u64,
    at_ns: u64,
    stretches: u32,
    reached: u32,
    /// Of the stretch that goes on: a sample was seen, one at the window was.
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

    /// A reduction ends a stretch.
    pub fn reduced(&mut self) {
        self.stretches += u32::from(self.open.0);
        self.reached += u32::from(self.open.1);
        self.open = (false, false);
    }

    /// The stretch that goes on counts once it has reached its end.
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
        // Reached, not reached, nothing seen, reached and going on.
        w.sample(1, true);
        w.reduced();
        w.sample(2, false);
        w.reduced();
        w.reduced();
        w.sample(3, true);
        let r = w.result();
        assert!((r.grown_to - 2.0 / 3.0).abs() < 1e-9 && r.stretches == 3);
        // One that goes on and has not got there yet does not count.
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
        // At it for one second with ten samples, below for two with two; of the pause two count.
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
        // Never there: no doubt, however few reductions there were.
        assert!(p(0.0, 1) > 0.999 && p(0.9, 1) < 0.01);
        assert!((p(LIMITS, 30) - 0.5).abs() < 1e-9);
        // 0.18 of 100 stretches is 0.78 standard errors above the bound.
        assert!((p(0.18, 100) - 0.218).abs() < 0.01, "{}", p(0.18, 100));
        assert!(p(0.18, 1000) < p(0.18, 100) && p(0.12, 1000) > p(0.12, 100));
    }
}
