// SPDX-License-Identifier: Apache-2.0
//! Writes events as lines of a trace, with all nine digits of their time.

use crate::event::Event;
use int_report::FlowKey;
use std::fmt::{Display, Formatter, Result};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// A line that [`super::parse_line`] reads back as this event.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a>(pub &'a Event);

impl Display for Line<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let time_ns = self.0.time_ns();
        let (seconds, fraction) = (time_ns / 1_000_000_000, time_ns % 1_000_000_000);
        write!(f, "agent-0 [000] .... {seconds}.{fraction:09}: ")?;
        match self.0 {
            Event::Probe(s) => {
                let ends = [(s.flow.src, s.flow.src_port), (s.flow.dst, s.flow.dst_port)];
                let [src, dest] = ends.map(SocketAddr::from);
                write!(
                    f,
                    "tcp_probe: src={src} dest={dest} data_len={} snd_nxt={:#x} snd_una={:#x} snd_cwnd={} ssthresh={} snd_wnd={} srtt={} rcv_wnd={} sock_cookie={:x}",
                    s.data_len,
                    s.snd_nxt,
                    s.snd_una,
                    s.snd_cwnd,
                    s.ssthresh,
                    s.snd_wnd,
                    s.srtt_us,
                    s.rcv_wnd,
                    s.sock_cookie
                )
            }
            Event::Retransmit(e) => write!(f, "tcp_retransmit_skb: {}", Ends(&e.flow)),
            Event::CongState(e) => {
                let ends = Ends(&e.flow);
                write!(f, "tcp_cong_state_set: {ends} cong_state={}", e.state)
            }
        }
    }
}

struct Ends<'a>(&'a FlowKey);

impl Display for Ends<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let v6 = |address: IpAddr| -> Ipv6Addr {
            match address {
                IpAddr::V4(a) => a.to_ipv6_mapped(),
                IpAddr::V6(a) => a,
            }
        };
        let flow = self.0;
        write!(
            f,
            "sport={} dport={} saddrv6={} daddrv6={}",
            flow.src_port,
            flow.dst_port,
            v6(flow.src),
            v6(flow.dst)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{CongStateEvent, RetransmitEvent, Sample};

    #[test]
    fn every_event_is_read_back() {
        let v4 = FlowKey {
            src: "10.0.0.1".parse().unwrap(),
            dst: "10.0.0.2".parse().unwrap(),
            src_port: 40_000,
            dst_port: 5001,
            protocol: 6,
        };
        let v6 = FlowKey {
            src: "2001:db8::1".parse().unwrap(),
            dst: "2001:db8::2".parse().unwrap(),
            ..v4
        };
        let time_ns = 3_144_000_000_012;
        for flow in [v4, v6] {
            for event in [
                Event::Probe(Sample {
                    time_ns,
                    flow,
                    data_len: 1448,
                    snd_nxt: u32::MAX,
                    snd_una: 0,
                    snd_cwnd: 10,
                    ssthresh: 0x7fff_ffff,
                    snd_wnd: 65_536,
                    srtt_us: 20_123,
                    rcv_wnd: 29_312,
                    sock_cookie: 0x1f_2e3d,
                }),
                Event::Retransmit(RetransmitEvent { time_ns, flow }),
                Event::CongState(CongStateEvent {
                    time_ns,
                    flow,
                    state: 3,
                }),
            ] {
                let line = Line(&event).to_string();
                assert_eq!(super::super::parse_line(line.as_bytes()), Ok(Some(event)));
            }
        }
    }
}
