// SPDX-License-Identifier: Apache-2.0
// Translated types, objects that nothing uses, and a large register.
#include <core.p4>
#include <v1model.p4>

@p4runtime_translation("tidemark/port", string)
type bit<9> port_t;
@p4runtime_translation("tidemark/host", 32)
type bit<48> host_t;

header h_t {
    host_t host;
    bit<32> flow;
}

struct headers_t {
    h_t h;
}

struct metadata_t {}

struct learnt_t {
    bit<32> flow;
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
    register<bit<32>>(4194304) flows;
    action_selector(HashAlgorithm.crc16, 64, 14) unused;

    action forward(port_t port) {
        meta.egress_spec = (bit<9>)port;
    }
    table hosts {
        key = { hdr.h.host: exact; }
        actions = { forward; NoAction; }
        default_action = NoAction();
    }
    table members {
        key = { hdr.h.flow: exact; hdr.h.flow: selector; }
        actions = { NoAction; }
        implementation = unused;
    }
    apply {
        flows.write(hdr.h.flow & 0x3fffff, 1);
        hosts.apply();
        if (false) {
            digest<learnt_t>(1, { hdr.h.flow });
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
        packet.emit(hdr.h);
    }
}

V1Switch(P(), VerifyC(), IngressC(), EgressC(), ComputeC(), DeparserC()) main;
