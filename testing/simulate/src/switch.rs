// SPDX-License-Identifier: Apache-2.0
//! The switch: the real engine runs the real program in virtual time.

use crate::frame::{self, BOTTLENECK, COLLECTOR, EXPORTER, NODE, REPORTS, SENDERS};
use anyhow::{Context as _, Result, anyhow};
use p4_vm::Image;
use p4runtime_server::target::{
    ActionCall, EntryAction, EntryId, KeyMatch, MatchValue, TableEntry,
};
use std::sync::OnceLock;
use tidemark_control::Limit;
use tidemark_switch::p4runtime::{insert, modify, set_default};
use traffic_manager::{CloneSession, PortConfig, Replica, Switch, Wire};

/// Entry for the bottleneck's limit.
const LIMIT_ENTRY: EntryId = EntryId(100);
/// A node's clock starts here, so that a small step back stays positive.
const PROPAGATION_NS: u64 = 1_000_000;

/// Frames that departed, with port and the switch's time.
#[derive(Default)]
pub(crate) struct Left(pub Vec<(u32, u64, Vec<u8>)>);

impl Wire for Left {
    fn transmit(&mut self, port: u32, frame: Vec<u8>, time_ns: u64) {
        self.0.push((port, time_ns, frame));
    }
}

/// A switch in simulated time.
pub(crate) struct SimSwitch {
    switch: Switch,
    /// Start of the switch, in simulation time.
    boot_ns: u64,
    rate_bps: u64,
    shifts: [u8; 2],
    /// Step of its clock, ns: times in its reports are shifted by it.
    pub(crate) step_ns: i64,
    /// The limit at the bottleneck; `None` before the program is loaded.
    limit: Option<Limit>,
    /// Number of starts so far: clock and sequence numbers restart with each.
    pub(crate) epoch: u32,
    pub(crate) left: Left,
}

fn program() -> Result<&'static [u8]> {
    static PROGRAM: OnceLock<Option<Vec<u8>>> = OnceLock::new();
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../p4src/build/tidemark.json"
    );
    let program = PROGRAM.get_or_init(|| std::fs::read(path).ok());
    program
        .as_deref()
        .with_context(|| format!("{path}: cannot be read"))
}

fn call(name: &str, params: &[&[u8]]) -> ActionCall {
    ActionCall {
        name: name.into(),
        params: params.iter().map(|p| p.to_vec()).collect(),
    }
}

fn limit_call(limit: Limit) -> Result<ActionCall, String> {
    match limit {
        Limit::DropTail { limit_bytes } => {
            let bytes = u32::try_from(limit_bytes).map_err(|e| e.to_string())?;
            Ok(call("Ingress.drop_tail", &[&bytes.to_be_bytes()]))
        }
        Limit::Unlimited => Ok(call("Ingress.unlimited", &[])),
        Limit::MarkCe { .. } => Err("marking is not simulated".into()),
    }
}

impl SimSwitch {
    /// Starts a switch now, without a program.
    pub(crate) fn start(now_ns: u64, rate_bps: u64, shifts: [u8; 2]) -> Self {
        let mut s = Self {
            switch: Switch::new(),
            boot_ns: now_ns,
            rate_bps,
            shifts,
            step_ns: 0,
            limit: None,
            epoch: 0,
            left: Left::default(),
        };
        s.configure();
        s
    }

    fn configure(&mut self) {
        for port in [SENDERS, REPORTS] {
            self.switch.configure(port, PortConfig::default());
        }
        let config = PortConfig {
            rate_bps: self.rate_bps,
            delay_ns: PROPAGATION_NS,
            depth_packets: 0,
            ..PortConfig::default()
        };
        self.switch.configure(BOTTLENECK, config);
    }

    /// Cycles the power: frames, program and clock are lost.
    pub(crate) fn restart(&mut self, now_ns: u64) {
        let epoch = self.epoch + 1;
        *self = Self::start(now_ns, self.rate_bps, self.shifts);
        self.epoch = epoch;
    }

    /// Changes the rate, from the next frame on.
    pub(crate) fn set_rate(&mut self, rate_bps: u64) {
        self.rate_bps = rate_bps;
        self.configure();
    }

    /// Returns its own clock.
    pub(crate) fn clock_ns(&self, now_ns: u64) -> u64 {
        now_ns - self.boot_ns
    }

    /// Returns its clock as it was set.
    pub(crate) fn told_ns(&self, now_ns: u64) -> u64 {
        self.clock_ns(now_ns).saturating_add_signed(self.step_ns)
    }

    /// Returns the time in its reports, in whole microseconds.
    pub(crate) fn stamp_ns(&self, now_ns: u64) -> u64 {
        let clock_ns = self.clock_ns(now_ns);
        clock_ns - clock_ns % 1_000
    }

    /// Returns when the next event is due, in simulation time.
    pub(crate) fn next_ns(&self) -> Option<u64> {
        Some(self.switch.next_event_ns()? + self.boot_ns)
    }

    /// Runs the switch up to now.
    pub(crate) fn run(&mut self, now_ns: u64) {
        let until = self.clock_ns(now_ns);
        self.switch.run_until(until, &mut self.left);
    }

    /// Receives a frame from the senders.
    pub(crate) fn receive(&mut self, frame: &[u8], now_ns: u64) {
        let at = self.clock_ns(now_ns);
        self.switch.run_until(at, &mut self.left);
        self.switch.receive(SENDERS, frame, at);
    }

    /// Takes back a frame's buffer.
    pub(crate) fn reuse(&mut self, frame: Vec<u8>) {
        self.switch.reuse(frame);
    }

    /// Returns the bytes waiting at the bottleneck.
    pub(crate) fn queue_bytes(&mut self) -> u64 {
        self.switch.port_mut(BOTTLENECK).queue_bytes
    }

    /// Returns whether a program is loaded.
    pub(crate) fn has_program(&self) -> bool {
        self.switch.loaded().is_some()
    }

    /// Returns the limit in force at the bottleneck.
    pub(crate) fn limit(&self) -> Option<Limit> {
        self.limit
    }

    /// Loads the program if there is none, and writes every entry but limits. Returns whether it
    /// loaded the program.
    pub(crate) fn provision(&mut self) -> Result<bool> {
        if self.has_program() {
            return Ok(false);
        }
        let program = p4_ir::load(program()?).map_err(|e| anyhow!("program: {e}"))?;
        self.switch.load(Image::new(program));
        self.limit = None;
        self.write_entries().map_err(|e| anyhow!("entries: {e}"))?;
        Ok(true)
    }

    fn write_entries(&mut self) -> Result<(), String> {
        let loaded = self.switch.loaded_mut().ok_or("no program")?;
        let to_bottleneck = TableEntry {
            matches: vec![KeyMatch {
                bits: 48,
                value: MatchValue::Exact(frame::mac(BOTTLENECK).to_vec()),
            }],
            priority: 0,
            action: call("Ingress.forward", &[&[0, BOTTLENECK as u8]]).into(),
        };
        let any = |bits: u32| KeyMatch {
            bits,
            value: MatchValue::Ternary {
                value: vec![0; bits.div_ceil(8) as usize],
                mask: vec![0; bits.div_ceil(8) as usize],
            },
        };
        let watch = |priority: i32, shift: u8| TableEntry {
            // Addresses, protocol, ports, ingress and egress port.
            matches: [32, 32, 8, 16, 16, 9, 9].map(any).into(),
            priority,
            action: call("Ingress.report", &[&[shift]]).into(),
        };
        let [even, odd] = self.shifts;
        let mut watched = watch(2, even);
        watched.matches[3].value = MatchValue::Ternary {
            value: vec![0, 0],
            mask: vec![0, 1],
        };
        let to = call(
            "Egress.set_destination",
            &[
                &frame::mac(0x51),
                &frame::mac(0x52),
                &EXPORTER.octets(),
                &COLLECTOR.octets(),
                &32766u16.to_be_bytes(),
                &3u16.to_be_bytes(),
                &NODE.to_be_bytes(),
            ],
        );
        let e = &mut loaded.engine;
        let text = |e: p4runtime_server::target::TargetError| format!("{e:?}");
        insert(e, "Ingress.l2_forward", EntryId(1), &to_bottleneck).map_err(text)?;
        if even != odd {
            insert(e, "Ingress.watch", EntryId(2), &watched).map_err(text)?;
        }
        insert(e, "Ingress.watch", EntryId(1), &watch(1, odd)).map_err(text)?;
        set_default(e, "Egress.report_to", Some(&to)).map_err(text)?;
        let session = CloneSession {
            replicas: vec![Replica {
                port: REPORTS,
                rid: 1,
            }],
            length_bytes: None,
        };
        loaded.sessions.insert(1, session);
        Ok(())
    }

    /// Writes the limit of the bottleneck, for any caller.
    ///
    /// # Errors
    /// The switch's message.
    pub(crate) fn write_limit(&mut self, limit: Limit) -> Result<(), String> {
        let action = limit_call(limit)?;
        let loaded = self.switch.loaded_mut().ok_or("no program is loaded")?;
        let e = &mut loaded.engine;
        let text = |e: p4runtime_server::target::TargetError| format!("{e:?}");
        if self.limit.is_some() {
            let action = EntryAction::Call(action);
            modify(e, "Ingress.queue_limit", LIMIT_ENTRY, &action).map_err(text)?;
        } else {
            let entry = TableEntry {
                matches: vec![KeyMatch {
                    bits: 9,
                    value: MatchValue::Exact((BOTTLENECK as u16).to_be_bytes().to_vec()),
                }],
                priority: 0,
                action: action.into(),
            };
            insert(e, "Ingress.queue_limit", LIMIT_ENTRY, &entry).map_err(text)?;
        }
        self.limit = Some(limit);
        Ok(())
    }
}
