// SPDX-License-Identifier: Apache-2.0
// A stack of header unions: options of two kinds.
#include <core.p4>
#include <v1model.p4>

header base_t {
    bit<8> count;
    bit<8> what;
    bit<8> seen;
}

header short_t {
    bit<8> kind;
    bit<8> a;
}

header long_t {
    bit<8> kind;
    bit<24> b;
}

header_union option_t {
    short_t short;
    long_t long;
}

struct headers_t {
    base_t base;
    option_t[3] options;
}

struct metadata_t {
    bit<8> left;
}

parser P(packet_in packet, out headers_t hdr, inout metadata_t m, inout standard_metadata_t meta) {
    state start {
        packet.extract(hdr.base);
        m.left = hdr.base.count;
        transition next;
    }
    state next {
        transition select(m.left) {
            0: accept;
            default: option;
        }
    }
    state option {
        m.left = m.left - 1;
        transition select(packet.lookahead<bit<8>>()) {
            1: short;
            2: long;
            default: accept;
        }
    }
    state short {
        packet.extract(hdr.options.next.short);
        transition next;
    }
    state long {
        packet.extract(hdr.options.next.long);
        transition next;
    }
}

control VerifyC(inout headers_t hdr, inout metadata_t m) {
    apply {}
}

control IngressC(inout headers_t hdr, inout metadata_t m, inout standard_metadata_t meta) {
    apply {
        meta.egress_spec = 1;
        if (meta.parser_error == error.StackOutOfBounds) {
            hdr.base.seen = 0xee;
        }
        if (hdr.base.what == 1) {
            hdr.options.push_front(1);
            hdr.options[0].long.setValid();
            hdr.options[0].long.kind = 2;
            hdr.options[0].long.b = 0xc1c2c3;
        } else if (hdr.base.what == 2) {
            hdr.options.pop_front(1);
        } else if (hdr.base.what == 3) {
            hdr.options[1].short.setValid();
            hdr.options[1].short.kind = 1;
            hdr.options[1].short.a = 0x55;
        }
        if (hdr.options[1].long.isValid()) {
            hdr.base.seen = hdr.base.seen | 1;
        }
        if (hdr.options[1].short.isValid()) {
            hdr.base.seen = hdr.base.seen | 2;
        }
    }
}

control EgressC(inout headers_t hdr, inout metadata_t m, inout standard_metadata_t meta) {
    apply {}
}

control ComputeC(inout headers_t hdr, inout metadata_t m) {
    apply {}
}

control DeparserC(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.base);
        packet.emit(hdr.options);
    }
}

V1Switch(P(), VerifyC(), IngressC(), EgressC(), ComputeC(), DeparserC()) main;
