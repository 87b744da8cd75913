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
        occupancy_bytes.read(occupancy, meta.queue_index);
        occupancy = occupancy |-| meta.queued_bytes;
        if (standard_metadata.deq_qdepth == 0) {
            occupancy = 0;
        }
        occupancy_bytes.write(meta.queue_index, occupancy);
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

    @hidden
    action address_report() {
        hdr.ethernet.src_addr = meta.report.src_mac;
        hdr.ethernet.dst_addr = meta.report.dst_mac;
        hdr.ethernet.ether_type = ETHERTYPE_IPV4;
        hdr.vlan.setInvalid();

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
        hdr.report_ipv4.src_addr = meta.report.src_ip;
        hdr.report_ipv4.dst_addr = meta.report.dst_ip;

        hdr.report_udp.setValid();
        hdr.report_udp.src_port = meta.report.udp_src_port;
        hdr.report_udp.dst_port = meta.report.udp_dst_port;

        hdr.report_group.setValid();
        hdr.report_group.version = REPORT_VERSION;
        hdr.report_group.hw_id = meta.report.hw_id;
        hdr.report_group.sequence = meta.report.sequence;
        hdr.report_group.node_id = meta.report.node_id;
    }

    @hidden
    action fill_common() {
        hdr.report_main.setValid();
        hdr.report_main.report_type = REPORT_TYPE_INT;
        hdr.report_main.inner_type =
            hdr.ipv4.isValid() ? INNER_TYPE_IPV4 : INNER_TYPE_IPV6;
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
        hdr.report_queue.queue_id = (bit<8>)meta.report.queue;
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
    action set_lengths(bit<16> udp_length_bytes) {
        hdr.report_udp.length_bytes = udp_length_bytes;
        hdr.report_ipv4.total_length_bytes = IPV4_HEADER_BYTES + udp_length_bytes;
        truncate((bit<32>)(ETHERNET_HEADER_BYTES + IPV4_HEADER_BYTES + udp_length_bytes));
    }

    @hidden
    action fill_forwarded() {
        hdr.report_main.metadata_bits = METADATA_BITS_FORWARDED;
        hdr.report_main.metadata_length_words = METADATA_WORDS_FORWARDED;
        hdr.report_main.length_words =
            MAIN_CONTENTS_WORDS + METADATA_WORDS_FORWARDED + meta.report.inner_words;
        hdr.report_egress_time.setValid();
        hdr.report_egress_time.time_ns = (bit<64>)meta.report.egress_time_us * 1000;
        set_lengths(UDP_LENGTH_FORWARDED + ((bit<16>)meta.report.inner_words << 2));
    }

    @hidden
    action fill_dropped() {
        hdr.report_main.metadata_bits = METADATA_BITS_DROPPED;
        hdr.report_main.metadata_length_words = METADATA_WORDS_DROPPED;
        hdr.report_main.length_words =
            MAIN_CONTENTS_WORDS + METADATA_WORDS_DROPPED + meta.report.inner_words;
        hdr.report_drop.setValid();
        hdr.report_drop.queue_id = (bit<8>)meta.report.queue;
        hdr.report_drop.reason = meta.report.drop_reason;
        hdr.report_drop.pad = 0;
        set_lengths(UDP_LENGTH_DROPPED + ((bit<16>)meta.report.inner_words << 2));
    }

    @hidden
    action pad_inner() {
        hdr.report_pad.setValid();
        hdr.report_pad.zero = 0;
    }

    @hidden
    action fill_transport() {
        hdr.report_no_transport.setValid();
        hdr.report_no_transport.zero = 0;
    }

    apply {
        if (standard_metadata.instance_type == INSTANCE_INGRESS_CLONE ||
            standard_metadata.instance_type == INSTANCE_EGRESS_CLONE) {
            address_report();
            fill_common();
            if (meta.report.dropped == 1) {
                fill_dropped();
            } else {
                fill_forwarded();
            }
            if (!hdr.tcp.isValid()) {
                if (!hdr.udp.isValid()) {
                    fill_transport();
                }
                pad_inner();
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
