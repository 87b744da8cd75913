// SPDX-License-Identifier: Apache-2.0
// A packet that is truncated and recirculated is parsed whole, and cut when it is sent.
#include <core.p4>
#include <v1model.p4>

header h_t {
    bit<8> keep;
    bit<8> cut;
    bit<8> passes;
    bit<48> long;
}

struct headers_t {
    h_t h;
}

struct metadata_t {}

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
    apply {
        meta.egress_spec = 1;
        log_msg("a packet");
        log_msg("pass {} of {} bytes", { hdr.h.passes, meta.packet_length });
        // Each pass cuts: what an earlier one asked for is forgotten.
        if (hdr.h.keep != 0 || hdr.h.passes == 0) {
            truncate((bit<32>)hdr.h.cut);
        }
    }
}

control EgressC(inout headers_t hdr, inout metadata_t m, inout standard_metadata_t meta) {
    apply {
        hdr.h.passes = hdr.h.passes + 1;
        if (hdr.h.passes < 3) {
            recirculate_preserving_field_list(0);
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
