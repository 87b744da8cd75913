// SPDX-License-Identifier: Apache-2.0
//! Converts events to gRPC messages and back.

use int_report::FlowKey;
use std::net::IpAddr;
use tcp_probe::{CongStateEvent, Event, RetransmitEvent, Sample};
use tidemark_pipeline::aggregate::address_bytes;
use tidemark_proto::telemetry::agent_event::Event as Kind;
use tidemark_proto::telemetry::{AgentEvent, AgentRetransmit, AgentSample};

const TCP: u8 = 6;

/// Converts an event to its message.
pub fn message_of(event: &Event) -> AgentEvent {
    let kind = match event {
        Event::Probe(s) => Kind::Sample(AgentSample {
            data_len: s.data_len.into(),
            snd_nxt: s.snd_nxt,
            snd_una: s.snd_una,
            snd_cwnd: s.snd_cwnd,
            ssthresh: s.ssthresh,
            snd_wnd: s.snd_wnd,
            srtt_us: s.srtt_us,
            rcv_wnd: s.rcv_wnd,
            sock_cookie: s.sock_cookie,
        }),
        Event::Retransmit(_) => Kind::Retransmit(AgentRetransmit {}),
        Event::CongState(e) => Kind::CongestionState(e.state.into()),
    };
    let flow = event.flow();
    AgentEvent {
        time_ns: event.time_ns(),
        src: address_bytes(flow.src),
        dst: address_bytes(flow.dst),
        src_port: flow.src_port.into(),
        dst_port: flow.dst_port.into(),
        event: Some(kind),
    }
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    if let Ok(b) = <[u8; 4]>::try_from(bytes) {
        return Some(b.into());
    }
    <[u8; 16]>::try_from(bytes).ok().map(IpAddr::from)
}

/// Converts a message to its event; `None` if the message is invalid.
pub fn event_of(message: &AgentEvent) -> Option<Event> {
    let flow = FlowKey {
        src: address(&message.src)?,
        dst: address(&message.dst)?,
        src_port: u16::try_from(message.src_port).ok()?,
        dst_port: u16::try_from(message.dst_port).ok()?,
        protocol: TCP,
    };
    let time_ns = message.time_ns;
    Some(match message.event.as_ref()? {
        Kind::Sample(s) => Event::Probe(Sample {
            time_ns,
            flow,
            data_len: u16::try_from(s.data_len).ok()?,
            snd_nxt: s.snd_nxt,
            snd_una: s.snd_una,
            snd_cwnd: s.snd_cwnd,
            ssthresh: s.ssthresh,
            snd_wnd: s.snd_wnd,
            srtt_us: s.srtt_us,
            rcv_wnd: s.rcv_wnd,
            sock_cookie: s.sock_cookie,
        }),
        Kind::Retransmit(_) => Event::Retransmit(RetransmitEvent { time_ns, flow }),
        Kind::CongestionState(state) => Event::CongState(CongStateEvent {
            time_ns,
            flow,
            state: u8::try_from(*state).ok()?,
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_is_what_comes() {
        let v4 = FlowKey {
            src: "10.0.0.1".parse().unwrap(),
            dst: "10.0.0.2".parse().unwrap(),
            src_port: 40_000,
            dst_port: 5001,
            protocol: TCP,
        };
        let v6 = FlowKey {
            src: "2001:db8::1".parse().unwrap(),
            dst: "2001:db8::2".parse().unwrap(),
            ..v4
        };
        for flow in [v4, v6] {
            for event in [
                Event::Probe(Sample {
                    time_ns: u64::MAX,
                    flow,
                    data_len: 1,
                    snd_nxt: u32::MAX,
                    snd_una: 3,
                    snd_cwnd: 4,
                    ssthresh: 5,
                    snd_wnd: 6,
                    srtt_us: 7,
                    rcv_wnd: 8,
                    sock_cookie: u64::MAX,
                }),
                Event::Retransmit(RetransmitEvent { time_ns: 5, flow }),
                Event::CongState(CongStateEvent {
                    time_ns: 6,
                    flow,
                    state: 4,
                }),
            ] {
                assert_eq!(event_of(&message_of(&event)), Some(event));
            }
        }
        let mut bad = message_of(&Event::Retransmit(RetransmitEvent {
            time_ns: 5,
            flow: v4,
        }));
        bad.src.push(1);
        assert_eq!(event_of(&bad), None);
        assert_eq!(event_of(&AgentEvent::default()), None);
    }
}
