// SPDX-License-Identifier: Apache-2.0
//! Reads `records.gz` of the golden set: JSON with columns of differences.
//!
//! Each 32-bit word of a report is stored as the difference from its predicted
//! value. `README.md` describes the file; `reduce.py` writes it.

use crate::golden::error::invalid;
use crate::golden::report::Report;
use crate::golden::trace::Sample;
use flate2::read::GzDecoder;
use serde::Deserialize;
use std::collections::HashMap;
use std::io::{self, Read};

#[derive(Deserialize)]
struct Packed {
    /// For each form of report, one letter per word, which names the word's
    /// predictor.
    forms: Vec<String>,
    /// Source, destination and cookie of each socket.
    sockets: Vec<(String, String, String)>,
    columns: HashMap<String, Vec<i64>>,
}

/// Values of one column, in order.
type Column = std::vec::IntoIter<i64>;

impl Packed {
    fn take(&mut self, name: &str) -> io::Result<Column> {
        let column = self.columns.remove(name);
        let column = column.ok_or_else(|| invalid(format!("column {name} is missing")))?;
        Ok(column.into_iter())
    }
}

fn next(column: &mut Column) -> io::Result<i64> {
    let ended = || invalid("a column has fewer values than another");
    column.next().ok_or_else(ended)
}

/// Unpacks a file; returns the reports and the tcp_probe samples.
pub(crate) fn unpack(file: impl Read) -> io::Result<(Vec<Report>, Vec<Sample>)> {
    let json = io::read_to_string(GzDecoder::new(file))?;
    let mut packed: Packed = serde_json::from_str(&json)?;
    Ok((reports(&mut packed)?, samples(&mut packed)?))
}

fn reports(packed: &mut Packed) -> io::Result<Vec<Report>> {
    let form_of = packed.take("form")?;
    let mut flow_of = packed.take("flow")?;
    let mut times = packed.take("captured_ns")?;
    let letters = std::mem::take(&mut packed.forms);
    let longest = letters.iter().map(String::len).max().unwrap_or(0);
    // Letter and column of each word of each form.
    let mut forms: Vec<Vec<(u8, Column)>> = Vec::new();
    for (form, letters) in letters.iter().enumerate() {
        let words = letters.bytes().enumerate();
        let words = words.map(|(i, letter)| Ok((letter, packed.take(&format!("{form}.{i}"))?)));
        forms.push(words.collect::<io::Result<_>>()?);
    }
    // Previous word by letter and position; for `c`, minus its capture time.
    let mut before = vec![vec![0u32; longest]; 1 << u8::BITS];
    let mut of_flow: HashMap<i64, Vec<u32>> = HashMap::new();
    let mut captured_ns = 0i64;
    let mut reports = Vec::with_capacity(form_of.len());
    for form in form_of {
        let flow = next(&mut flow_of)?;
        captured_ns += next(&mut times)?;
        let Some(words) = forms.get_mut(form as usize) else {
            return Err(invalid(format!(
                "a report of form {form}, which is not listed"
            )));
        };
        let same_flow = of_flow.entry(flow).or_default();
        same_flow.resize(longest, 0);
        let mut payload = Vec::with_capacity(4 * words.len());
        for (i, ((letter, column), same)) in words.iter_mut().zip(same_flow).enumerate() {
            let base = if *letter == b'c' {
                captured_ns as u32
            } else {
                0
            };
            let last = before
                .get_mut(usize::from(*letter))
                .and_then(|words| words.get_mut(i))
                .ok_or_else(|| invalid("a form is longer than the longest"))?;
            let expected = if *letter == b'f' {
                *same
            } else {
                last.wrapping_add(base)
            };
            let word = expected.wrapping_add(next(column)? as u32);
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

fn samples(packed: &mut Packed) -> io::Result<Vec<Sample>> {
    let cpus = packed.take("cpu")?;
    let mut socket_of = packed.take("socket")?;
    let mut times = packed.take("time_us")?;
    let number = |i| packed.take(&format!("sample.{i}"));
    let mut numbers_of = (0..8).map(number).collect::<io::Result<Vec<_>>>()?;
    let mut before: HashMap<i64, [i64; 8]> = HashMap::new();
    let mut time_us = 0;
    let mut samples = Vec::with_capacity(cpus.len());
    for cpu in cpus {
        let socket = next(&mut socket_of)?;
        time_us += next(&mut times)?;
        let numbers = before.entry(socket).or_default();
        for (number, column) in numbers.iter_mut().zip(&mut numbers_of) {
            *number += next(column)?;
        }
        let (source, destination, cookie) = packed
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

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::read::GzEncoder;
    use serde_json::{Value, json};

    /// A file with one report of two words and one sample.
    fn packed() -> Value {
        let mut columns = json!({
            "form": [0], "flow": [0], "captured_ns": [7], "0.0": [-1], "0.1": [1 << 31],
            "cpu": [3], "socket": [0], "time_us": [5],
        });
        for i in 0..8 {
            columns[format!("sample.{i}")] = json!([i]);
        }
        json!({"forms": ["ac"], "sockets": [["a", "b", "c"]], "columns": columns})
    }

    fn read(packed: &Value) -> io::Result<(Vec<Report>, Vec<Sample>)> {
        let json = serde_json::to_vec(packed).unwrap();
        unpack(GzEncoder::new(json.as_slice(), Compression::fast()))
    }

    #[test]
    fn words_of_any_size_and_sign() {
        let (reports, samples) = read(&packed()).unwrap();
        let words = [u32::MAX, (1 << 31) + 7].map(u32::to_be_bytes).concat();
        assert_eq!((reports[0].captured_ns, &reports[0].payload), (7, &words));
        assert_eq!((samples[0].cpu, samples[0].time_us), (3, 5));
        assert_eq!(samples[0].numbers, [0, 1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn a_column_that_is_missing_or_short_is_refused() {
        for name in ["form", "flow", "0.1", "socket", "sample.7"] {
            let mut without = packed();
            without["columns"].as_object_mut().unwrap().remove(name);
            let error = read(&without).unwrap_err().to_string();
            assert!(
                error.contains(&format!("column {name} is missing")),
                "{error}"
            );
        }
        for name in ["flow", "captured_ns", "0.0", "socket", "sample.0"] {
            let mut short = packed();
            short["columns"][name] = json!([]);
            let error = read(&short).unwrap_err().to_string();
            assert!(
                error.contains("fewer values than another"),
                "{name}: {error}"
            );
        }
    }
}
