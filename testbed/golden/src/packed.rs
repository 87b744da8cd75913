// SPDX-License-Identifier: Apache-2.0
//! `records.gz` of the golden set: columns of differences.
//!
//! Each 32-bit word of a report is kept as its difference to what is expected
//! there. `README.md` describes the file, `reduce.py` writes it.

use crate::columns::Columns;
use crate::run::{Report, invalid};
use crate::trace::Sample;
use flate2::read::GzDecoder;
use serde::Deserialize;
use std::collections::HashMap;
use std::io::{self, Read};

#[derive(Deserialize)]
struct Header {
    reports: usize,
    samples: usize,
    /// For each form of report, one letter a word: what the word is subtracted
    /// from.
    forms: Vec<String>,
    /// Source, destination and cookie.
    sockets: Vec<(String, String, String)>,
    /// Name and length in bytes.
    columns: Vec<(String, usize)>,
}

/// What is in a file: the reports, and the samples of tcp_probe.
pub(crate) fn unpack(file: impl Read) -> io::Result<(Vec<Report>, Vec<Sample>)> {
    let mut bytes = Vec::new();
    GzDecoder::new(file).read_to_end(&mut bytes)?;
    let (header, columns) = bytes
        .split_first_chunk::<4>()
        .and_then(|(length, rest)| rest.split_at_checked(u32::from_le_bytes(*length) as usize))
        .ok_or_else(|| invalid("the header is cut off"))?;
    let header: Header = serde_json::from_slice(header)?;
    let mut columns = Columns::split(&header.columns, columns)?;
    Ok((
        reports(&header, &mut columns)?,
        samples(&header, &mut columns)?,
    ))
}

fn reports(header: &Header, columns: &mut Columns<'_>) -> io::Result<Vec<Report>> {
    let names: Vec<Vec<String>> = header
        .forms
        .iter()
        .enumerate()
        .map(|(form, kinds)| (0..kinds.len()).map(|i| format!("{form}.{i}")).collect())
        .collect();
    // By letter and word: the word (less the capture time for `c`) before.
    let mut before: HashMap<(u8, usize), u32> = HashMap::new();
    let mut of_flow: HashMap<i64, Vec<u32>> = HashMap::new();
    let mut captured_ns = 0i64;
    let mut reports = Vec::with_capacity(header.reports);
    for _ in 0..header.reports {
        let form = columns.next("form")? as usize;
        let flow = columns.next("flow")?;
        captured_ns += columns.next("captured_ns")?;
        let (Some(kinds), Some(names)) = (header.forms.get(form), names.get(form)) else {
            return Err(invalid(format!(
                "a report of form {form}, which is not listed"
            )));
        };
        let same_flow = of_flow.entry(flow).or_default();
        same_flow.resize(kinds.len(), 0);
        let mut payload = Vec::with_capacity(4 * kinds.len());
        for (i, ((kind, name), same)) in kinds.bytes().zip(names).zip(same_flow).enumerate() {
            let base = if kind == b'c' { captured_ns as u32 } else { 0 };
            let last = before.entry((kind, i)).or_default();
            let expected = match kind {
                b'f' => *same,
                _ => last.wrapping_add(base),
            };
            let word = expected.wrapping_add(columns.next(name)? as u32);
            *last = word.wrapping_sub(base);
            *same = word;
            payload.extend(word.to_be_bytes());
        }
        reports.push(Report {
            captured_ns: captured_ns as u64,
            payload,
        });
    }
    Ok(reports)
}

fn samples(header: &Header, columns: &mut Columns<'_>) -> io::Result<Vec<Sample>> {
    const NAMES: [&str; 8] = [
        "sample.0", "sample.1", "sample.2", "sample.3", "sample.4", "sample.5", "sample.6",
        "sample.7",
    ];
    let mut before: HashMap<i64, [i64; 8]> = HashMap::new();
    let mut time_us = 0;
    let mut samples = Vec::with_capacity(header.samples);
    for _ in 0..header.samples {
        let cpu = columns.next("cpu")?;
        let socket = columns.next("socket")?;
        time_us += columns.next("time_us")?;
        let numbers = before.entry(socket).or_default();
        for (number, name) in numbers.iter_mut().zip(NAMES) {
            *number += columns.next(name)?;
        }
        let (source, destination, cookie) = header
            .sockets
            .get(socket as usize)
            .ok_or_else(|| invalid(format!("a sample of socket {socket}, which is not listed")))?;
        samples.push(Sample {
            cpu,
            time_us,
            source: source.clone(),
            destination: destination.clone(),
            cookie: cookie.clone(),
            numbers: *numbers,
        });
    }
    Ok(samples)
}
