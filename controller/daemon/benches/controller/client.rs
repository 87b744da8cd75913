// SPDX-License-Identifier: Apache-2.0
//! A browser's requests to the controller.

use serde_json::Value;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Requests a path of the API and returns the JSON response.
pub(crate) fn get(address: &str, path: &str) -> Value {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "GET /api/v1{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    assert!(head.starts_with("HTTP/1.1 200"), "{path}: {head}");
    serde_json::from_str(body).unwrap_or_else(|e| panic!("{path}: {e}: {head}"))
}

/// Listens to the event stream as the console does when it shows a link.
pub(crate) struct Listener {
    events: Arc<AtomicU64>,
    bytes: Arc<AtomicU64>,
}

impl Listener {
    pub(crate) fn start(address: &str, (node, port): (u32, u32)) -> Self {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(
            stream,
            "GET /api/v1/events?node={node}&port={port} HTTP/1.1\r\nHost: localhost\r\n\r\n"
        )
        .unwrap();
        let (events, bytes) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let (seen_events, seen_bytes) = (Arc::clone(&events), Arc::clone(&bytes));
        // Ends with the program.
        std::thread::spawn(move || {
            let mut buffer = vec![0u8; 1 << 20];
            let name = b"event: update";
            // A name may be split between two reads.
            let mut tail: Vec<u8> = Vec::new();
            while let Ok(n) = stream.read(&mut buffer) {
                if n == 0 {
                    return;
                }
                tail.extend_from_slice(&buffer[..n]);
                let found = tail.windows(name.len()).filter(|w| w == name).count();
                tail.drain(..tail.len().saturating_sub(name.len() - 1));
                seen_events.fetch_add(found as u64, Ordering::Relaxed);
                seen_bytes.fetch_add(n as u64, Ordering::Relaxed);
            }
        });
        Self { events, bytes }
    }

    /// Returns the number of updates and bytes so far.
    pub(crate) fn seen(&self) -> (u64, u64) {
        let get = |n: &AtomicU64| n.load(Ordering::Relaxed);
        (get(&self.events), get(&self.bytes))
    }
}

pub(crate) fn median_and_most(values: &mut [f64]) -> (f64, f64) {
    values.sort_by(f64::total_cmp);
    let middle = values.get(values.len() / 2).copied().unwrap_or(0.0);
    (middle, values.last().copied().unwrap_or(0.0))
}
