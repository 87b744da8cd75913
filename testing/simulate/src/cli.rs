// SPDX-License-Identifier: Apache-2.0
//! `make simulate`: runs seeds and reports those that break an invariant.

use crate::checks::{Tally, Violation};
use crate::plan::Plan;
use crate::run::run;
use crate::shrink::shrink;
use anyhow::Result;
use clap::Parser;
use parking_lot::Mutex;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Run simulated seeds.
#[derive(Parser)]
struct Args {
    /// Number of seeds.
    #[arg(long, default_value_t = 100)]
    seeds: u64,
    /// First seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of parallel runs.
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Stop after this many findings.
    #[arg(long, default_value_t = 5)]
    findings: usize,
    /// Do not shrink findings.
    #[arg(long)]
    no_shrink: bool,
    /// Print the result of each seed.
    #[arg(long)]
    verbose: bool,
}

#[derive(Default)]
struct Found {
    violations: Vec<(u64, Violation)>,
    errors: Vec<(u64, String)>,
    tally: Tally,
}

fn work(args: &Args, next: &AtomicU64, found: &Mutex<Found>) {
    loop {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if seed >= args.seed + args.seeds {
            return;
        }
        let plan = Plan::of(seed);
        let result = run(&plan);
        let mut f = found.lock();
        match result {
            Ok(o) => {
                if args.verbose {
                    println!("seed {seed}: digest {:016x} {:?}", o.digest, o.tally);
                }
                f.tally.add(&o.tally);
                if let Some(v) = o.violation {
                    println!("seed {seed}: {v}");
                    f.violations.push((seed, v));
                }
            }
            Err(e) => f.errors.push((seed, format!("{e:#}"))),
        }
        if f.violations.len() + f.errors.len() >= args.findings {
            return;
        }
    }
}

fn tell(plan: &Plan) {
    println!(
        "  link {} Mbit/s, base RTT {} ms, {} flows, {}, first limit {} bytes, {:.1} s",
        plan.rate_bps / 1_000_000,
        plan.base_rtt_ns / 1_000_000,
        plan.flows,
        plan.bound,
        plan.start_limit_bytes,
        plan.end_ms as f64 / 1e3
    );
    for fault in &plan.faults {
        println!("  {fault}");
    }
}

/// Runs the program with its command line.
///
/// # Errors
/// A part of the simulation that cannot start.
pub fn main() -> Result<ExitCode> {
    let args = Args::parse();
    let started = Instant::now();
    let next = AtomicU64::new(args.seed);
    let found = Mutex::new(Found::default());
    std::thread::scope(|scope| {
        for _ in 0..args.jobs.max(1) {
            scope.spawn(|| work(&args, &next, &found));
        }
    });
    let mut found = found.into_inner();
    let took_s = started.elapsed().as_secs_f64();
    let done = next
        .load(Ordering::Relaxed)
        .min(args.seed + args.seeds)
        .saturating_sub(args.seed);
    println!(
        "{done} seeds in {took_s:.1} s with {} jobs: {:.0} seeds an hour",
        args.jobs,
        done as f64 * 3600.0 / took_s
    );
    println!("{:?}", found.tally);
    for (seed, e) in &found.errors {
        println!("seed {seed}: could not run: {e}");
    }
    found.violations.sort_by_key(|(seed, _)| *seed);
    for (seed, v) in &found.violations {
        println!("\nseed {seed}: {v}");
        tell(&Plan::of(*seed));
        if !args.no_shrink {
            let (least, runs) = shrink(&Plan::of(*seed), v.invariant)?;
            println!("  shrunk in {runs} runs to:");
            tell(&least);
            if let Some(v) = run(&least)?.violation {
                println!("  {v}");
            }
        }
        println!("  again: make simulate SEEDS=1 SEED={seed}");
    }
    Ok(if found.violations.is_empty() && found.errors.is_empty() {
        println!("no invariant broken");
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
