// SPDX-License-Identifier: Apache-2.0
// Every kind of P4Runtime entity in one small program, for tests. What the
// program saw is written into a `mark` header, so that frames tell of it.
// Compiled by `p4c-bm2-ss --Wdisable=unsupported entities.p4 -o entities.json
// --p4runtime-files entities.p4info.txtpb,entities.p4info.bin`, run in this folder.
#include <core.p4>
#include <v1model.p4>

const bit<9> CPU_PORT = 510;
const bit<16> TYPE_MARK = 0x88b5;
const bit<16> TYPE_PUNT = 0x88b6;

@controller_header("packet_in")
header packet_in_t {
    bit<9> ingress_port;
    bit<7> unused;
}

@controller_header("packet_out")
header packet_out_t {
    bit<9> egress_port;
    // Goes through the tables as if received on the CPU port.
    bit<1> submit;
    bit<6> unused;
}

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

header mark_t {
    bit<8> meter_colour;
    bit<8> direct_colour;
    bit<16> class;
    bit<16> path;
    bit<32> seen;
    bit<8> known;
}

struct headers_t {
    packet_in_t packet_in;
    packet_out_t packet_out;
    ethernet_t ethernet;
    mark_t mark;
}

struct learned_t {
    bit<48> src;
    bit<9> port;
    bit<16> class;
}

struct metadata_t {
    bit<2> direct_colour;
    bit<2> meter_colour;
    bit<16> class;
    bit<16> path;
    bit<8> known;
}

parser Parse(packet_in p, out headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    @name("kinds") value_set<bit<16>>(4) kinds;
    state start {
        transition select(s.ingress_port) {
            CPU_PORT: from_controller;
            default: ethernet;
        }
    }
    state from_controller {
        p.extract(h.packet_out);
        transition ethernet;
    }
    state ethernet {
        p.extract(h.ethernet);
        transition select(h.ethernet.type) {
            TYPE_MARK: mark;
            kinds: known;
            default: accept;
        }
    }
    state mark {
        p.extract(h.mark);
        transition accept;
    }
    state known {
        m.known = 1;
        transition accept;
    }
}

control Verify(inout headers_t h, inout metadata_t m) {
    apply {}
}

control Switch(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    counter(16, CounterType.packets_and_bytes) received;
    direct_counter(CounterType.packets_and_bytes) policed;
    meter(16, MeterType.packets) rate;
    direct_meter<bit<2>>(MeterType.bytes) police_rate;
    register<bit<32>>(16) seen;
    register<bit<48>>(16) last_source;
    action_profile(8) classes;
    @max_group_size(8)
    action_selector(HashAlgorithm.crc16, 32, 16) paths;

    action drop() {
        mark_to_drop(s);
    }

    action forward(bit<9> port, bit<16> path) {
        s.egress_spec = port;
        m.path = path;
    }

    action flood() {
        s.mcast_grp = 1;
    }

    table l2 {
        key = {
            h.ethernet.dst: exact;
            h.ethernet.src: selector;
            h.ethernet.type: selector;
        }
        actions = { forward; flood; drop; NoAction; }
        implementation = paths;
        size = 64;
    }

    action set_class(bit<16> class) {
        m.class = class;
    }

    table classify {
        key = { h.ethernet.type: ternary; }
        actions = { set_class; NoAction; }
        implementation = classes;
        size = 64;
    }

    action police_permit() {
        policed.count();
        police_rate.read(m.direct_colour);
    }

    action police_refuse() {
        policed.count();
        police_rate.read(m.direct_colour);
        mark_to_drop(s);
    }

    table police {
        key = { s.ingress_port: exact; }
        actions = { police_permit; police_refuse; @defaultonly NoAction; }
        default_action = NoAction();
        counters = policed;
        meters = police_rate;
        size = 16;
    }

    action known_source() {}

    action learn() {
        digest<learned_t>(1, { h.ethernet.src, s.ingress_port, m.class });
    }

    table sources {
        key = { h.ethernet.src: exact; }
        actions = { known_source; learn; }
        default_action = known_source();
        size = 64;
    }

    apply {
        if (h.packet_out.isValid() && h.packet_out.submit == 0) {
            s.egress_spec = h.packet_out.egress_port;
        } else if (h.ethernet.type == TYPE_PUNT) {
            s.egress_spec = CPU_PORT;
        } else {
            bit<32> index = (bit<32>)(s.ingress_port & 15);
            bit<32> n;
            received.count(index);
            rate.execute_meter(index, m.meter_colour);
            seen.read(n, index);
            n = n + 1;
            seen.write(index, n);
            last_source.write(index, h.ethernet.src);
            classify.apply();
            s.egress_spec = 511;
            l2.apply();
            sources.apply();
            police.apply();
            if (h.mark.isValid()) {
                h.mark.meter_colour = (bit<8>)m.meter_colour;
                h.mark.direct_colour = (bit<8>)m.direct_colour;
                h.mark.class = m.class;
                h.mark.path = m.path;
                h.mark.seen = n;
            }
            if (m.known == 1) {
                h.mark.setValid();
                h.mark.known = 1;
            }
        }
    }
}

control Out(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    counter(512, CounterType.packets) sent;
    apply {
        sent.count((bit<32>)s.egress_port);
        if (s.egress_port == CPU_PORT) {
            h.packet_in.setValid();
            h.packet_in.ingress_port = s.ingress_port;
        }
        if (s.egress_rid != 0 && s.egress_port == s.ingress_port) {
            mark_to_drop(s);
        }
    }
}

control Update(inout headers_t h, inout metadata_t m) {
    apply {}
}

control Deparse(packet_out p, in headers_t h) {
    apply {
        p.emit(h.packet_in);
        p.emit(h.ethernet);
        p.emit(h.mark);
    }
}

V1Switch(Parse(), Verify(), Switch(), Out(), Update(), Deparse()) main;
