// SPDX-License-Identifier: Apache-2.0
//! All simulated traces of the shared folder, when it is there.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::{BufRead, BufReader};
use std::path::Path;

use tcp_probe::Event;
use tcp_probe::text::parse_line;

#[test]
fn every_line_of_the_simulated_traces_is_read() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/ns3");
    let Ok(entries) = std::fs::read_dir(&root) else {
        eprintln!("SKIPPED: no ../shared (looked for {})", root.display());
        return;
    };
    for entry in entries {
        let run = entry.unwrap().path();
        let file = std::fs::File::open(run.join("tcp_probe.txt.gz")).unwrap();
        let truth = std::fs::read_to_string(run.join("truth.json")).unwrap();
        let expected: u64 = {
            let rest = truth
                .split("\"tcp_probe_samples\":")
                .nth(1)
                .unwrap()
                .trim_start();
            rest.split(|c: char| !c.is_ascii_digit())
                .next()
                .unwrap()
                .parse()
                .unwrap()
        };
        let mut samples = 0;
        let mut comments = 0;
        let mut newest_ns = 0;
        for line in BufReader::new(flate2::read::GzDecoder::new(file)).split(b'\n') {
            match parse_line(&line.unwrap()).unwrap() {
                Some(Event::Probe(sample)) => {
                    samples += 1;
                    assert!(sample.time_ns >= newest_ns, "{}", run.display());
                    newest_ns = sample.time_ns;
                    assert!(sample.snd_nxt >= sample.snd_una);
                }
                Some(other) => panic!("{other:?}"),
                None => comments += 1,
            }
        }
        assert_eq!(samples, expected, "{}", run.display());
        assert!(comments < 10);
    }
}
