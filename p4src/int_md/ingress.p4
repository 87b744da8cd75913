// SPDX-License-Identifier: Apache-2.0
#ifndef TIDEMARK_INT_MD_INGRESS_P4
#define TIDEMARK_INT_MD_INGRESS_P4

#include "types.p4"

control IngressPipeline(inout headers_t hdr,
                        inout metadata_t meta,
                        inout standard_metadata_t standard_metadata) {
    @name(".Ingress.forward")
    action forward(bit<9> port) {
        standard_metadata.egress_spec = port;
    }

    @name(".Ingress.flood")
    action flood() {
        standard_metadata.mcast_grp = FLOOD_GROUP;
    }

    @name(".Ingress.l2_forward")
    table l2_forward {
        key = { hdr.ethernet.dst_addr: exact; }
        actions = { forward; flood; }
        default_action = flood();
        size = 4096;
    }

    // The source puts an empty stack into the packets that are watched.
    @name(".Ingress.embed")
    action embed(bit<8> hops) {
        hdr.int_shim.setValid();
        hdr.int_shim.type = SHIM_TYPE_MD;
        hdr.int_shim.next_protocol = 0;
        hdr.int_shim.reserved = 0;
        hdr.int_shim.length_words = INT_HEADER_WORDS;
        hdr.int_shim.reserved_byte = 0;
        hdr.int_shim.dscp = hdr.ipv4.dscp;
        hdr.int_shim.reserved_end = 0;
        hdr.int_header.setValid();
        hdr.int_header.version = INT_VERSION;
        hdr.int_header.discard = 0;
        hdr.int_header.exceeded = 0;
        hdr.int_header.mtu_exceeded = 0;
        hdr.int_header.reserved = 0;
        hdr.int_header.hop_words = (bit<5>)HOP_WORDS;
        hdr.int_header.hops_left = hops;
        hdr.int_header.instructions = INT_INSTRUCTIONS;
        hdr.int_header.domain = 0;
        hdr.int_header.domain_instructions = 0;
        hdr.int_header.domain_flags = 0;
        hdr.ipv4.dscp = DSCP_INT;
        hdr.ipv4.total_length_bytes = hdr.ipv4.total_length_bytes + SHIM_AND_HEADER_BYTES;
        // Of the two headers one is not there: writing to it is void.
        hdr.udp.length_bytes = hdr.udp.length_bytes + SHIM_AND_HEADER_BYTES;
        meta.has_stack = true;
    }

    @name(".Ingress.source")
    table source {
        key = {
            hdr.ipv4.src_addr: ternary @name("ipv4_src");
            hdr.ipv4.dst_addr: ternary @name("ipv4_dst");
            hdr.ipv4.protocol: ternary @name("protocol");
            meta.l4_src_port: ternary @name("src_port");
            meta.l4_dst_port: ternary @name("dst_port");
            standard_metadata.ingress_port: ternary @name("ingress_port");
            standard_metadata.egress_spec: ternary @name("egress_port");
        }
        actions = { embed; NoAction; }
        default_action = NoAction();
        size = 1024;
    }

    // The last switch that a stack passes takes it out, and reports it.
    @name(".Ingress.take_out")
    action take_out() {
        meta.is_sink = true;
    }

    @name(".Ingress.sink")
    table sink {
        key = { standard_metadata.egress_spec: exact @name("egress_port"); }
        actions = { take_out; NoAction; }
        default_action = NoAction();
        size = 512;
    }

    apply {
        l2_forward.apply();
        if (standard_metadata.mcast_grp == 0) {
            if (meta.has_transport && !meta.has_stack && hdr.ipv4.dscp != DSCP_INT) {
                source.apply();
            }
            if (meta.has_stack) {
                sink.apply();
            }
        }
    }
}

#endif
