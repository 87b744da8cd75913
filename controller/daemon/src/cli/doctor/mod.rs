// SPDX-License-Identifier: Apache-2.0
//! `doctor`: checks the chain from switch to advice. It asks the running controller or, if none
//! runs, starts one that cannot write.

mod survey;

use super::{http, run};
use crate::api::{self, Token};
use crate::config::Config;
use crate::core::{Core, switch, time};
use anyhow::{Context as _, bail};
use clap::Args;
use daemon_kit::cli::stdout;
use daemon_kit::doctor::{Finding, problems, write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug, Args)]
pub(super) struct DoctorArgs {
    /// Configuration file (TOML).
    #[arg(long, env = "TIDEMARK_CONFIG")]
    config: PathBuf,
    /// Seconds to wait for switches and telemetry if no controller runs, and to count the drops of
    /// a Tofino's traffic manager.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=600))]
    seconds: u64,
    /// Certificate to trust (PEM), if the controller listens with https.
    #[arg(long, env = "TIDEMARK_CA")]
    ca: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn doctor(args: &DoctorArgs) -> anyhow::Result<()> {
    let mut found = Vec::new();
    match run::valid(&args.config) {
        Ok(config) => {
            found.push(Finding::ok("configuration", "valid"));
            examine(config, args, &mut found);
        }
        Err(e) => found.push(Finding::problem(
            "configuration",
            format!("{e:#}"),
            "docs/reference/api.md has every key",
        )),
    }
    write(&found, args.json, &mut stdout())?;
    match problems(&found) {
        0 => Ok(()),
        1 => bail!("1 problem"),
        n => bail!("{n} problems"),
    }
}

fn examine(config: Config, args: &DoctorArgs, found: &mut Vec<Finding>) {
    let address = config.http.listen;
    let scheme = if config.http.tls.is_some() {
        "https"
    } else {
        "http"
    };
    let base = format!("{scheme}://{address}");
    let ca = args.ca.as_deref();
    let length = Duration::from_secs(args.seconds);
    let at = http::At { base: &base, ca };
    if let Ok((status, own)) = survey::ask(&at) {
        found.push(Finding::ok(
            "controller",
            format!("{} runs at {base}", status.version),
        ));
        found.extend(own);
        found.extend(survey::switches(&at, &status, length));
        return;
    }
    found.push(match std::net::TcpListener::bind(address) {
        Ok(_) => Finding::ok(format!("http.listen {address}"), "free; no controller runs"),
        Err(e) => Finding::problem(
            format!("http.listen {address}"),
            format!("{e}, and no controller answers there"),
            "find who has it with `ss -ltnp`, or set another address",
        ),
    });
    match look(config, length) {
        Ok(more) => found.extend(more),
        Err(e) => found.push(Finding::problem("start", format!("{e:#}"), "see the error")),
    }
}

/// Runs a controller with this configuration for a moment. It writes nowhere: no switch, no state,
/// no log, no database.
fn look(mut config: Config, length: Duration) -> anyhow::Result<Vec<Finding>> {
    config.control.dry_run = true;
    config.control.audit = None;
    config.control.audit_log = None;
    config.state_file = None;
    config.clickhouse = Default::default();
    let listener = run::listen(([127, 0, 0, 1], 0).into())?;
    let base = format!("http://{}", listener.local_addr()?);
    run::runtime()?.block_on(async move {
        let connected = switch::connect(&config)?;
        let core = Arc::new(Core::new(config, connected, Arc::new(time::now))?);
        let mut tasks = run::tasks(&core);
        let (token, _) = Token::obtain(None, None)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let app = api::router(Arc::clone(&core), token);
        tasks.spawn(async move {
            let _ = daemon_kit::credentials::http::serve(listener, app).await;
        });
        tokio::time::sleep(length).await;
        let asked = tokio::task::spawn_blocking(move || {
            let at = http::At {
                base: &base,
                ca: None,
            };
            let (status, mut found) = survey::ask(&at)?;
            found.extend(survey::switches(&at, &status, length));
            Ok(found)
        });
        let answer = asked.await.context("asking it")?;
        tasks.abort_all();
        answer
    })
}
