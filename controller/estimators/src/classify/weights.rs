// SPDX-License-Identifier: Apache-2.0
//! Weight of each piece of evidence.
//!
//! `calibration/README.md` says how these numbers are judged, and how sensitive
//! the classes are to each. A test holds them equal to `calibration/weights.csv`.

use crate::echo::CLOCKS;
use crate::in_flight::RECOVERY_RTTS;

/// Declares [`Weights`], its values in force, and access by index for the calibration.
macro_rules! weights {
    ($($(#[doc = $doc:literal])+ $kind:ident $name:ident = $value:expr;)+) => {
        /// The numbers that turn evidence into log-odds.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct Weights {
            $($(#[doc = $doc])+ pub $name: f64,)+
        }

        impl Weights {
            /// The weights that the classifier uses.
            pub const IN_FORCE: Self = Self { $($name: $value,)+ };

            /// Every number with its name and kind, in order.
            pub fn list(&self) -> Vec<(&'static str, WeightKind, f64)> {
                vec![$((stringify!($name), WeightKind::$kind, self.$name),)+]
            }

            /// Weights with the given values, in the order of [`Self::list`]; `None` if their
            /// number differs.
            pub fn from_values(values: &[f64]) -> Option<Self> {
                let mut values = values.iter().copied();
                let weights = Self { $($name: values.next()?,)+ };
                values.next().is_none().then_some(weights)
            }
        }
    };
}

/// Kind of a number in [`Weights`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeightKind {
    /// Log-odds, or log-odds per unit: fitted to data.
    LogOdds,
    /// Point at which a piece of evidence starts or stops to count: follows from how TCP works, or
    /// from how precisely it is observed. Not fitted.
    Threshold,
}

weights! {
    /// Per standard deviation by which one origin of the reductions prevails.
    LogOdds per_deviation = 1.0;
    /// Largest weight of reductions, however many there are.
    LogOdds most_by_reductions = 4.0;
    /// Largest weight of reductions that follow CE marks here: a queue marks every flow in
    /// proportion, and each flow then reduces, whatever limits it. Its limit shows in where its
    /// packets wait, and in whether its window grows.
    LogOdds most_by_marks = 1.0;
    /// Largest weight of reductions that are only inferred from drops here: every flow has its
    /// share of drops, whatever limits it.
    LogOdds most_by_drops = 0.75;
    /// Only the flow's drops are seen: drops alone never make it an LBP flow.
    LogOdds drops_alone = -1.2;
    /// Never reduced, while the link is busy.
    LogOdds never_reduced_busy = 0.6;
    /// Never reduced, while the link is not busy.
    LogOdds never_reduced_idle = -1.0;
    /// The window follows a model of the path, and packets wait or drop here.
    LogOdds model_based_busy = 1.9;
    /// The window follows a model of the path, and no packet waits here.
    LogOdds model_based_idle = -0.8;
    /// Packets wait elsewhere.
    LogOdds waits_elsewhere = -1.7;
    /// Packets wait elsewhere if their wait there exceeds this part of their wait here,
    Threshold elsewhere_of_here = 0.5;
    /// and this part of the base RTT.
    Threshold elsewhere_of_base = 0.25;
    /// Packets wait here.
    LogOdds waits_here = 0.7;
    /// Packets wait here if their wait elsewhere is less than this part of their wait here,
    Threshold hardly_elsewhere_of_here = 0.2;
    /// and they wait here for more than this part of the base RTT.
    Threshold here_of_base = 0.05;
    /// Least number of drops at the link with which its loss rate shows which window it allows
    /// (BSCL eq. 2).
    Threshold link_drops = 20.0;
    /// Smallest window that a loss rate allows, packets.
    Threshold least_allowed_pkts = 2.0;
    /// Expected losses of a flow with which its window counts half.
    Threshold losses_to_count_half = 1.0;
    /// A window below this part of what the loss allows has another limit.
    Threshold window_small = 0.5;
    /// Per halving of a window that is small.
    LogOdds window_small_per_octave = 5.0;
    /// Largest weight of a small window.
    LogOdds window_small_most = -4.5;
    /// A window above this multiple of what the loss allows has no window limit.
    Threshold window_large = 2.0;
    /// A window above this multiple ignores losses: it follows a model of the path (BBR).
    Threshold window_unheeding = 3.0;
    /// The window is large.
    LogOdds window_large_odds = 3.0;
    /// A window above this part is as large as the loss allows.
    Threshold window_as_allowed = 0.8;
    /// The window is as large as the loss allows.
    LogOdds window_as_allowed_odds = 0.4;
    /// Factor for the shape of the packets in flight if the window itself is seen, or if the flow
    /// takes most of the link.
    LogOdds second_look = 0.75;
    /// Largest weight of the shape in favour of this link; zero for a flow that never lost here.
    LogOdds shape_for_most = 1.4;
    /// A flow without any loss, here or elsewhere, that grows: nothing limits it yet. It will be
    /// limited here if it takes this part of the link,
    Threshold part_of_link = 0.1;
    /// and has grown for this many round trips: a flow limited elsewhere would have lost there.
    Threshold undisturbed_rtts = 40.0;
    /// Round trips with which the shape of a flow is certain.
    Threshold shape_rtts = 15.0;
    /// Growth, in segments per RTT, that separates flows limited here from flows with another
    /// limit: 70 % of the half segment that delayed acknowledgements give; the rest allows for blur
    /// in the records.
    Threshold limited_growth = 0.35;
    /// Per segment per RTT of growth above that.
    LogOdds growth_slope = 14.0;
    /// Round trips after a loss in which no window grows.
    Threshold rtts_to_recover = RECOVERY_RTTS;
    /// Round trips between losses with which a window is seen to grow or not.
    Threshold rtts_to_grow = 8.0;
    /// Largest weight of missing growth.
    LogOdds no_growth_most = -5.2;
    /// It never had more in flight, although it often had enough time without a loss.
    LogOdds never_more_most = -6.0;
    /// Number of such times with which they count half.
    Threshold times_to_count_half = 1.0;
    /// Share of the time for which a sawtooth down to half is near its top, whatever its size.
    Threshold sawtooth_at_top = 0.1;
    /// Added to that: this many packets divided by the top.
    Threshold sawtooth_at_top_pkts = 2.5;
    /// Largest share of the time at the top expected of a sawtooth.
    Threshold sawtooth_at_top_most = 0.95;
    /// A sawtooth can be told from a constant window if its expected share of the time at the top
    /// is below this.
    Threshold sawtooth_is_seen = 0.5;
    /// Share of the time at the top, in excess of a sawtooth's, that shows nothing.
    Threshold top_slack = 0.1;
    /// Per share of the time at the top beyond that.
    LogOdds top_slope = 9.0;
    /// Largest weight of a constant window.
    LogOdds constant_window_most = -2.5;
    /// Share of a flow's packets clocked by departures here with which it has a window.
    Threshold clocked_share = CLOCKS;
    /// Departures clock its packets: a window limits it, here or at its receiver.
    LogOdds clocked = 0.37;
    /// Departures do not clock its packets: a slower link or its application limits it.
    LogOdds unclocked = -5.8;
    /// A flow that takes more than this share of a busy link is bottlenecked there.
    Threshold most_of_link = 0.5;
    /// The flow takes most of a busy link.
    LogOdds takes_most = 3.0;
    /// Share of the samples with little in flight that shows that the sender limits itself.
    Threshold held_back = 0.7;
    /// The flow is held back at its own host.
    LogOdds held_back_odds = -2.5;
}
