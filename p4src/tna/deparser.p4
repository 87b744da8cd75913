// SPDX-License-Identifier: Apache-2.0
#ifndef TIDEMARK_TNA_DEPARSER_P4
#define TIDEMARK_TNA_DEPARSER_P4

#include "types.p4"

#define IPV4_FIELDS(h) \
    h.version, h.ihl, h.dscp, h.ecn, h.total_length_bytes, h.identification, \
    h.reserved, h.dont_fragment, h.more_fragments, h.fragment_offset, \
    h.ttl, h.protocol, h.src_addr, h.dst_addr

control EgressDeparser(packet_out packet,
                       inout egress_headers_t hdr,
                       in egress_metadata_t meta,
                       in egress_intrinsic_metadata_for_deparser_t eg_dprsr_md) {
    Mirror(MIRROR_TYPE_REPORT) mirror;
    Checksum() ipv4_checksum;
    Checksum() udp_checksum;

    apply {
        if (eg_dprsr_md.mirror_type == MIRROR_TYPE_REPORT) {
            mirror.emit<mirror_h>(meta.session, {
                meta.kind, meta.dropped, meta.aqm, meta.congested, meta.marked,
                meta.out_of_sample,
                hdr.bridge.sampling_shift, hdr.bridge.ingress_port,
                meta.group_word,
                hdr.bridge.egress_port,
                meta.occupancy_cells,
                hdr.bridge.ingress_time, meta.egress_time,
                meta.limit_cells });
        }

        hdr.report_ipv4.checksum = ipv4_checksum.update({ IPV4_FIELDS(hdr.report_ipv4) });

        // Linux UDP GRO passes over datagrams without a checksum, so reports
        // carry one. The headers are all of the datagram, so the deparser can
        // sum it up; 0 is sent as 0xFFFF.
        hdr.report_udp.checksum = udp_checksum.update({
            hdr.report_ipv4.src_addr, hdr.report_ipv4.dst_addr,
            8w0, hdr.report_ipv4.protocol, hdr.report_udp.length_bytes,
            hdr.report_udp.src_port, hdr.report_udp.dst_port, hdr.report_udp.length_bytes,
            hdr.report_group.version, hdr.report_group.hw_id, hdr.report_group.sequence,
            hdr.report_group.node_id,
            hdr.report_main.report_type, hdr.report_main.inner_type,
            hdr.report_main.length_words, hdr.report_main.metadata_length_words,
            hdr.report_main.dropped, hdr.report_main.congested, hdr.report_main.tracked,
            hdr.report_main.intermediate, hdr.report_main.reserved,
            hdr.report_main.metadata_bits, hdr.report_main.domain,
            hdr.report_main.domain_bits, hdr.report_main.domain_status,
            hdr.report_ports.ingress_port, hdr.report_ports.egress_port,
            hdr.report_queue.queue_id, hdr.report_queue.occupancy,
            hdr.report_ingress_time.time_ns,
            hdr.report_egress_time.time_ns,
            hdr.report_drop.queue_id, hdr.report_drop.reason, hdr.report_drop.pad,
            hdr.report_domain.limit, hdr.report_domain.sampling_shift,
            hdr.report_domain.flags, hdr.report_domain.reserved,
            IPV4_FIELDS(hdr.ipv4), hdr.ipv4.checksum,
            hdr.ipv6.version, hdr.ipv6.dscp, hdr.ipv6.ecn, hdr.ipv6.flow_label,
            hdr.ipv6.payload_length_bytes, hdr.ipv6.next_header, hdr.ipv6.hop_limit,
            hdr.ipv6.src_addr, hdr.ipv6.dst_addr,
            hdr.tcp.src_port, hdr.tcp.dst_port, hdr.tcp.sequence, hdr.tcp.acknowledgement,
            hdr.tcp.data_offset, hdr.tcp.reserved, hdr.tcp.flags, hdr.tcp.window,
            hdr.tcp.checksum, hdr.tcp.urgent,
            hdr.udp.src_port, hdr.udp.dst_port, hdr.udp.length_bytes, hdr.udp.checksum }, true);

        packet.emit(hdr.ethernet);
        packet.emit(hdr.vlan);
        packet.emit(hdr.report_ipv4);
        packet.emit(hdr.report_udp);
        packet.emit(hdr.report_group);
        packet.emit(hdr.report_main);
        packet.emit(hdr.report_ports);
        packet.emit(hdr.report_queue);
        packet.emit(hdr.report_ingress_time);
        packet.emit(hdr.report_egress_time);
        packet.emit(hdr.report_drop);
        packet.emit(hdr.report_domain);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ipv6);
        packet.emit(hdr.tcp);
        packet.emit(hdr.udp);
        packet.emit(hdr.report_no_transport);
        packet.emit(hdr.report_pad);
    }
}

#endif
