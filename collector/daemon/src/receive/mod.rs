// SPDX-License-Identifier: Apache-2.0
//! Receives report datagrams as fast as the kernel gives them: by rings of packets
//! where `receive.path` asks for them and they can be had, else by several sockets
//! per address (SO_REUSEPORT) with a thread each, datagrams that the kernel has
//! coalesced (UDP_GRO), many per system call (recvmmsg), large buffers.
//!
//! The sockets of one address share the work by the UDP source port: a switch
//! varies it with the flow. Every datagram the kernel had no room for is
//! counted ([`Totals::kernel_drops`]).

mod counters;
mod error;
mod filter;
mod messages;
mod options;
mod packet;
mod path;
mod received;
mod ring;
mod socket;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use counters::ShardCounters;
pub use counters::{Counters, Totals};
pub use error::BindError;
use messages::Messages;
pub use options::{ReceiveConfig, ReceivePath};
pub use path::Path;
pub use received::{Message, Received};
pub use ring::NoRing;
use socket::ReportSocket;

/// Datagrams that follow each other within this are worth gathering.
const DENSE: Duration = Duration::from_millis(1);
/// For how long they gather in the kernel before the next call: a call, and the
/// waking of two threads, for each would cost more than all else. It is no more
/// than the kernel's own tolerance of timers, twice at most.
const GATHER: Duration = Duration::from_micros(50);
/// After a request to stop, what the sockets hold is delivered for this long at
/// most: senders may go on.
const STOP_WITHIN: Duration = Duration::from_millis(500);
/// How often the kernel's drop counter is read while datagrams flow.
const DROP_CHECK: Duration = Duration::from_millis(20);

/// Bound sockets, not yet read.
#[derive(Debug)]
pub struct ReportReceiver {
    sockets: Vec<ReportSocket>,
    counters: Arc<Counters>,
}

impl ReportReceiver {
    /// Opens `shards` sockets on every address. A port of 0 is chosen by the
    /// kernel, the same for all shards of that address.
    ///
    /// # Errors
    /// Says which address and what to do.
    pub fn bind(listen: &[SocketAddr], options: &ReceiveConfig) -> Result<Self, BindError> {
        if options.shards == 0 {
            return Err(BindError::NoShards);
        }
        let mut sockets = Vec::new();
        let mut paths = Vec::new();
        for &address in listen {
            let mut group = socket::bind_group(address, options)?;
            let no_ring = socket::open_rings(&mut group, options).err();
            let address = group.first().map_or(address, |s| s.address);
            paths.push(Path::new(address, no_ring));
            sockets.extend(group);
        }
        if sockets.is_empty() {
            return Err(BindError::NoAddress);
        }
        let counters = Arc::new(Counters::new(sockets.len(), paths));
        Ok(Self { sockets, counters })
    }

    /// Address of each socket, in the order of the shards' numbers.
    #[must_use]
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.sockets.iter().map(|socket| socket.address).collect()
    }

    /// Counters that live on after this value.
    #[must_use]
    pub fn counters(&self) -> Arc<Counters> {
        Arc::clone(&self.counters)
    }

    /// Starts one thread per socket. `handler` makes what each thread calls
    /// with every batch, from the number of the thread.
    ///
    /// # Errors
    /// When a thread cannot be started; those started before are stopped.
    pub fn start<H>(self, mut handler: impl FnMut(usize) -> H) -> io::Result<Running>
    where
        H: FnMut(&Received<'_>) + Send + 'static,
    {
        let mut running = Running {
            stop: Arc::new(AtomicBool::new(false)),
            threads: Vec::new(),
        };
        let counted = self.sockets.into_iter().zip(&self.counters.shards);
        for (shard, (socket, count)) in counted.enumerate() {
            let stop = Arc::clone(&running.stop);
            let count = Arc::clone(count);
            let handler = handler(shard);
            let thread = std::thread::Builder::new()
                .name(format!("reports-{shard}"))
                .spawn(move || run(socket, &count, &stop, handler))?;
            running.threads.push(thread);
        }
        Ok(running)
    }
}

/// Threads that receive until stopped or dropped.
#[derive(Debug)]
pub struct Running {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Running {
    /// Stops the threads after they have delivered what the sockets still hold.
    pub fn stop(self) {}
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a thread that receives reports has panicked");
            }
        }
    }
}

fn run(
    mut socket: ReportSocket,
    count: &ShardCounters,
    stop: &AtomicBool,
    mut handler: impl FnMut(&Received<'_>),
) {
    let mut messages = Messages::new();
    let mut checked = Instant::now();
    // The call before has filled all buffers: more is probably there.
    let mut more = false;
    let mut last = Instant::now();
    let mut stopping_since = None;
    loop {
        // Before the call: what had arrived by then is still delivered.
        let stopping = stop.load(Ordering::Relaxed);
        if stopping {
            let since = *stopping_since.get_or_insert_with(Instant::now);
            if since.elapsed() > STOP_WITHIN {
                count.set_kernel_drops(socket.kernel_drops());
                tracing::warn!(
                    address = %socket.address,
                    "reports still came in at the end; those in the socket's buffer are left"
                );
                handler(&Received::nothing());
                return;
            }
        }
        let received = socket.receive(&mut messages, !stopping && !more, |batch| {
            count.add(batch);
            handler(batch);
        });
        match received {
            Ok(full) => {
                more = full;
                if !more && !stopping && socket.ring.is_none() {
                    let now = Instant::now();
                    if now.duration_since(last) < DENSE {
                        std::thread::sleep(GATHER);
                    }
                    last = now;
                }
                if checked.elapsed() < DROP_CHECK {
                    continue;
                }
            }
            Err(_) if more => {
                more = false;
                handler(&Received::nothing());
                continue;
            }
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                    if stopping {
                        count.set_kernel_drops(socket.kernel_drops());
                        return;
                    }
                }
                io::ErrorKind::Interrupted => continue,
                _ => {
                    count.add_error();
                    tracing::warn!(%error, address = %socket.address, "receiving reports");
                    // Not to spin should it last.
                    std::thread::sleep(Duration::from_millis(10));
                    if stopping {
                        return;
                    }
                }
            },
        }
        checked = Instant::now();
        count.set_kernel_drops(socket.kernel_drops());
    }
}

#[cfg(test)]
mod tests;
