// SPDX-License-Identifier: Apache-2.0
#ifndef TIDEMARK_INT_MD_EGRESS_P4
#define TIDEMARK_INT_MD_EGRESS_P4

#include "types.p4"

control EgressPipeline(inout headers_t hdr,
                       inout metadata_t meta,
                       inout standard_metadata_t standard_metadata) {
    @name(".Egress.report_sequence")
    register<bit<32>>(1) report_sequence;

    // --- a packet with a stack ------------------------------------------------

    @name(".Egress.is_node")
    action is_node(bit<32> node_id) {
        meta.report.node_id = node_id;
        meta.report.own = 1;
    }

    // Without an entry this switch adds nothing to a stack.
    @name(".Egress.node")
    table node {
        actions = { is_node; NoAction; }
        default_action = NoAction();
    }

    // The instants are those of this packet's pass: the queue that it met, not the clone's.
    @hidden
    action describe_hop() {
        meta.report.ingress_port = standard_metadata.ingress_port;
        meta.report.egress_port = standard_metadata.egress_port;
        meta.report.ingress_time = standard_metadata.ingress_global_timestamp;
        meta.report.egress_time = standard_metadata.egress_global_timestamp;
        meta.report.occupancy = (bit<24>)standard_metadata.enq_qdepth;
        hdr.int_header.hops_left = hdr.int_header.hops_left - 1;
    }

    @hidden
    action push_hop() {
        hdr.own_hop.setValid();
        hdr.own_hop.node_id = meta.report.node_id;
        hdr.own_hop.ingress_port = (bit<16>)meta.report.ingress_port;
        hdr.own_hop.egress_port = (bit<16>)meta.report.egress_port;
        hdr.own_hop.latency = (bit<32>)(meta.report.egress_time - meta.report.ingress_time);
        hdr.own_hop.queue_id = 0;
        hdr.own_hop.occupancy = meta.report.occupancy;
        hdr.own_hop.ingress_time = (bit<64>)meta.report.ingress_time;
        hdr.own_hop.egress_time = (bit<64>)meta.report.egress_time;
    }

    @hidden
    action lengthen() {
        hdr.int_shim.length_words = hdr.int_shim.length_words + HOP_WORDS;
        hdr.ipv4.total_length_bytes = hdr.ipv4.total_length_bytes + HOP_BYTES;
        hdr.udp.length_bytes = hdr.udp.length_bytes + HOP_BYTES;
    }

    // --- the sink ---------------------------------------------------------------

    // Numbered here and not on the clone, so that a lost clone leaves a gap.
    @hidden
    action report_stack() {
        bit<32> sequence;
        report_sequence.read(sequence, 0);
        report_sequence.write(0, sequence + 1);
        meta.report.sequence = (bit<22>)sequence;
        meta.report.hops_left = hdr.int_header.hops_left;
        meta.report.exceeded = hdr.int_header.exceeded;
        meta.report.dscp = hdr.int_shim.dscp;
        meta.report.hops_before = meta.hops;
        meta.report.hop_0 = hdr.hop[0].words;
        meta.report.hop_1 = hdr.hop[1].words;
        meta.report.hop_2 = hdr.hop[2].words;
        meta.report.hop_3 = hdr.hop[3].words;
        meta.report.hop_4 = hdr.hop[4].words;
        clone_preserving_field_list(CloneType.E2E, REPORT_CLONE_SESSION, REPORT_FIELD_LIST);
    }

    // The packet leaves as it came to the source.
    @hidden
    action remove_stack() {
        bit<16> stack_bytes = ((bit<16>)hdr.int_shim.length_words + 1) << 2;
        hdr.ipv4.dscp = hdr.int_shim.dscp;
        hdr.ipv4.total_length_bytes = hdr.ipv4.total_length_bytes - stack_bytes;
        hdr.udp.length_bytes = hdr.udp.length_bytes - stack_bytes;
        hdr.int_shim.setInvalid();
        hdr.int_header.setInvalid();
        hdr.hop[0].setInvalid();
        hdr.hop[1].setInvalid();
        hdr.hop[2].setInvalid();
        hdr.hop[3].setInvalid();
        hdr.hop[4].setInvalid();
    }

    // --- the clone, which becomes the report --------------------------------------

    @hidden
    action put_back_stack() {
        bit<8> stack_words = INT_HEADER_WORDS
            + (meta.report.hops_before + (bit<8>)meta.report.own) * HOP_WORDS;
        hdr.int_shim.setValid();
        hdr.int_shim.type = SHIM_TYPE_MD;
        hdr.int_shim.next_protocol = 0;
        hdr.int_shim.reserved = 0;
        hdr.int_shim.length_words = stack_words;
        hdr.int_shim.reserved_byte = 0;
        hdr.int_shim.dscp = meta.report.dscp;
        hdr.int_shim.reserved_end = 0;
        hdr.int_header.setValid();
        hdr.int_header.version = INT_VERSION;
        hdr.int_header.discard = 0;
        hdr.int_header.exceeded = meta.report.exceeded;
        hdr.int_header.mtu_exceeded = 0;
        hdr.int_header.reserved = 0;
        hdr.int_header.hop_words = (bit<5>)HOP_WORDS;
        hdr.int_header.hops_left = meta.report.hops_left;
        hdr.int_header.instructions = INT_INSTRUCTIONS;
        hdr.int_header.domain = 0;
        hdr.int_header.domain_instructions = 0;
        hdr.int_header.domain_flags = 0;
        hdr.ipv4.dscp = DSCP_INT;
        hdr.ipv4.total_length_bytes =
            hdr.ipv4.total_length_bytes + (((bit<16>)stack_words + 1) << 2);
        hdr.udp.length_bytes = hdr.udp.length_bytes + (((bit<16>)stack_words + 1) << 2);
    }

    @name(".Egress.set_destination")
    action set_destination(mac_addr_t src_mac, mac_addr_t dst_mac,
                           ipv4_addr_t src_ip, ipv4_addr_t dst_ip,
                           bit<16> udp_dst_port) {
        hdr.ethernet.src_addr = src_mac;
        hdr.ethernet.dst_addr = dst_mac;
        hdr.ethernet.ether_type = ETHERTYPE_IPV4;

        hdr.report_ipv4.setValid();
        hdr.report_ipv4.version = 4;
        hdr.report_ipv4.ihl = 5;
        hdr.report_ipv4.dscp = 0;
        hdr.report_ipv4.ecn = 0;
        hdr.report_ipv4.identification = 0;
        hdr.report_ipv4.reserved = 0;
        hdr.report_ipv4.dont_fragment = 1;
        hdr.report_ipv4.more_fragments = 0;
        hdr.report_ipv4.fragment_offset = 0;
        hdr.report_ipv4.ttl = REPORT_TTL;
        hdr.report_ipv4.protocol = IP_PROTOCOL_UDP;
        hdr.report_ipv4.src_addr = src_ip;
        hdr.report_ipv4.dst_addr = dst_ip;

        hdr.report_udp.setValid();
        hdr.report_udp.src_port = REPORT_SOURCE_PORT_BASE;
        hdr.report_udp.dst_port = udp_dst_port;
        // None.
        hdr.report_udp.checksum = 0;

        hdr.report_group.setValid();
        hdr.report_group.version = REPORT_VERSION;
        hdr.report_group.hw_id = 0;
        hdr.report_group.sequence = meta.report.sequence;
        hdr.report_group.node_id = meta.report.node_id;

        hdr.report_main.setValid();
        hdr.report_main.report_type = REPORT_TYPE_INT;
        hdr.report_main.inner_type = INNER_TYPE_IPV4;
        hdr.report_main.metadata_length_words = 0;
        hdr.report_main.dropped = 0;
        hdr.report_main.congested = 0;
        hdr.report_main.tracked = 1;
        hdr.report_main.intermediate = 0;
        hdr.report_main.reserved = 0;
        hdr.report_main.metadata_bits = 0;
        hdr.report_main.domain = 0;
        hdr.report_main.domain_bits = 0;
        hdr.report_main.domain_status = 0;
    }

    @name(".Egress.lose")
    action lose() {
        mark_to_drop(standard_metadata);
    }

    @name(".Egress.report_to")
    table report_to {
        actions = { set_destination; lose; }
        default_action = lose();
    }

    // The packet's headers and its stack; what follows is left out.
    @hidden
    action set_lengths() {
        bit<8> transport_words =
            hdr.tcp.isValid() ? (bit<8>)hdr.tcp.data_offset : UDP_WORDS;
        bit<8> inner_words =
            IPV4_WORDS + transport_words + 1 + hdr.int_shim.length_words;
        bit<16> udp_bytes = REPORT_UDP_BYTES + ((bit<16>)inner_words << 2);
        hdr.report_main.length_words = MAIN_CONTENTS_WORDS + inner_words;
        hdr.report_udp.length_bytes = udp_bytes;
        hdr.report_ipv4.total_length_bytes = IPV4_HEADER_BYTES + udp_bytes;
        truncate((bit<32>)(REPORT_FRAME_BYTES + udp_bytes));
    }

#define PUT_BACK(n) \
    if (meta.report.hops_before > n) { \
        hdr.hop[n].setValid(); \
        hdr.hop[n].words = meta.report.hop_##n; \
    }

    apply {
        if (standard_metadata.instance_type == INSTANCE_EGRESS_CLONE) {
            put_back_stack();
            if (meta.report.own == 1) {
                push_hop();
            }
            PUT_BACK(0)
            PUT_BACK(1)
            PUT_BACK(2)
            PUT_BACK(3)
            PUT_BACK(4)
            report_to.apply();
            set_lengths();
        } else if (standard_metadata.egress_rid != 0 &&
                   standard_metadata.egress_port == standard_metadata.ingress_port) {
            mark_to_drop(standard_metadata); // a flooded copy back to its sender
        } else if (meta.has_stack) {
            node.apply();
            if (meta.report.own == 1 && hdr.int_header.hops_left == 0) {
                hdr.int_header.exceeded = 1;
                meta.report.own = 0;
            }
            if (meta.report.own == 1) {
                describe_hop();
            }
            if (meta.is_sink) {
                report_stack();
                remove_stack();
            } else if (meta.report.own == 1) {
                push_hop();
                lengthen();
            }
        }
    }
}
#undef PUT_BACK

#endif
