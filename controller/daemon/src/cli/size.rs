// SPDX-License-Identifier: Apache-2.0
//! `size`: applies the sizing rules to a link described by hand.

use super::{draw::PictureArgs, one_of, table, targets::TargetArgs, units, whatif};
use clap::Args;
use daemon_kit::cli::{Usage, print, print_json};
use serde_json::json;
use tidemark_advice::picture::About;
use tidemark_advice::{Verdict, advise};
use tidemark_rules::bscl::TODAYS_CONSTANT;
use tidemark_rules::utb::single_flow::beta_of;
use tidemark_rules::{CongestionControl, Options, Range, Regime, Targets, Traffic};

#[derive(Debug, Args)]
pub(super) struct SizeArgs {
    /// Capacity of the link, e.g. 50mbit, 10gbit.
    #[arg(long, value_parser = units::rate)]
    capacity: f64,
    /// Base RTT of the flows, e.g. 60ms; several, comma-separated, give their
    /// harmonic mean (T_e).
    #[arg(long, value_parser = units::time, value_delimiter = ',', required = true)]
    rtt: Vec<f64>,
    /// Number of flows bottlenecked at this link (N_b); 0 requires --load.
    #[arg(long, value_parser = units::flows)]
    flows: f64,
    /// Offered load as a share of the capacity if no flow is bottlenecked, e.g. 80%.
    #[arg(long, value_parser = units::ratio)]
    load: Option<f64>,
    /// Size of a segment as the queue counts it.
    #[arg(long, default_value = "1514", value_parser = units::bytes)]
    segment: f64,
    /// Bytes of a segment on the wire that the queue does not count.
    #[arg(long, default_value = "24", value_parser = units::bytes)]
    wire_overhead: f64,
    /// Share of the capacity that these flows carry (C_e/C), e.g. 90%.
    #[arg(long, default_value = "1", value_parser = units::fraction)]
    share: f64,
    /// alpha: mean drops per loss event over N_b.
    #[arg(long, value_parser = units::alpha)]
    alpha: Option<f64>,
    /// Delta of "Updating the Theory of Buffer Sizing".
    #[arg(long, value_parser = units::delta)]
    delta: Option<f64>,
    /// Congestion control of the flows.
    #[arg(long, value_parser = one_of::<CongestionControl>(&["reno", "cubic", "bbr", "scalable"]))]
    congestion_control: Option<CongestionControl>,
    #[command(flatten)]
    targets: TargetArgs,
    /// Print predicted utilisation, loss and delay over the limit as CSV instead.
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// Print every rule with its formula and source, and how the answer was reached.
    #[arg(long)]
    wide: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    picture: PictureArgs,
}

impl SizeArgs {
    /// Checks arguments that are valid on their own, but not together.
    fn check(&self) -> Result<(), Usage> {
        for (name, value) in [("--capacity", self.capacity), ("--segment", self.segment)] {
            Usage::unless(value > 0.0, format!("{name}: must be above 0"))?;
        }
        let above_0 = self.rtt.iter().all(|t| *t > 0.0);
        Usage::unless(above_0, "--rtt: must be above 0")?;
        if self.flows < 1.0 {
            let none = self.flows == 0.0;
            Usage::unless(none, "--flows: must be 0, or at least 1")?;
            let why = "--flows 0: say how much the link carries, e.g. --load 80%";
            Usage::unless(self.load.is_some_and(|l| l > 0.0), why)?;
            let why = "--share: is for bottlenecked flows; there are none with --flows 0";
            return Usage::unless(self.share >= 1.0, why);
        }
        let why = "--load: is for links without a bottlenecked flow (--flows 0); \
                   say --share for what these flows carry";
        Usage::unless(self.load.is_none(), why)?;
        let why = "--share: flows that are bottlenecked here carry more than nothing";
        Usage::unless(self.share > 0.0, why)
    }

    fn measured(&self) -> Result<Traffic, Usage> {
        self.check()?;
        let n = self.rtt.len() as f64;
        let t_e = n / self.rtt.iter().map(|t| 1.0 / t).sum::<f64>();
        let t_mean = self.rtt.iter().sum::<f64>() / n;
        let mut m = Traffic::described(self.capacity, t_e, self.flows, self.segment);
        m.t_mean_s = Range::exact(t_mean);
        m.queue_drain_bps = self.capacity * self.segment / (self.segment + self.wire_overhead);
        m.c_e_share = Range::exact(self.share);
        m.rho_other = 1.0 - self.share;
        m.assumed_constant = Some(TODAYS_CONSTANT);
        if let Some(load) = self.load {
            m.c_e_share = Range::exact(0.0);
            (m.rho, m.rho_other) = (load, load);
            if load >= 1.0 {
                m.regime = Regime::Overload;
            }
        }
        if let Some(alpha) = self.alpha {
            m.alpha = Range::exact(alpha);
        }
        m.delta = self.delta.map(Range::exact);
        if let Some(cc) = self.congestion_control {
            m.congestion_control = cc;
            // UTB §3.5; BBR drains at 3/4.
            m.beta = beta_of(cc).or(Some(0.75));
        }
        Ok(m)
    }
}

pub(super) fn size(args: &SizeArgs) -> anyhow::Result<()> {
    let targets = args.targets.targets_over(Targets {
        confidence: 0.5,
        ..Targets::default()
    })?;
    let measured = args.measured()?;
    if args.csv {
        print(whatif::COLUMNS.join(","))?;
        for line in whatif::csv(None, &measured, &whatif::curve(&measured, 40)?) {
            print(line)?;
        }
        return Ok(());
    }
    let advice = advise(&measured, &targets, &Options::default());
    let verdict = Verdict::by(&advice, &measured, &targets).with_curve(&measured);
    let about = About {
        link: "calculated".into(),
        ..About::default()
    };
    args.picture.draw(&[(about, &verdict)], args.json)?;
    if args.json {
        let all = json!({
            "given": measured, "targets": targets, "rules": advice.rules, "advice": advice,
            "verdict": verdict,
        });
        return print_json(&all);
    }
    let mut lines = table::verdict(&verdict);
    lines.extend(table::expected(&advice));
    lines.extend(table::rules_that_hold(&verdict));
    if args.wide {
        lines.extend([table::rules(&advice.rules), table::advice(&advice)]);
    }
    print(lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser as _;

    #[derive(clap::Parser)]
    struct Wrap {
        #[command(flatten)]
        args: SizeArgs,
    }

    fn measured(text: &str) -> anyhow::Result<Traffic> {
        let args = Wrap::try_parse_from(format!("size {text}").split(' '))?.args;
        Ok(args.measured()?)
    }

    #[test]
    fn harmonic_mean_of_several_rtts() {
        let m = measured("--capacity 100mbit --rtt 10ms,20ms,30ms,40ms --flows 12").unwrap();
        assert!((m.t_e_s.value - 0.0192).abs() < 1e-9);
        assert!((m.t_mean_s.value - 0.025).abs() < 1e-9);
        assert!((m.queue_drain_bps - 100e6 * 1514.0 / 1538.0).abs() < 1.0);
    }

    /// The lab's demo, 12 flows, half Reno, half CUBIC: limit (packets), loss (%),
    /// utilisation (%) on a quiet machine, or as low as on a loaded one.
    const LAB: [(f64, f64, f64); 8] = [
        (20.0, 1.57, 89.4),
        (20.0, 1.46, 90.2),
        (35.0, 1.17, 97.2),
        (35.0, 1.43, 92.9),
        (110.0, 0.900, 100.0),
        (120.0, 0.831, 99.8),
        (206.0, 0.588, 100.0),
        (206.0, 0.428, 100.0),
    ];

    #[test]
    fn what_the_lab_measured_lies_in_the_range() {
        let m = measured("--capacity 100mbit --rtt 10ms,20ms,30ms,40ms --flows 12").unwrap();
        let within = |r: Range, truth: f64| r.low - 5e-4 <= truth && truth <= r.high + 5e-4;
        for (packets, loss, utilisation) in LAB {
            let p = tidemark_advice::predict(&m, packets * 1514.0).unwrap();
            assert!(
                within(p.loss_rate, loss / 100.0),
                "{packets}: {:?}",
                p.loss_rate
            );
            let u = utilisation / 100.0;
            assert!(within(p.utilisation, u), "{packets}: {:?}", p.utilisation);
            assert!(
                (0.6..1.7).contains(&(p.loss_rate.value / loss * 100.0)),
                "{p:?}"
            );
        }
        // The bound was missed at 35 packets, the advice of the papers' rules.
        let a = advise(
            &m,
            &Targets {
                confidence: 0.5,
                ..Targets::default()
            },
            &Options::default(),
        );
        let packets = a.limit_packets.unwrap();
        assert!(
            (90.0..130.0).contains(&packets),
            "{packets} {:#?}",
            a.reasons
        );
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(measured("--capacity 0 --rtt 10ms --flows 1").is_err());
        assert!(measured("--capacity 1mbit --rtt 0ms --flows 1").is_err());
        assert!(measured("--capacity 1mbit --rtt 1ms --flows -1").is_err());
        assert!(measured("--capacity 1mbit --rtt 1ms --flows 1 --delta 0.5").is_err());
        let link = "--capacity 1mbit --rtt 1ms";
        for more in [
            "--flows inf",
            "--flows 1e300",
            "--flows 0.5",
            "--flows 1 --alpha inf",
            "--flows 1 --delta nan",
            "--flows 10 --share 0",
            "--flows 10 --load 50%",
            "--flows 0",
            "--flows 0 --load 0",
            "--flows 0 --load 50% --share 0.5",
        ] {
            assert!(measured(&format!("{link} {more}")).is_err(), "{more}");
        }
    }

    #[test]
    fn a_link_without_a_bottlenecked_flow() {
        let m = measured("--capacity 100mbit --rtt 10ms --flows 0 --load 80%").unwrap();
        assert_eq!(
            (m.rho, m.rho_other, m.regime),
            (0.8, 0.8, Regime::Transparent)
        );
        let a = advise(
            &m,
            &tidemark_rules::Targets::default(),
            &tidemark_rules::Options::default(),
        );
        let rule = |id: &str| a.rules.iter().find(|r| r.id.as_str() == id).unwrap();
        assert!(rule("ngi_transparent").applies && rule("srb_short").applies);
        assert!(a.limit_bytes.is_some(), "{:#?}", a.reasons);
        let u = a.predicted.unwrap().utilisation;
        assert!((u.value - 0.8).abs() < 0.01, "{u:?}");
        let m = measured("--capacity 100mbit --rtt 10ms --flows 0 --load 1.25").unwrap();
        assert_eq!(m.regime, Regime::Overload);
    }
}
