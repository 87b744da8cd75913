// SPDX-License-Identifier: Apache-2.0
//! `view`: a finished run in the console, from its capture.

mod clock;
mod counts;
mod load;

use super::run;
use super::targets::TargetArgs;
use crate::api::{self, Token};
use crate::config::Config;
use crate::core::audit::Audit;
use crate::core::{Core, Recording, time};
use anyhow::Context as _;
use clap::Args;
use clock::RunClock;
use daemon_kit::cli::{LevelFilter, Usage, in_words, print, start_log};
use daemon_kit::credentials::http;
use daemon_kit::notify::Stop;
use load::Load;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tidemark_analysis::marks_of_run;
use tidemark_capture::{Replay, locate};

/// The console considers a controller gone that sends nothing for 4 s.
const WORD_EVERY: Duration = Duration::from_secs(2);

#[derive(Debug, Args)]
pub(super) struct ViewArgs {
    /// Directory of a capture, or of a run that contains one capture.
    run: PathBuf,
    /// Address of the console and REST interface.
    #[arg(long, env = "TIDEMARK_LISTEN", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// Serve unencrypted even on an address that other machines can reach.
    #[arg(long)]
    insecure: bool,
    #[command(flatten)]
    targets: TargetArgs,
}

pub(super) fn view(args: &ViewArgs) -> anyhow::Result<()> {
    start_log("TIDEMARK_LOG", LevelFilter::WARN);
    let mut config = Config {
        targets: args.targets.targets()?,
        ..Config::default()
    };
    (config.http.listen, config.http.insecure) = (args.listen, args.insecure);
    config.check().map_err(|e| Usage::of(&e))?;
    let capture = locate(&args.run)?;
    let replay = Replay::open(&capture).with_context(|| capture.display().to_string())?;
    let listener = run::listen(args.listen)?;
    let marks = marks_of_run(&args.run, &capture);
    let audit = audit_log(&args.run, &capture)?;
    let unix_ms = |ns: i64| u64::try_from(ns / 1_000_000).unwrap_or(0);
    let meta = replay.meta();
    let recording = Recording::new(
        capture,
        unix_ms(meta.started_unix_ns),
        meta.ended_unix_ns.map(unix_ms),
    );
    let clock = Arc::new(RunClock::new(meta));
    let core = {
        let clock = Arc::clone(&clock);
        Core::of_recording(config, Arc::new(move || clock.now()), recording, audit)?
    };
    let load = Load {
        core: Arc::new(core),
        clock,
        marks,
    };
    run::runtime()?.block_on(serve(load, replay, listener))
}

/// Reads the log of limit changes next to a run's capture, if there is one.
fn audit_log(run: &Path, capture: &Path) -> anyhow::Result<Option<Audit>> {
    let file = run.join("audit.jsonl");
    if run == capture || !file.is_file() {
        return Ok(None);
    }
    let log = Audit::of_run(&*durable_fs::real(), &file);
    Ok(Some(log.with_context(|| file.display().to_string())?))
}

async fn serve(load: Load, replay: Replay, listener: std::net::TcpListener) -> anyhow::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let address = listener.local_addr()?;
    // Never used: a request that would change something is refused before.
    let (token, _) = Token::obtain(None, None)?;
    let core = Arc::clone(&load.core);
    let mut stop = Stop::listen()?;
    print(format!("console: http://{address}/"))?;
    let served = tokio::spawn(http::serve(listener, api::router(Arc::clone(&core), token)));
    let told = async {
        let done = match tokio::task::spawn_blocking(move || load.all(replay)).await {
            Ok(Ok(said)) => print(said),
            Ok(Err(e)) => Err(e),
            Err(e) => Err(anyhow::Error::from(e)),
        };
        if let (Err(e), Some(recording)) = (&done, core.recording()) {
            recording.read(|r| r.problem = Some(in_words(e)));
        }
        let unix_ms = time::now().unix_ms;
        loop {
            core.announce(unix_ms);
            tokio::time::sleep(WORD_EVERY).await;
            // An open console has been told why.
            if done.is_err() {
                break done;
            }
        }
    };
    tokio::select! {
        _ = stop.asked() => Ok(()),
        done = told => done,
        e = served => match e {
            Ok(()) => Ok(()),
            Err(e) => Err(anyhow::Error::from(e).context("HTTP")),
        },
    }
}
