// SPDX-License-Identifier: Apache-2.0
//! The controller process, and its CPU time and memory.

use crate::load::Load;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

pub(crate) struct Controller {
    child: Child,
    pub address: String,
    _directory: tempfile::TempDir,
}

impl Controller {
    /// Starts it like an installation: with a state file, an audit log and targets.
    pub(crate) fn start(load: &Load, collectors: &[SocketAddr]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("controller.toml");
        let mut text = String::from("collectors = [");
        for address in collectors {
            write!(text, "\"{address}\", ").unwrap();
        }
        text.push_str(
            "]\nstate_file = 'state.json'\n[targets]\ndelay_ms = 30.0\nutilisation = 0.98\n\
             [control]\naudit_log = 'audit.jsonl'\n",
        );
        std::fs::write(&file, text).unwrap();
        let mut child = Command::new(&load.options.program)
            .args(["run", "--listen", "127.0.0.1:0", "--config"])
            .arg(&file)
            .env("TIDEMARK_TOKEN", "a-token-for-benchmarks")
            .env("TIDEMARK_LOG", "warn")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let line = BufReader::new(child.stdout.take().unwrap())
            .lines()
            .next()
            .unwrap()
            .unwrap();
        let address = line
            .strip_prefix("console: http://")
            .expect("the first line names the console");
        let address = address.trim_end_matches('/').to_owned();
        eprintln!(
            "controller {} at {address}, {} links",
            child.id(),
            load.links.len()
        );
        Self {
            child,
            address,
            _directory: directory,
        }
    }

    /// Returns the CPU time of all its threads so far, s.
    pub(crate) fn cpu_s(&self) -> f64 {
        cpu_s(&self.child.id().to_string())
    }

    /// Returns its resident memory, current and peak, MiB.
    pub(crate) fn rss_mib(&self) -> (f64, f64) {
        rss_mib(&self.child.id().to_string())
    }
}

/// Returns the CPU time of all threads of this process so far, including ended threads, s.
pub(crate) fn own_cpu_s() -> f64 {
    let clock = nix::time::ClockId::CLOCK_PROCESS_CPUTIME_ID;
    let spent = clock.now().unwrap();
    spent.tv_sec() as f64 + spent.tv_nsec() as f64 / 1e9
}

/// Returns the resident memory of this process, current and peak, MiB.
pub(crate) fn own_rss_mib() -> (f64, f64) {
    rss_mib("self")
}

fn cpu_s(process: &str) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let of_all = stat.rsplit(')').next().unwrap();
    let fields: Vec<&str> = of_all.split_whitespace().collect();
    let ticks = fields[11..13].iter().map(|t| t.parse::<f64>().unwrap());
    // USER_HZ of every Linux architecture in use.
    ticks.sum::<f64>() / 100.0
}

fn rss_mib(process: &str) -> (f64, f64) {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let of = |key: &str| {
        let line = status.lines().find(|l| l.starts_with(key)).unwrap();
        let kib = line.split_whitespace().nth(1).unwrap();
        kib.parse::<f64>().unwrap() / 1024.0
    };
    (of("VmRSS:"), of("VmHWM:"))
}

impl Drop for Controller {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
