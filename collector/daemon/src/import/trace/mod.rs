// SPDX-License-Identifier: Apache-2.0
//! Reads text traces of one or several hosts, event by event in time order.

mod file;
mod lines;
mod survey;

use super::report::{HostReport, TraceReport};
use anyhow::Result;
use daemon_kit::cli::Usage;
use file::{Looked, TraceFile};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use tcp_probe::Event;
use tidemark_proto::{NAME_RULE, is_name};

/// Name of the only host if none is given.
const HOST: &str = "trace";

/// `--tcp-probe [HOST=]FILE`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceSource {
    /// Host that recorded the trace, if it is named.
    pub host: Option<String>,
    /// File of the trace.
    pub path: PathBuf,
}

impl FromStr for TraceSource {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // A path may also contain `=`.
        let named = text
            .split_once('=')
            .filter(|(host, _)| !host.is_empty() && !host.contains('/'))
            .filter(|_| !Path::new(text).exists());
        Ok(match named {
            Some((host, path)) => Self {
                host: Some(host.to_owned()),
                path: path.into(),
            },
            None => Path::new(text).into(),
        })
    }
}

impl From<&Path> for TraceSource {
    fn from(path: &Path) -> Self {
        Self {
            host: None,
            path: path.into(),
        }
    }
}

/// Returns the name of a source's host: as given, else from the file name unless `alone`.
fn name(source: &TraceSource, alone: bool) -> String {
    let by_file = || match source.path.file_name() {
        Some(file) if !alone => {
            let file = file.to_string_lossy();
            let stem = file.split('.').find(|part| !part.is_empty());
            let kept = |c: &char| c.is_ascii_alphanumeric() || "-_:%".contains(*c);
            let plain = |c: char| if kept(&c) { c } else { '_' };
            stem.map_or_else(
                || HOST.to_owned(),
                |s| s.chars().map(plain).take(64).collect(),
            )
        }
        _ => HOST.to_owned(),
    };
    source.host.clone().unwrap_or_else(by_file)
}

struct Host {
    name: String,
    files: Vec<Looked>,
    /// How far the host's clock is ahead of the pcap's, in ns; `None` if unknown.
    ahead_ns: Option<i64>,
}

/// The surveyed traces of an import.
#[derive(Default)]
pub(crate) struct TraceSet(Vec<Host>);

impl TraceSet {
    /// # Errors
    /// If a file cannot be read or is not a trace, or if it is unclear which host a file is from.
    pub(crate) fn look(sources: &[TraceSource]) -> Result<Self> {
        let mut hosts: Vec<Host> = Vec::new();
        for source in sources {
            let name = name(source, sources.len() == 1);
            Usage::unless(
                is_name(&name),
                format!("--tcp-probe {name:?}=...: a host's name must be {NAME_RULE}"),
            )?;
            let known = hosts.iter_mut().find(|h| h.name == name);
            Usage::unless(
                known.is_none() || source.host.is_some(),
                format!(
                    "--tcp-probe {}: two files are named {name}: say which host each is of, with --tcp-probe HOST=FILE",
                    source.path.display()
                ),
            )?;
            let file = Looked::at(&source.path)?;
            match known {
                Some(host) => host.files.push(file),
                None => hosts.push(Host {
                    name,
                    files: vec![file],
                    ahead_ns: None,
                }),
            }
        }
        Ok(Self(hosts))
    }

    /// Finds how far each host's clock is ahead of the pcap's; `find` gets the host's events.
    pub(super) fn align(
        &mut self,
        mut find: impl FnMut(Traces) -> Result<Option<i64>>,
    ) -> Result<()> {
        for place in 0..self.0.len() {
            let alone = Traces::of(self.0.get(place).into_iter())?;
            let found = find(alone)?;
            if let Some(host) = self.0.get_mut(place) {
                if found.is_none() && host.files.iter().any(|f| f.survey.events > 0) {
                    tracing::warn!(
                        "no sample of the trace of {} matches a report of the pcap: is it of the same run?",
                        host.name
                    );
                }
                host.ahead_ns = found;
            }
        }
        Ok(())
    }

    /// Returns the first host whose clock is also the pcap's.
    pub(super) fn local(&self) -> Option<&str> {
        let host = self.0.iter().find(|h| h.ahead_ns == Some(0));
        host.map(|h| h.name.as_str())
    }

    /// # Errors
    /// When a file cannot be read.
    pub(crate) fn open(&self) -> Result<Traces> {
        Traces::of(self.0.iter())
    }
}

struct Open {
    host: usize,
    ahead_ns: i64,
    file: TraceFile,
}

impl Open {
    /// Returns the time of the next event on the pcap's clock.
    #[inline]
    fn time_ns(&self) -> Option<u64> {
        let time_ns = self.file.time_ns()?;
        Some(time_ns.saturating_add_signed(self.ahead_ns.saturating_neg()))
    }
}

/// Traces that are being read.
pub(crate) struct Traces {
    hosts: Vec<(String, Option<i64>)>,
    files: Vec<Open>,
}

impl Traces {
    fn of<'a>(hosts: impl Iterator<Item = &'a Host>) -> Result<Self> {
        let mut traces = Self {
            hosts: Vec::new(),
            files: Vec::new(),
        };
        for (place, host) in hosts.enumerate() {
            traces.hosts.push((host.name.clone(), host.ahead_ns));
            for file in &host.files {
                traces.files.push(Open {
                    host: place,
                    ahead_ns: host.ahead_ns.unwrap_or(0),
                    file: file.open()?,
                });
            }
        }
        Ok(traces)
    }

    /// Returns the next event of all hosts that is not later than `time_ns` on the pcap's clock,
    /// with its host and its time on that clock.
    #[inline]
    pub(crate) fn until(&mut self, time_ns: u64) -> Result<Option<(&str, u64, Event)>> {
        let times = self.files.iter().enumerate();
        let first = times
            .filter_map(|(place, open)| Some((open.time_ns()?, place)))
            .min();
        let Some((at_ns, place)) = first.filter(|(at_ns, _)| *at_ns <= time_ns) else {
            return Ok(None);
        };
        let Some(open) = self.files.get_mut(place) else {
            return Ok(None);
        };
        let host = self.hosts.get(open.host).map_or(HOST, |h| h.0.as_str());
        Ok(open.file.take()?.map(|event| (host, at_ns, event)))
    }

    pub(super) fn report(&self) -> TraceReport {
        let mut all = TraceReport::default();
        for (place, (name, ahead_ns)) in self.hosts.iter().enumerate() {
            let mut host = TraceReport::default();
            for open in self.files.iter().filter(|f| f.host == place) {
                host.add(&open.file.report);
            }
            all.add(&host);
            all.hosts.push(HostReport {
                host: name.clone(),
                samples: host.samples,
                ahead_s: ahead_ns.map(|ns| ns as f64 / 1e9),
            });
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> TraceSource {
        text.parse().unwrap()
    }

    #[test]
    fn hosts_are_named_or_have_the_name_of_their_file() {
        let named = source("h1=runs/a=b.txt");
        assert_eq!(named.host.as_deref(), Some("h1"));
        assert_eq!(named.path, Path::new("runs/a=b.txt"));
        let plain = source("runs/k=3/sender.txt.gz");
        assert_eq!(plain.host, None);
        assert_eq!(
            (name(&plain, true), name(&plain, false)),
            (HOST.into(), "sender".into())
        );
    }

    fn line(cpu: u32, us: u64) -> String {
        format!(
            "x-1 [{cpu:03}] ..s2. {}.{:06}: tcp_probe: src=10.0.0.1:{cpu} dest=10.0.0.2:2 mark=0x0 \
             data_len=0 snd_nxt=0x2 snd_una=0x1 snd_cwnd=10 ssthresh=9 snd_wnd=8 srtt=7 rcv_wnd=6\n",
            us / 1_000_000,
            us % 1_000_000
        )
    }

    fn times(traces: &mut Traces) -> Vec<(String, u64)> {
        let mut all = Vec::new();
        while let Some((host, at_ns, event)) = traces.until(u64::MAX).unwrap() {
            let _ = event;
            all.push((host.to_owned(), at_ns / 1000));
        }
        all
    }

    #[test]
    fn buffers_one_after_the_other_come_in_the_order_of_time() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.txt");
        // Longer than a window: as `cat per_cpu/cpu*/trace` gives it.
        let n = 2 * survey::WINDOW as u64;
        let text: String = (0..2)
            .flat_map(|cpu| (0..n).map(move |i| line(cpu, 1 + 2 * i + u64::from(cpu))))
            .collect();
        std::fs::write(&path, text).unwrap();
        let set = TraceSet::look(&[path.as_path().into()]).unwrap();
        let mut traces = set.open().unwrap();
        let found = times(&mut traces);
        assert!(found.iter().map(|f| f.1).eq(1..=2 * n));
        let report = traces.report();
        assert_eq!(
            (report.samples, report.out_of_order, report.malformed),
            (2 * n, n - 1, 0)
        );
    }

    #[test]
    fn files_of_one_host_are_one_trace_and_hosts_have_clocks_of_their_own() {
        let dir = tempfile::tempdir().unwrap();
        let mut sources = Vec::new();
        for (file, host, at) in [
            ("a", "h1", [1, 5]),
            ("b", "h1", [2, 4]),
            ("c", "h2", [1003, 1006]),
        ] {
            let path = dir.path().join(file);
            std::fs::write(&path, line(1, at[0]) + &line(1, at[1])).unwrap();
            sources.push(source(&format!("{host}={}", path.display())));
        }
        let mut set = TraceSet::look(&sources).unwrap();
        let mut ahead = [0, 1_000_000].into_iter();
        set.align(|_| Ok(ahead.next())).unwrap();
        assert_eq!(set.local(), Some("h1"));
        let found = times(&mut set.open().unwrap());
        let found: Vec<_> = found.iter().map(|(h, t)| (h.as_str(), *t)).collect();
        assert_eq!(
            found,
            [
                ("h1", 1),
                ("h1", 2),
                ("h2", 3),
                ("h1", 4),
                ("h1", 5),
                ("h2", 6)
            ]
        );

        sources.iter_mut().for_each(|s| s.host = None);
        let same = sources[0].path.clone();
        sources[1].path = same;
        let error = TraceSet::look(&sources).err().unwrap().to_string();
        assert!(
            error.contains("two files are named a: say which host"),
            "{error}"
        );
    }

    #[test]
    fn lines_without_end_and_files_that_are_no_trace_are_told() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.txt");
        std::fs::write(
            &path,
            line(1, 1) + &"x: ".repeat(100_000) + "\n" + &line(1, 2),
        )
        .unwrap();
        let mut traces = TraceSet::look(&[path.as_path().into()])
            .unwrap()
            .open()
            .unwrap();
        assert_eq!(times(&mut traces).len(), 2);
        assert_eq!((traces.report().lines, traces.report().malformed), (3, 1));

        for (content, words) in [
            (
                &b"some text\nmore text\n"[..],
                "none of its 2 lines is of a trace",
            ),
            (
                b"PERFILE2\0\0",
                "not a text trace but data of `perf record`",
            ),
        ] {
            std::fs::write(&path, content).unwrap();
            let error = TraceSet::look(&[path.as_path().into()])
                .err()
                .unwrap()
                .to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
