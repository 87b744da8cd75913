// SPDX-License-Identifier: Apache-2.0
//! The data-plane thread: receives frames, handles events at their times, sends frames, and
//! runs control operations between packets.

mod clock;
mod moderation;
mod priority;
mod wait;

pub(crate) use priority::{give_way, take_precedence};

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::JoinHandle;

use anyhow::{Context, Result, anyhow};
use bytes::Bytes;
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::time::ClockId;
use p4runtime_server::target::DigestSample;
use tokio::sync::{broadcast, oneshot};

use crate::io::afpacket::{Arrived, Interface};
use clock::{Clock, read};
use moderation::Moderation;
use traffic_manager::{Switch, Wire};

/// Most frames received before events and control operations get their turn.
const RX_BUDGET: usize = 256;
/// Receive timestamps older than this are ignored (the wall clock was set).
const OLDEST_STAMP_NS: u64 = 1_000_000_000;
/// Most frames to the controller that wait for a slow reader.
const PACKET_IN_QUEUE: usize = 1024;
/// Most digests that wait for the server.
const DIGEST_QUEUE: usize = 4096;
/// Interval in which closely spaced work is handled at once, unless set otherwise.
pub const DEFAULT_COALESCE_NS: u64 = 50_000;

type Operation = Box<dyn FnOnce(&mut Plane) + Send>;

enum Command {
    Do(Operation),
    Stop,
}

/// State owned by the thread.
pub struct Plane {
    /// Program, queues and logical time.
    pub switch: Switch,
    /// Ports on which frames come and go.
    pub io: PortIo,
    clock: Clock,
    moderation: Moderation,
}
/// Interfaces of the ports, and the controller's port.
pub struct PortIo {
    /// Interfaces by port.
    pub interfaces: BTreeMap<u32, Interface>,
    /// Port number of the controller.
    pub cpu_port: Option<u32>,
    packet_in: broadcast::Sender<Bytes>,
    digests: broadcast::Sender<DigestSample>,
    /// Number of frames for ports without an interface.
    pub no_interface: u64,
    /// Buffers of sent frames, for reuse.
    spare: Vec<Vec<u8>>,
}

impl Wire for PortIo {
    fn transmit(&mut self, port: u32, frame: Vec<u8>, _time_ns: u64) {
        if let Some(i) = self.interfaces.get_mut(&port) {
            i.send(frame);
            self.spare.append(&mut i.spare);
        } else if self.cpu_port == Some(port) {
            // An error means that there is no receiver.
            let _ = self.packet_in.send(Bytes::from(frame));
        } else {
            self.no_interface += 1;
        }
    }

    fn give_back(&mut self, spare: &mut Vec<Vec<u8>>) {
        spare.append(&mut self.spare);
    }
}

/// Access to the data-plane thread. Cheap to clone.
#[derive(Clone)]
pub struct Handle {
    commands: Sender<Command>,
    wake: Arc<EventFd>,
    packet_in: broadcast::Sender<Bytes>,
    digests: broadcast::Sender<DigestSample>,
}

impl Handle {
    /// Runs `f` on the thread between two packets.
    ///
    /// # Errors
    /// The thread has ended.
    pub async fn call<R: Send + 'static>(
        &self,
        f: impl FnOnce(&mut Plane) -> R + Send + 'static,
    ) -> Result<R> {
        let (reply, answer) = oneshot::channel();
        let op: Operation = Box::new(move |p| {
            // The caller may be gone.
            let _ = reply.send(f(p));
        });
        self.post(Command::Do(op))?;
        answer.await.map_err(|_| ended())
    }

    fn post(&self, c: Command) -> Result<()> {
        self.commands.send(c).map_err(|_| ended())?;
        // A full counter also wakes the thread.
        let _ = self.wake.write(1);
        Ok(())
    }
    /// Returns a receiver of frames for the controller, from now on.
    pub fn packet_in(&self) -> broadcast::Receiver<Bytes> {
        self.packet_in.subscribe()
    }
    /// Returns a receiver of digests, from now on.
    pub fn digests(&self) -> broadcast::Receiver<DigestSample> {
        self.digests.subscribe()
    }
    /// Ends the thread.
    pub fn stop(&self) {
        let _ = self.post(Command::Stop);
    }
}

fn ended() -> anyhow::Error {
    anyhow!("the data plane has stopped")
}

/// Starts the thread. If passes would follow each other faster than `coalesce_ns`, all work of
/// such an interval is handled in one pass; 0: everything at its time.
///
/// # Errors
/// No file descriptors or threads are left.
pub fn start(
    switch: Switch,
    interfaces: BTreeMap<u32, Interface>,
    cpu_port: Option<u32>,
    coalesce_ns: u64,
) -> Result<(Handle, JoinHandle<()>)> {
    let wake = Arc::new(
        EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC).context("eventfd")?,
    );
    let (commands, inbox) = channel();
    let (packet_in, _) = broadcast::channel(PACKET_IN_QUEUE);
    let (digests, _) = broadcast::channel(DIGEST_QUEUE);
    let handle = Handle {
        commands,
        wake: Arc::clone(&wake),
        packet_in: packet_in.clone(),
        digests: digests.clone(),
    };
    let plane = Plane {
        switch,
        io: PortIo {
            interfaces,
            cpu_port,
            packet_in,
            digests,
            no_interface: 0,
            spare: Vec::new(),
        },
        clock: Clock::new(),
        moderation: Moderation::new(coalesce_ns),
    };
    let thread = std::thread::Builder::new()
        .name("data-plane".into())
        .spawn(move || plane.run(&inbox, &wake))
        .context("data-plane thread")?;
    Ok((handle, thread))
}

impl Plane {
    /// Returns the current logical time.
    pub fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    /// Handles a frame from the controller as if received on the CPU port. Returns `false` if
    /// there is no CPU port.
    pub fn packet_out(&mut self, frame: &[u8]) -> bool {
        let Some(port) = self.io.cpu_port else {
            return false;
        };
        let now = self.clock.now_ns();
        self.switch.run_until(now, &mut self.io);
        self.switch.receive(port, frame, now);
        true
    }

    fn run(mut self, inbox: &Receiver<Command>, wake: &EventFd) {
        priority::prepare_thread();
        loop {
            loop {
                match inbox.try_recv() {
                    Ok(Command::Do(f)) => f(&mut self),
                    Ok(Command::Stop) | Err(TryRecvError::Disconnected) => return,
                    Err(TryRecvError::Empty) => break,
                }
            }
            let now = self.clock.now_ns();
            let due = self.switch.next_event_ns().is_some_and(|at| at <= now);
            let received = self.receive(now);
            self.switch.run_until(now, &mut self.io);
            self.flush();
            while let Some((digest, data)) = self.switch.next_digest() {
                // An error means that there is no receiver.
                let _ = self.io.digests.send(DigestSample { digest, data });
            }
            if received == RX_BUDGET {
                continue;
            }
            let rested = (due || received > 0) && self.rest(now);
            if received == 0 && !rested {
                self.sleep(wake);
            }
        }
    }

    /// Receives frames in the order of their arrival across all ports.
    fn receive(&mut self, now: u64) -> usize {
        let wall = read(ClockId::CLOCK_REALTIME);
        let mut taken = 0;
        while taken < RX_BUDGET {
            let oldest = self
                .io
                .interfaces
                .iter()
                .filter_map(|(n, i)| i.peek().map(|r| (r.stamp_ns, *n)))
                .min();
            let Some((stamp, port)) = oldest else { break };
            let age = wall.saturating_sub(stamp);
            let age = if age > OLDEST_STAMP_NS { 0 } else { age };
            let at = now.saturating_sub(age).max(self.switch.now_ns());
            self.switch.run_until(at, &mut self.io);
            let switch = &mut self.switch;
            if let Some(i) = self.io.interfaces.get_mut(&port) {
                i.take(|arrived| match arrived {
                    Arrived::Frame(frame) => switch.receive(port, frame, at),
                    Arrived::SuperFrame(cutter) => switch.receive_super_frame(port, cutter, at),
                });
                if i.buffer.capacity() == 0 {
                    i.buffer = switch.spare_buffer();
                }
            }
            taken += 1;
        }
        taken
    }

    fn flush(&mut self) {
        for i in self.io.interfaces.values_mut() {
            i.flush();
            while let Some(f) = i.spare.pop() {
                self.switch.reuse(f);
            }
        }
    }
}
