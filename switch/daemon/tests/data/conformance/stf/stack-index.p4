// SPDX-License-Identifier: Apache-2.0
// Elements of a header stack that are selected at run time.
#include <core.p4>
#include <v1model.p4>

header base_t {
    bit<8> what;
    bit<8> index;
    bit<8> seen;
}

header item_t {
    bit<8> more;
    bit<8> a;
}

struct headers_t {
    base_t base;
    item_t last;
    item_t[4] items;
}

struct metadata_t {}

parser P(packet_in packet, out headers_t hdr, inout metadata_t m, inout standard_metadata_t meta) {
    state start {
        packet.extract(hdr.base);
        transition item;
    }
    state item {
        packet.extract(hdr.items.next);
        transition select(hdr.items.last.more) {
            0: end;
            default: item;
        }
    }
    state end {
        transition accept;
    }
}

control VerifyC(inout headers_t hdr, inout metadata_t m) {
    apply {}
}

control IngressC(inout headers_t hdr, inout metadata_t m, inout standard_metadata_t meta) {
    apply {
        meta.egress_spec = 1;
        if (hdr.base.what == 1) {
            hdr.items[hdr.base.index].setValid();
            hdr.items[hdr.base.index].more = 9;
            hdr.items[hdr.base.index].a = 0x99;
        } else if (hdr.base.what == 2) {
            hdr.items[hdr.base.index].setInvalid();
        } else if (hdr.base.what == 3) {
            hdr.last = hdr.items[hdr.base.index];
        } else if (hdr.base.what == 4) {
            hdr.items[hdr.base.index] = hdr.items[0];
        }
        if (hdr.items[hdr.base.index].isValid()) {
            hdr.base.seen = 1;
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
        packet.emit(hdr.last);
        packet.emit(hdr.items);
    }
}

V1Switch(P(), VerifyC(), IngressC(), EgressC(), ComputeC(), DeparserC()) main;
