// SPDX-License-Identifier: Apache-2.0
//! A simulated run: its reports, trace and truth.

use crate::golden::report::Report;
use crate::golden::{packed, pcap, trace};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::Value;
use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};

/// The runs of the golden set, by name.
pub const GOLDEN_RUNS: [&str; 7] = [
    "bscl_n20_bdp",
    "bscl_n60_bdp",
    "elastic_n2_b100",
    "one_bbr_1bdp",
    "one_cubic_half_bdp",
    "one_newreno_1bdp",
    "reno_n16_sqrt",
];

/// A simulated run with known truth.
#[derive(Clone, Debug)]
pub struct Run {
    /// Name of the run's folder.
    pub name: String,
    /// `truth.json`: flows with their class, capacity, clocks.
    pub truth: Value,
    /// The reports, in order of capture.
    pub reports: Vec<Report>,
    /// The senders' windows, as text of `trace_pipe`.
    pub trace: String,
}

impl Run {
    /// Reads a run of the golden set.
    ///
    /// # Errors
    /// `name` is not in [`GOLDEN_RUNS`], or its files are damaged.
    pub fn golden(name: &str) -> io::Result<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("golden/runs")
            .join(name);
        let file = folder.join("records.gz");
        let (reports, samples) = open(&file)
            .and_then(packed::unpack)
            .map_err(|e| at(&file, e))?;
        let mut trace = trace::HEADING.to_owned();
        for sample in samples {
            trace += &sample.to_string();
        }
        Ok(Self {
            name: name.to_owned(),
            truth: truth(&folder)?,
            reports,
            trace,
        })
    }

    /// Reads a run as written by the simulator: `reports.pcap.gz`, `tcp_probe.txt.gz` and
    /// `truth.json` in one folder.
    ///
    /// # Errors
    /// A file is missing or damaged; the message names it.
    pub fn read(folder: &Path) -> io::Result<Self> {
        let unzipped = |name: &str| {
            let file = folder.join(name);
            let mut bytes = Vec::new();
            open(&file)
                .and_then(|f| GzDecoder::new(f).read_to_end(&mut bytes))
                .map_err(|e| at(&file, e))?;
            Ok::<_, io::Error>(bytes)
        };
        let name = folder.file_name().unwrap_or_default();
        Ok(Self {
            name: name.to_string_lossy().into_owned(),
            truth: truth(folder)?,
            reports: pcap::read(&folder.join("reports.pcap.gz"))?,
            trace: String::from_utf8_lossy(&unzipped("tcp_probe.txt.gz")?).into_owned(),
        })
    }

    /// Writes the run in the form that [`Self::read`] and the collector's import
    /// read.
    ///
    /// # Errors
    /// The folder cannot be written to.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        let create = |name: &str| {
            let file = File::create(folder.join(name))?;
            Ok::<_, io::Error>(GzEncoder::new(file, Compression::fast()))
        };
        let mut capture = create("reports.pcap.gz")?;
        pcap::write(&mut capture, &self.reports)?;
        capture.finish()?;
        let mut trace = create("tcp_probe.txt.gz")?;
        trace.write_all(self.trace.as_bytes())?;
        trace.finish()?;
        std::fs::write(folder.join("truth.json"), self.truth.to_string())
    }
}

fn truth(folder: &Path) -> io::Result<Value> {
    let file = folder.join("truth.json");
    open(&file)
        .and_then(|f| Ok(serde_json::from_reader(f)?))
        .map_err(|e| at(&file, e))
}

fn open(path: &Path) -> io::Result<BufReader<File>> {
    File::open(path).map(BufReader::new)
}

fn at(path: &Path, e: io::Error) -> io::Error {
    io::Error::new(e.kind(), format!("{}: {e}", path.display()))
}

/// Error: the complete runs and tables are not next to the repository.
#[derive(Debug)]
pub struct SharedDataMissing {
    looked_for: PathBuf,
}

impl fmt::Display for SharedDataMissing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "no {}: this test needs the whole data next to the repository \
             (common/test-support/golden/README.md)",
            self.looked_for.display()
        )
    }
}

impl std::error::Error for SharedDataMissing {}

/// Returns a folder of `../shared/data`, such as `ns3`.
///
/// # Errors
/// The folder does not exist.
pub fn shared(folder: &str) -> Result<PathBuf, SharedDataMissing> {
    let looked_for = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/data")
        .join(folder);
    if looked_for.is_dir() {
        Ok(looked_for)
    } else {
        Err(SharedDataMissing { looked_for })
    }
}

/// Lists the complete runs in a folder of `../shared/data`, sorted by name.
///
/// # Errors
/// The folder does not exist or cannot be read.
pub fn shared_runs(folder: &str) -> io::Result<Vec<PathBuf>> {
    let folder = shared(folder).map_err(|e| io::Error::new(io::ErrorKind::NotFound, e))?;
    let mut runs = std::fs::read_dir(folder)?
        .map(|entry| entry.map(|e| e.path()))
        .collect::<io::Result<Vec<_>>>()?;
    runs.sort();
    Ok(runs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_golden_set_is_whole() {
        for name in GOLDEN_RUNS {
            let run = Run::golden(name).unwrap();
            let capture = &run.truth["capture"];
            let count = |key: &str| capture[key].as_u64().unwrap() as usize;
            assert_eq!(
                run.reports.len() + count("reports_lost"),
                count("reports_sent"),
                "{name}"
            );
            let samples = run.trace.lines().filter(|l| !l.starts_with('#')).count();
            assert_eq!(samples, count("tcp_probe_samples"), "{name}");
        }
        let error = Run::golden("no such run").unwrap_err().to_string();
        assert!(error.contains("no such run"), "{error}");
    }

    #[test]
    fn a_run_is_written_and_read() {
        let folder = std::env::temp_dir().join(format!("tidemark-golden-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let run = Run::golden("one_newreno_1bdp").unwrap();
        run.write(&folder).unwrap();
        let again = Run::read(&folder).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(again.reports, run.reports);
        assert_eq!((again.trace, again.truth), (run.trace, run.truth));
    }

    crate::shared_data_test! {
        /// The golden set equals the beginning of the complete runs, byte by byte.
        fn golden_runs_begin_as_the_whole_runs() {
            for name in GOLDEN_RUNS {
                let golden = Run::golden(name).unwrap();
                let whole = Run::read(&shared("ns3").unwrap().join(name)).unwrap();
                let (kept, rest) = whole.reports.split_at(golden.reports.len());
                assert!(golden.reports == kept, "{name}");
                let kept_ns = golden.truth["capture"]["seconds"].as_u64().unwrap() * 1_000_000_000;
                assert!(kept.last().unwrap().captured_ns <= kept_ns, "{name}");
                assert!(rest.first().unwrap().captured_ns > kept_ns, "{name}");
                let samples = |run: &Run| -> Vec<String> {
                    let lines = run.trace.lines().filter(|l| !l.starts_with('#'));
                    lines.map(str::to_owned).collect()
                };
                let (golden, whole) = (samples(&golden), samples(&whole));
                assert!(golden == whole[..golden.len()], "{name}");
            }
        }
    }
}
