// SPDX-License-Identifier: Apache-2.0
#ifndef TIDEMARK_V1MODEL_EGRESS_P4
#define TIDEMARK_V1MODEL_EGRESS_P4

#include "types.p4"

control EgressPipeline(inout headers_t hdr,
               inout metadata_t meta,
               inout standard_metadata_t standard_metadata) {
    @name(".Egress.report_sequence")
    register<bit<32>>(1) report_sequence;

    // --- the original packet --------------------------------------------

    // An empty queue means no byte is waiting whatever the register says: a
    // packet that the target itself lost is forgotten here.
    @hidden
    action leave_queue() {
        bit<32> occupancy;
        occupancy_bytes.read(occupancy, (bit<32>)standard_metadata.egress_port);
        occupancy = occupancy |-| meta.queued_bytes;
        if (standard_metadata.deq_qdepth == 0) {
            occupancy = 0;
        }
        occupancy_bytes.write((bit<32>)standard_metadata.egress_port, occupancy);
    }

    @hidden
    action report_forwarded() {
        bit<32> sequence;
        report_sequence.read(sequence, 0);
        report_sequence.write(0, sequence + 1);
        meta.report.sequence = (bit<22>)sequence;
        meta.report.hw_id = HW_ID_FORWARDED;
        meta.report.egress_time_us = standard_metadata.egress_global_timestamp;
        clone_preserving_field_list(CloneType.E2E, REPORT_CLONE_SESSION, REPORT_FIELD_LIST);
    }

    // --- the clone, which becomes the report --------------------------------

    @name(".Egress.set_destination")
    action set_destination(mac_addr_t src_mac, mac_addr_t dst_mac,
                           ipv4_addr_t src_ip, ipv4_addr_t dst_ip,
                           bit<16> udp_dst_port, bit<16> src_port_mask,
                           bit<32> node_id) {
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
        hdr.report_udp.src_port =
            REPORT_SOURCE_PORT_BASE + (meta.report.flow_hash & src_port_mask);
        hdr.report_udp.dst_port = udp_dst_port;

        hdr.report_group.setValid();
        hdr.report_group.version = REPORT_VERSION;
        hdr.report_group.hw_id = meta.report.hw_id;
        hdr.report_group.sequence = meta.report.sequence;
        hdr.report_group.node_id = node_id;
    }

    @name(".Egress.none")
    action none() {
        mark_to_drop(standard_metadata);
    }

    @name(".Egress.report_to")
    table report_to {
        actions = { set_destination; none; }
        default_action = none();
    }

    @hidden
    action fill_common() {
        hdr.report_main.setValid();
        hdr.report_main.report_type = REPORT_TYPE_INT;
        hdr.report_main.inner_type = INNER_TYPE_IPV4;
        hdr.report_main.dropped = meta.report.dropped;
        hdr.report_main.congested = meta.report.congested;
        hdr.report_main.tracked = 1;
        hdr.report_main.intermediate = 0;
        hdr.report_main.reserved = 0;
        hdr.report_main.domain = REPORT_DOMAIN;
        hdr.report_main.domain_bits = REPORT_DOMAIN_BITS;
        hdr.report_main.domain_status = 0;

        hdr.report_ports.setValid();
        hdr.report_ports.ingress_port = (bit<16>)meta.report.ingress_port;
        hdr.report_ports.egress_port = (bit<16>)meta.report.egress_port;

        // The field has 24 bits: hold it there rather than wrap.
        hdr.report_queue.setValid();
        hdr.report_queue.queue_id = 0;
        hdr.report_queue.occupancy =
            meta.report.occupancy_bytes > 0xFFFFFF ? 24w0xFFFFFF
                                                   : (bit<24>)meta.report.occupancy_bytes;

        hdr.report_ingress_time.setValid();
        hdr.report_ingress_time.time_ns = (bit<64>)meta.report.ingress_time_us * 1000;

        hdr.report_domain.setValid();
        hdr.report_domain.limit = meta.report.limit_bytes;
        hdr.report_domain.sampling_shift = meta.report.sampling_shift;
        hdr.report_domain.flags = meta.report.flags;
        hdr.report_domain.reserved = 0;
    }

    @hidden
    action fill_forwarded() {
        hdr.report_main.metadata_bits = METADATA_BITS_FORWARDED;
        hdr.report_main.metadata_length_words = METADATA_WORDS_FORWARDED;
        hdr.report_main.length_words =
            MAIN_CONTENTS_WORDS + METADATA_WORDS_FORWARDED + INNER_WORDS_IPV4;
        hdr.report_egress_time.setValid();
        hdr.report_egress_time.time_ns = (bit<64>)meta.report.egress_time_us * 1000;
        hdr.report_udp.length_bytes = UDP_LENGTH_FORWARDED_IPV4;
        hdr.report_ipv4.total_length_bytes = IPV4_HEADER_BYTES + UDP_LENGTH_FORWARDED_IPV4;
        truncate((bit<32>)(ETHERNET_HEADER_BYTES + IPV4_HEADER_BYTES + UDP_LENGTH_FORWARDED_IPV4));
    }

    @hidden
    action fill_dropped() {
        hdr.report_main.metadata_bits = METADATA_BITS_DROPPED;
        hdr.report_main.metadata_length_words = METADATA_WORDS_DROPPED;
        hdr.report_main.length_words =
            MAIN_CONTENTS_WORDS + METADATA_WORDS_DROPPED + INNER_WORDS_IPV4;
        hdr.report_drop.setValid();
        hdr.report_drop.queue_id = 0;
        hdr.report_drop.reason = meta.report.drop_reason;
        hdr.report_drop.pad = 0;
        hdr.report_udp.length_bytes = UDP_LENGTH_DROPPED_IPV4;
        hdr.report_ipv4.total_length_bytes = IPV4_HEADER_BYTES + UDP_LENGTH_DROPPED_IPV4;
        truncate((bit<32>)(ETHERNET_HEADER_BYTES + IPV4_HEADER_BYTES + UDP_LENGTH_DROPPED_IPV4));
    }

    @hidden
    action pad_inner() {
        hdr.report_pad.setValid();
        hdr.report_pad.zero = 0;
    }

    apply {
        if (standard_metadata.instance_type == INSTANCE_INGRESS_CLONE ||
            standard_metadata.instance_type == INSTANCE_EGRESS_CLONE) {
            report_to.apply();
            if (hdr.report_group.isValid()) {
                fill_common();
                if (meta.report.dropped == 1) {
                    fill_dropped();
                } else {
                    fill_forwarded();
                }
                if (hdr.udp.isValid()) {
                    pad_inner();
                }
            }
        } else {
            if (meta.queued_bytes != 0) {
                leave_queue();
            }
            if (standard_metadata.egress_rid != 0 &&
                standard_metadata.egress_port == standard_metadata.ingress_port) {
                mark_to_drop(standard_metadata); // a flooded copy back to its sender
            } else if (meta.watched && meta.sampled) {
                report_forwarded();
            }
        }
    }
}

#endif
