// SPDX-License-Identifier: Apache-2.0
//! `tidemark-traffic`: runs a traffic spec, or only its receiving side.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, anyhow};
use clap::FromArgMatches as _;
use daemon_kit::cli::{LevelFilter, Usage, ended, print_error, start_log};
use daemon_kit::notify::Stop;
use tidemark_traffic::cli::{self, Cli, Command, RunArgs, ServeArgs};
use tidemark_traffic::run::{Part, run};
use tidemark_traffic::spec::{Spec, VERSION};
use tidemark_traffic::truth::Truth;
use tidemark_traffic::{flow, socket};

fn main() -> ExitCode {
    let arguments = cli::command().version(daemon_kit::version!()).get_matches();
    let cli = Cli::from_arg_matches(&arguments).unwrap_or_else(|e| e.exit());
    start_log("RUST_LOG", LevelFilter::INFO);
    ended(dispatch(cli.command))
}

fn dispatch(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Run(args) => run_file(&args, Part::All),
        Command::Send(args) => run_file(&args, Part::Senders),
        Command::Serve(args) => serve(args),
        Command::Validate { spec } => {
            let spec = Spec::read(&spec).map_err(anyhow::Error::msg)?;
            eprintln!(
                "ok: {} listeners, {} flows, {} sources of short flows, {} of closed-loop users; congestion control available here: {}",
                spec.listeners.len(),
                spec.flows.len(),
                spec.poisson.len(),
                spec.closed_loop.len(),
                socket::available_congestion_controls()
            );
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn run_file(args: &RunArgs, part: Part) -> anyhow::Result<ExitCode> {
    let spec = Spec::read(&args.spec).map_err(anyhow::Error::msg)?;
    let truth = execute(&spec, part, Some(&args.truth))?;
    let failed: Vec<_> = (truth.flows.iter())
        .filter(|f| flow::is_persistent(f.kind) && f.error.is_some())
        .collect();
    for flow in &failed {
        let why = flow.error.as_deref().unwrap_or_default();
        print_error(&format!("flow {} failed: {why}", flow.name));
    }
    Ok(if failed.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn serve(args: ServeArgs) -> anyhow::Result<ExitCode> {
    let spec = Spec {
        version: VERSION,
        seed: 0,
        // Until a signal: a run without senders would otherwise end at once.
        duration_s: None,
        listeners: args.listen,
        flows: Vec::new(),
        poisson: Vec::new(),
        closed_loop: Vec::new(),
        datagrams: Vec::new(),
    };
    spec.check()
        .map_err(|(field, problem)| Usage::new(format!("{field}: {problem}")))?;
    execute(&spec, Part::Listeners, args.truth.as_deref())?;
    Ok(ExitCode::SUCCESS)
}

fn execute(spec: &Spec, part: Part, truth_path: Option<&Path>) -> anyhow::Result<Truth> {
    if let Some(path) = truth_path {
        // Checked before the run rather than after it.
        let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
        if let Some(parent) = parent.filter(|p| !p.is_dir()) {
            return Err(anyhow!(
                "--truth: no directory {}; create it",
                parent.display()
            ));
        }
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let truth = runtime.block_on(async {
        let mut stop = Stop::listen()?;
        let shutdown = async move {
            stop.asked().await;
        };
        let ready = || {
            eprintln!(
                "ready: {} listeners, {} flows, {} sources of short flows",
                spec.listeners.len(),
                spec.flows.len(),
                spec.poisson.len()
            );
        };
        run(spec, part, shutdown, ready)
            .await
            .map_err(anyhow::Error::msg)
    })?;
    if let Some(path) = truth_path {
        truth
            .write(path)
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(truth)
}
