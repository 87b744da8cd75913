// SPDX-License-Identifier: Apache-2.0
//! In-memory connections that delay, stall, break and change bytes, with the real server at the
//! other end.

use super::switch::Switch;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use p4runtime_server::Server;
use std::io::{Error, ErrorKind};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use test_support::rng::Rng;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, DuplexStream};
use tokio::sync::watch;

const BUFFER_BYTES: usize = 1 << 16;
const STALL: Duration = Duration::from_millis(50);

struct State {
    rng: Rng,
    /// Each piece takes up to this much longer than 1 ms.
    slower_ms: u64,
    /// Nothing passes; sent bytes wait.
    stalled: bool,
    /// Nobody listens.
    closed: bool,
    /// Probability that a bit of a piece changes.
    flips: f64,
    server: Server,
    switch: Arc<Switch>,
    starts: u64,
}

/// The network between driver and switch.
#[derive(Clone)]
pub(crate) struct Network {
    state: Arc<Mutex<State>>,
    /// Changes when all connections break.
    cut: watch::Sender<u64>,
    seed: u64,
}

fn power_on(seed: u64, start: u64) -> (Arc<Switch>, Server) {
    let switch = Arc::new(Switch::new(Rng::of_part(seed, 100 + start)));
    let server = Server::new(switch.clone(), 1);
    (switch, server)
}

impl Network {
    /// Makes a network with a switch that has just started.
    pub(crate) fn new(seed: u64) -> Self {
        let (switch, server) = power_on(seed, 0);
        let state = State {
            rng: Rng::of_part(seed, 1),
            slower_ms: 3,
            stalled: false,
            closed: false,
            flips: 0.0,
            server,
            switch,
            starts: 0,
        };
        Self {
            state: Arc::new(Mutex::new(state)),
            cut: watch::channel(0).0,
            seed,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub(crate) fn switch(&self) -> Arc<Switch> {
        Arc::clone(&self.lock().switch)
    }

    /// Returns the number of the switch's starts so far.
    pub(crate) fn starts(&self) -> u64 {
        self.lock().starts
    }

    pub(crate) fn set_slower_ms(&self, ms: u64) {
        self.lock().slower_ms = ms;
    }

    pub(crate) fn set_stalled(&self, stalled: bool) {
        self.lock().stalled = stalled;
    }

    pub(crate) fn set_flips(&self, flips: f64) {
        self.lock().flips = flips;
    }

    /// Breaks all connections.
    pub(crate) fn cut(&self) {
        self.cut.send_modify(|n| *n += 1);
    }

    /// Cuts the switch's power; nobody listens until it is back.
    pub(crate) fn power_off(&self) {
        self.lock().closed = true;
        self.cut();
    }

    /// Starts the switch, without a program.
    pub(crate) fn power_on(&self) {
        let start = self.lock().starts + 1;
        let (switch, server) = power_on(self.seed, start);
        let mut s = self.lock();
        (s.switch, s.server, s.starts, s.closed) = (switch, server, start, false);
        drop(s);
        // If it was on, this breaks the connections of its last start.
        self.cut();
    }

    /// Connects to the switch, like TCP.
    ///
    /// # Errors
    /// Nobody listens.
    pub(crate) async fn connect(self) -> Result<TokioIo<DuplexStream>, Error> {
        while self.lock().stalled {
            tokio::time::sleep(STALL).await;
        }
        if self.lock().closed {
            return Err(Error::from(ErrorKind::ConnectionRefused));
        }
        let (client, near) = tokio::io::duplex(BUFFER_BYTES);
        let (far, server) = tokio::io::duplex(BUFFER_BYTES);
        let service = self.lock().server.clone().into_service();
        // Like tonic's server, but without the time of day in each answer, so that a run does not
        // depend on it.
        let serve = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .auto_date_header(false)
            .serve_connection(TokioIo::new(server), TowerToHyperService::new(service));
        tokio::spawn(async move {
            // Broken connections are expected here.
            let _ = serve.await;
        });
        tokio::spawn(self.relay(near, far));
        Ok(TokioIo::new(client))
    }

    async fn relay(self, near: DuplexStream, far: DuplexStream) {
        let (near_in, near_out) = tokio::io::split(near);
        let (far_in, far_out) = tokio::io::split(far);
        let mut cut = self.cut.subscribe();
        let both = async {
            tokio::join!(self.pass(near_in, far_out), self.pass(far_in, near_out));
        };
        tokio::select! {
            biased;
            _ = cut.changed() => {}
            () = both => {}
        }
    }

    /// Carries one direction to its end, in order.
    async fn pass(&self, mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) {
        let mut bytes = vec![0; BUFFER_BYTES];
        loop {
            let n = match from.read(&mut bytes).await {
                Ok(n) if n > 0 => n,
                _ => break,
            };
            let delay_ms = {
                let mut s = self.lock();
                let most = s.slower_ms;
                1 + s.rng.between(0, most)
            };
            tokio::time::sleep(Duration::from_millis(delay_ms)).await;
            while self.lock().stalled {
                tokio::time::sleep(STALL).await;
            }
            {
                let mut s = self.lock();
                let flips = s.flips;
                if s.rng.chance(flips) {
                    let at = s.rng.between(0, n as u64 - 1) as usize;
                    bytes[at] ^= 1 << s.rng.between(0, 7);
                }
            }
            if to.write_all(&bytes[..n]).await.is_err() {
                break;
            }
        }
        // The other end reads the remaining bytes, and then the end.
        let _ = to.shutdown().await;
    }
}
