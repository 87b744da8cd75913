// SPDX-License-Identifier: Apache-2.0
//! Weight of each piece of evidence.
//!
//! `calibration/README.md` says how these numbers are judged, and how sensitive
//! the classes are to each. A test holds them equal to `calibration/weights.csv`.

use crate::echo::CLOCKS;
use crate::in_flight::RECOVERY_RTTS;

/// Declares [`Weights`], its values in force, and access by place for the
/// calibration.
macro_rules! weights {
    ($($(#[doc = $doc:literal])+ $kind:ident $name:ident = $value:expr;)+) => {
        /// The numbers by which evidence is turned into log-odds.
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

            /// Weights with other values, in the order of [`Self::list`]; `None` unless there
            /// is one for each.
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
    /// Point at which a piece of evidence begins or ends: follows from how TCP works,
    /// or from how well it is seen. Not fitted.
    Threshold,
}

weights! {
    /// Per standard deviation of the majority of the reductions.
    LogOdds per_deviation = 1.0;
    /// However many reductions there are, they weigh no more than this.
    LogOdds most_by_reductions = 4.0;
    /// Limit for reductions that follow CE marks here: a queue marks every flow in
    /// proportion, and each reduces then, whatever limits it. The limit shows in
    /// where the flow's packets wait, and in whether its window grows.
    LogOdds most_by_marks = 1.0;
    /// Limit for reductions that are only inferred from drops here: every flow has
    /// its share of those, whatever limits it.
    LogOdds most_by_drops = 0.75;
    /// Nothing but its drops is seen of a flow: those never make it an LBP flow.
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
    /// Packets wait elsewhere when they do for more than this part of the time
    /// they wait here.
    Threshold elsewhere_of_here = 0.5;
    /// And for more than this part of the base RTT.
    Threshold elsewhere_of_base = 0.25;
    /// Packets wait here.
    LogOdds waits_here = 0.7;
    /// Packets wait here when they wait elsewhere for less than this part of the
    /// time they wait here.
    Threshold hardly_elsewhere_of_here = 0.2;
    /// And here for more than this part of the base RTT.
    Threshold here_of_base = 0.05;
    /// Drops at the link from which on its loss rate says what window it allows
    /// (BSCL eq. 2).
    Threshold link_drops = 20.0;
    /// Smallest window that a loss rate allows, packets.
    Threshold least_allowed_pkts = 2.0;
    /// Losses a flow would have had for its window to count half.
    Threshold losses_to_count_half = 1.0;
    /// A window below this part of what the loss allows has another limit.
    Threshold window_small = 0.5;
    /// Per halving of a window that is small.
    LogOdds window_small_per_octave = 5.0;
    /// A small window weighs no more than this.
    LogOdds window_small_most = -4.5;
    /// A window above this part of what the loss allows has no window limit.
    Threshold window_large = 2.0;
    /// A window above this part heeds no loss: that of a model of the path (BBR).
    Threshold window_unheeding = 3.0;
    /// A window that is large.
    LogOdds window_large_odds = 3.0;
    /// A window above this part is what the loss allows.
    Threshold window_as_allowed = 0.8;
    /// A window as the loss allows it.
    LogOdds window_as_allowed_odds = 0.4;
    /// Factor of the shape of the packets in flight where the window itself is
    /// seen, and of a flow that takes most of the link.
    LogOdds second_look = 0.75;
    /// The shape speaks for this link by no more than this, and not at all for a
    /// flow that never lost here.
    LogOdds shape_for_most = 1.4;
    /// A flow that was never refused anything, here or elsewhere, and grows: nothing
    /// limits it yet. It will be limited here where it takes this part of the link.
    Threshold part_of_link = 0.1;
    /// And grew for so many round trips: one that is limited elsewhere loses there.
    Threshold undisturbed_rtts = 40.0;
    /// Round trips that make the shape of a flow certain.
    Threshold shape_rtts = 15.0;
    /// Growth in segments per RTT between that of a flow limited here and that
    /// of one with another limit: 70 % of the half segment that delayed
    /// acknowledgements give, the rest left to the blur of the records.
    Threshold limited_growth = 0.35;
    /// Per segment per RTT of growth beyond that.
    LogOdds growth_slope = 14.0;
    /// Round trips after a loss in which no window grows.
    Threshold rtts_to_recover = RECOVERY_RTTS;
    /// Round trips between losses that show whether a window grows.
    Threshold rtts_to_grow = 8.0;
    /// Missing growth weighs no more than this.
    LogOdds no_growth_most = -5.2;
    /// It never had more in flight, and often had the time for it without a loss.
    LogOdds never_more_most = -6.0;
    /// Times that make it count half.
    Threshold times_to_count_half = 1.0;
    /// A sawtooth down to its half is near its top for this share of the time,
    /// however large it is.
    Threshold sawtooth_at_top = 0.1;
    /// And for this many packets over its top in addition.
    Threshold sawtooth_at_top_pkts = 2.5;
    /// Largest share of the time that is expected of a sawtooth.
    Threshold sawtooth_at_top_most = 0.95;
    /// A sawtooth expected at its top for less than this can be told from a
    /// constant window.
    Threshold sawtooth_is_seen = 0.5;
    /// Share of the time at the top, beyond that of a sawtooth, that says
    /// nothing.
    Threshold top_slack = 0.1;
    /// Per share of the time at the top beyond that.
    LogOdds top_slope = 9.0;
    /// A constant window weighs no more than this.
    LogOdds constant_window_most = -2.5;
    /// Departures here clock this share of the packets of a flow with a window.
    Threshold clocked_share = CLOCKS;
    /// They do: a window limits it, here or at its receiver.
    LogOdds clocked = 0.37;
    /// They do not: a slower link or its application limits it.
    LogOdds unclocked = -5.8;
    /// Who takes more than this share of a busy link is bottlenecked there.
    Threshold most_of_link = 0.5;
    /// Takes most of a busy link.
    LogOdds takes_most = 3.0;
    /// Share of the samples with little in flight that shows the sender's own
    /// limit.
    Threshold held_back = 0.7;
    /// Held back at its own host.
    LogOdds held_back_odds = -2.5;
}
