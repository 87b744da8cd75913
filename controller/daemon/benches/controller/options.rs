// SPDX-License-Identifier: Apache-2.0
//! Options of the benchmark: the generated load, and its duration.

use std::path::PathBuf;

const USAGE: &str = "--links N --switches N --collectors N --flows N (of each link) --queues N (of each port; all but the first are idle) \
     --interval-ms N --base-rtt-ms N --past S --settle S --measure S --json FILE --program FILE (another build) --counted yes (simulated time, no sockets)";

#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub links: u32,
    pub switches: u32,
    pub collectors: u32,
    pub flows: u64,
    /// Queues of each port; the first carries the flows, the others had a single packet.
    pub queues: u32,
    pub interval_ms: u64,
    pub base_rtt_ms: u64,
    /// Length of the telemetry sent at once at the start, to fill the history before measuring.
    pub past_s: u64,
    pub settle_s: u64,
    pub measure_s: u64,
    pub json: Option<PathBuf>,
    pub program: PathBuf,
    /// Whether to measure in simulated time in this process, without sockets.
    pub counted: bool,
}

impl Options {
    pub(crate) fn parse<'a>(arguments: impl Iterator<Item = &'a String>) -> Self {
        let mut options = Self {
            links: 1000,
            switches: 50,
            collectors: 4,
            flows: 6,
            queues: 1,
            interval_ms: 100,
            base_rtt_ms: 20,
            past_s: 130,
            settle_s: 5,
            measure_s: 20,
            json: None,
            counted: false,
            program: env!("CARGO_BIN_EXE_tidemark-controller").into(),
        };
        let mut arguments = arguments;
        while let Some(flag) = arguments.next() {
            let value = arguments
                .next()
                .unwrap_or_else(|| panic!("{flag}: no value; {USAGE}"));
            let number = || -> u64 {
                let n = value.parse();
                n.unwrap_or_else(|_| panic!("{flag} {value}: no whole number; {USAGE}"))
            };
            let positive = || u32::try_from(number()).unwrap_or(u32::MAX).max(1);
            match flag.as_str() {
                "--links" => options.links = positive(),
                "--switches" => options.switches = positive(),
                "--collectors" => options.collectors = positive(),
                "--flows" => options.flows = number(),
                "--queues" => options.queues = positive(),
                "--interval-ms" => options.interval_ms = number().max(1),
                "--base-rtt-ms" => options.base_rtt_ms = number().max(1),
                "--past" => options.past_s = number(),
                "--settle" => options.settle_s = number(),
                "--measure" => options.measure_s = number().max(1),
                "--counted" => options.counted = value == "yes",
                "--program" => options.program = value.into(),
                "--json" => options.json = Some(value.into()),
                _ => panic!("{flag}: no such flag; {USAGE}"),
            }
        }
        options
    }
}
