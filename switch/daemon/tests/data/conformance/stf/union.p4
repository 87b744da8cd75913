// SPDX-License-Identifier: Apache-2.0
// A header union: what makes one member valid makes the others invalid.
#include <core.p4>
#include <v1model.p4>

header base_t {
    bit<8> kind;
    bit<8> what;
    bit<8> seen;
}

header one_t {
    bit<8> a;
}

header two_t {
    bit<16> b;
}

header var_t {
    bit<8> length;
    varbit<32> data;
}

header_union any_t {
    one_t one;
    two_t two;
    var_t var;
}

struct headers_t {
    base_t base;
    any_t x;
    any_t y;
}

struct metadata_t {}

parser P(packet_in packet, out headers_t hdr, inout metadata_t m, inout standard_metadata_t meta) {
    state start {
        packet.extract(hdr.base);
        transition select(hdr.base.kind) {
            1: one;
            2: two;
            3: variable;
            4: both;
            default: accept;
        }
    }
    state one {
        packet.extract(hdr.x.one);
        transition accept;
    }
    state two {
        packet.extract(hdr.x.two);
        transition accept;
    }
    state variable {
        packet.extract(hdr.x.var, (bit<32>)packet.lookahead<bit<8>>() * 8);
        transition accept;
    }
    // The second extraction leaves the first one's header invalid.
    state both {
        packet.extract(hdr.x.one);
        packet.extract(hdr.x.two);
        transition accept;
    }
}

control VerifyC(inout headers_t hdr, inout metadata_t m) {
    apply {}
}

control IngressC(inout headers_t hdr, inout metadata_t m, inout standard_metadata_t meta) {
    action seen(bit<8> n) {
        hdr.base.seen = n;
    }
    table members {
        key = {
            hdr.x.one.isValid(): exact;
            hdr.x.two.isValid(): exact;
            hdr.x.var.isValid(): exact;
        }
        actions = { seen; NoAction; }
        default_action = NoAction();
        const entries = {
            (true, false, false): seen(1);
            (false, true, false): seen(2);
            (false, false, true): seen(4);
            (true, true, false): seen(0xee);
        }
    }
    apply {
        meta.egress_spec = 1;
        if (hdr.base.what == 1) {
            hdr.x.one.setValid();
            hdr.x.one.a = 0x77;
        } else if (hdr.base.what == 2) {
            hdr.x.two.setValid();
            hdr.x.two.b = 0x7788;
        } else if (hdr.base.what == 3) {
            hdr.y = hdr.x;
            hdr.x.two.setValid();
            hdr.x.two.b = 0xbeef;
        } else if (hdr.base.what == 4) {
            // A copy of a member makes it valid, too.
            hdr.y.one = hdr.x.one;
            hdr.x.two.setValid();
            hdr.x.two.b = 0;
        } else if (hdr.base.what == 5) {
            hdr.x.one.setInvalid();
        }
        members.apply();
        if (!hdr.x.isValid()) {
            hdr.base.seen = hdr.base.seen | 0x80;
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
        packet.emit(hdr.x);
        packet.emit(hdr.y);
    }
}

V1Switch(P(), VerifyC(), IngressC(), EgressC(), ComputeC(), DeparserC()) main;
