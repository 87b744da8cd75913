// SPDX-License-Identifier: Apache-2.0
// An action that is given standard metadata drops: what it drops is a copy, copied back.
#include <core.p4>
#include <v1model.p4>

header h_t {
    bit<8> kind;
    bit<8> port;
}

struct headers_t {
    h_t h;
}

struct metadata_t {}

action deny(inout standard_metadata_t meta) {
    mark_to_drop(meta);
}

parser P(packet_in packet, out headers_t hdr, inout metadata_t m, inout standard_metadata_t meta) {
    state start {
        packet.extract(hdr.h);
        transition accept;
    }
}

control VerifyC(inout headers_t hdr, inout metadata_t m) {
    apply {}
}

control IngressC(inout headers_t hdr, inout metadata_t m, inout standard_metadata_t meta) {
    action send() {
        meta.egress_spec = (bit<9>)hdr.h.port;
    }
    // Both set the port first: what drops must win, and what undoes it, too.
    action deny_late() {
        meta.egress_spec = (bit<9>)hdr.h.port;
        deny(meta);
    }
    action deny_group() {
        meta.mcast_grp = 1;
        deny(meta);
    }
    action undo() {
        deny(meta);
        meta.egress_spec = (bit<9>)hdr.h.port;
    }
    table kind {
        key = { hdr.h.kind: exact; }
        actions = { send; deny(meta); deny_late; deny_group; undo; }
        default_action = send();
        const entries = {
            1: deny(meta);
            2: deny_late();
            3: deny_group();
            4: undo();
        }
    }
    apply {
        meta.egress_spec = 1;
        kind.apply();
    }
}

control EgressC(inout headers_t hdr, inout metadata_t m, inout standard_metadata_t meta) {
    apply {
        if (hdr.h.kind == 5) {
            deny(meta);
        }
    }
}

control ComputeC(inout headers_t hdr, inout metadata_t m) {
    apply {}
}

control DeparserC(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.h);
    }
}

V1Switch(P(), VerifyC(), IngressC(), EgressC(), ComputeC(), DeparserC()) main;
