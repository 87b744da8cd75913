// SPDX-License-Identifier: Apache-2.0
//! A test server that acts as ClickHouse towards the sink and misbehaves as told.

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tidemark_clickhouse::ClickHouseConfig;
use tidemark_rows::PostcardRow;

/// Fate of an insert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Normal,
    /// Stored, but killed before the answer.
    StoredNoAnswer,
    /// Killed before anything was stored.
    LostNoAnswer,
    /// Killed between the log of tokens and the rows.
    TokenWithoutRows,
    /// Answered with an exception of this code.
    Exception(i32),
}

#[derive(Default)]
pub(crate) struct State {
    /// Fates of the next inserts; later inserts are normal.
    pub fates: VecDeque<Fate>,
    pub tokens: Vec<String>,
    /// Number of rows by (table, capture, batch).
    pub stored: BTreeMap<(String, String, String), u64>,
    pub inserts: u64,
    pub rollups: u64,
}

pub(crate) struct Server {
    pub address: SocketAddr,
    pub state: Arc<Mutex<State>>,
    stop: Arc<AtomicBool>,
}

impl Server {
    pub(crate) fn start(address: &str) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let server = Self {
            address: listener.local_addr().unwrap(),
            state: Arc::default(),
            stop: Arc::default(),
        };
        let (state, stop) = (server.state.clone(), server.stop.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                let state = state.clone();
                std::thread::spawn(move || {
                    // An error only means that the client closed its connection.
                    let _ = serve(stream.unwrap(), &state);
                });
            }
        });
        server
    }

    pub(crate) fn rows(&self) -> u64 {
        self.state.lock().unwrap().stored.values().sum()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address);
    }
}

fn decode(s: &str) -> String {
    let mut out = Vec::new();
    let mut bytes = s.bytes();
    while let Some(b) = bytes.next() {
        match b {
            b'%' => {
                let hex = [bytes.next().unwrap(), bytes.next().unwrap()];
                let hex = std::str::from_utf8(&hex).unwrap();
                out.push(u8::from_str_radix(hex, 16).unwrap());
            }
            b'+' => out.push(b' '),
            b => out.push(b),
        }
    }
    String::from_utf8(out).unwrap()
}

/// Number of rows of a block: the second varint.
fn block_rows(body: &[u8]) -> u64 {
    let block = zstd::decode_all(body).unwrap();
    let mut at = 1;
    let (mut rows, mut shift) = (0, 0);
    loop {
        rows |= u64::from(block[at] & 0x7f) << shift;
        if block[at] < 0x80 {
            return rows;
        }
        (at, shift) = (at + 1, shift + 7);
    }
}

fn serve(stream: TcpStream, state: &Mutex<State>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut stream = stream;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let target = line.split(' ').nth(1).unwrap_or("/").to_owned();
        let mut length = 0;
        loop {
            let mut header = String::new();
            reader.read_line(&mut header)?;
            let header = header.trim().to_ascii_lowercase();
            if header.is_empty() {
                break;
            }
            if let Some(v) = header.strip_prefix("content-length:") {
                length = v.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let pairs: BTreeMap<String, String> = target
            .split_once('?')
            .map_or("", |t| t.1)
            .split('&')
            .filter_map(|p| p.split_once('='))
            .map(|(k, v)| (decode(k), decode(v)))
            .collect();
        match answer(&pairs, &body, &mut state.lock().unwrap()) {
            None => return Ok(()),
            Some((code, text)) => {
                let (status, exception) = match code {
                    0 => ("200 OK", String::new()),
                    c => (
                        "500 Internal",
                        format!("X-ClickHouse-Exception-Code: {c}\r\n"),
                    ),
                };
                let length = text.len();
                write!(
                    stream,
                    "HTTP/1.1 {status}\r\n{exception}Content-Length: {length}\r\n\r\n{text}"
                )?;
            }
        }
    }
}

fn answer(
    pairs: &BTreeMap<String, String>,
    body: &[u8],
    state: &mut State,
) -> Option<(i32, String)> {
    let Some(insert) = pairs.get("query") else {
        let sql = std::str::from_utf8(body).unwrap();
        if sql.contains("system.tables") {
            return Some((0, "MergeTree\n".into()));
        }
        if sql.starts_with("INSERT INTO") {
            state.rollups += 1;
            return Some((0, String::new()));
        }
        let table = sql.split(" FROM ").nth(1).unwrap();
        let key = (
            table.split(' ').next().unwrap().to_owned(),
            pairs["param_capture"].clone(),
            pairs["param_batch"].clone(),
        );
        let rows = state.stored.get(&key).copied().unwrap_or(0);
        return Some((0, format!("{rows}\n")));
    };
    state.inserts += 1;
    let table = insert.split(' ').nth(2).unwrap().to_owned();
    let token = pairs["insert_deduplication_token"].clone();
    let plain = token.trim_end_matches("-again");
    let (rest, batch) = plain.rsplit_once('-').unwrap();
    let capture = rest.rsplit_once('-').unwrap().0.to_owned();
    let fate = state.fates.pop_front().unwrap_or(Fate::Normal);
    if let Fate::Exception(code) = fate {
        return Some((code, format!("Code: {code}. DB::Exception: as told\n")));
    }
    if fate == Fate::LostNoAnswer {
        return None;
    }
    let known = state.tokens.contains(&token);
    if !known {
        state.tokens.push(token.clone());
        if fate != Fate::TokenWithoutRows {
            let key = (table, capture, batch.to_owned());
            *state.stored.entry(key).or_default() += block_rows(body);
        }
    }
    (fate == Fate::Normal).then(|| (0, String::new()))
}

pub(crate) fn config(address: SocketAddr, spool: &Path) -> ClickHouseConfig {
    ClickHouseConfig {
        url: Some(format!("http://{address}")),
        spool_dir: Some(spool.to_path_buf()),
        batch_rows: 1000,
        batch_ms: 20,
        retry_max_ms: 50,
        ..ClickHouseConfig::default()
    }
}

pub(crate) fn row(order: u64) -> PostcardRow {
    PostcardRow {
        order,
        rx_ns: 5_000_000 + order * 1000,
        node_id: 10,
        port: 1,
        egress_ns: 1_000_000 + order * 1000,
        ..PostcardRow::default()
    }
}

/// Waits until `f` returns true; panics if that takes too long.
pub(crate) fn eventually(what: &str, mut f: impl FnMut() -> bool) {
    for _ in 0..3000 {
        if f() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("it does not happen: {what}");
}
