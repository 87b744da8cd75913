// SPDX-License-Identifier: Apache-2.0
//! `records.gz` of the golden set: columns of differences.
//!
//! Each 32-bit word of a report is kept as its difference to what is expected
//! there. `README.md` describes the file, `reduce.py` writes it.

use crate::golden::columns::{Columns, Place};
use crate::golden::error::invalid;
use crate::golden::report::Report;
use crate::golden::trace::Sample;
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
    let [form_at, flow_at, time_at] = ["form", "flow", "captured_ns"].map(|n| columns.place(n));
    // Letter and column of each word of each form.
    let forms: Vec<Vec<(u8, Place)>> = header
        .forms
        .iter()
        .enumerate()
        .map(|(form, letters)| {
            let place = |i| columns.place(&format!("{form}.{i}"));
            letters.bytes().zip((0..).map(place)).collect()
        })
        .collect();
    let longest = header.forms.iter().map(String::len).max().unwrap_or(0);
    // By letter and word: the word before, for `c` less its capture time.
    let mut before = vec![vec![0u32; longest]; 1 << u8::BITS];
    let mut of_flow: HashMap<i64, Vec<u32>> = HashMap::new();
    let mut captured_ns = 0i64;
    let mut reports = Vec::with_capacity(header.reports);
    for _ in 0..header.reports {
        let form = columns.next(form_at)?;
        let flow = columns.next(flow_at)?;
        captured_ns += columns.next(time_at)?;
        let Some(words) = forms.get(form as usize) else {
            return Err(invalid(format!(
                "a report of form {form}, which is not listed"
            )));
        };
        let same_flow = of_flow.entry(flow).or_default();
        same_flow.resize(longest, 0);
        let mut payload = Vec::with_capacity(4 * words.len());
        for (i, (&(letter, place), same)) in words.iter().zip(same_flow).enumerate() {
            let base = if letter == b'c' {
                captured_ns as u32
            } else {
                0
            };
            let last = before
                .get_mut(usize::from(letter))
                .and_then(|words| words.get_mut(i))
                .ok_or_else(|| invalid("a form is longer than the longest"))?;
            let expected = if letter == b'f' {
                *same
            } else {
                last.wrapping_add(base)
            };
            let word = expected.wrapping_add(columns.next(place)? as u32);
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
    let [cpu_at, socket_at, time_at] = ["cpu", "socket", "time_us"].map(|n| columns.place(n));
    let numbers_at: [Place; 8] = std::array::from_fn(|i| columns.place(&format!("sample.{i}")));
    let mut before: HashMap<i64, [i64; 8]> = HashMap::new();
    let mut time_us = 0;
    let mut samples = Vec::with_capacity(header.samples);
    for _ in 0..header.samples {
        let cpu = columns.next(cpu_at)?;
        let socket = columns.next(socket_at)?;
        time_us += columns.next(time_at)?;
        let numbers = before.entry(socket).or_default();
        for (number, place) in numbers.iter_mut().zip(numbers_at) {
            *number += columns.next(place)?;
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
