// SPDX-License-Identifier: Apache-2.0
#ifndef TIDEMARK_V1MODEL_CHECKSUMS_P4
#define TIDEMARK_V1MODEL_CHECKSUMS_P4

#include "types.p4"

// Packets are forwarded as they came, right or wrong: hosts check their own.
control ChecksumVerification(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

#define IPV4_FIELDS(h) \
    h.version, h.ihl, h.dscp, h.ecn, h.total_length_bytes, h.identification, \
    h.reserved, h.dont_fragment, h.more_fragments, h.fragment_offset, \
    h.ttl, h.protocol, h.src_addr, h.dst_addr

#define EXTENSION_FIELDS(h) h.next_header, h.length, h.head, h.rest

control ChecksumUpdate(inout headers_t hdr, inout metadata_t meta) {
    apply {
        // Only where this switch changed the header (CE): the clone carries
        // the flag too, so that a report shows the packet as it left.
        update_checksum(hdr.ipv4.isValid() && meta.report.flags != 0,
            { IPV4_FIELDS(hdr.ipv4), hdr.ipv4_options.options },
            hdr.ipv4.checksum, HashAlgorithm.csum16);

        update_checksum(hdr.report_ipv4.isValid(),
            { IPV4_FIELDS(hdr.report_ipv4) }, hdr.report_ipv4.checksum, HashAlgorithm.csum16);

        // Linux UDP GRO passes over datagrams without a checksum, so reports
        // carry one. Fields of invalid headers are skipped by the target. (One
        // report in 65536 sums to 0, which says "no checksum": still legal.)
        update_checksum(hdr.report_udp.isValid(),
            { hdr.report_ipv4.src_addr, hdr.report_ipv4.dst_addr,
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
              IPV4_FIELDS(hdr.ipv4), hdr.ipv4.checksum, hdr.ipv4_options.options,
              hdr.ipv6.version, hdr.ipv6.dscp, hdr.ipv6.ecn, hdr.ipv6.flow_label,
              hdr.ipv6.payload_length_bytes, hdr.ipv6.next_header, hdr.ipv6.hop_limit,
              hdr.ipv6.src_addr, hdr.ipv6.dst_addr,
              EXTENSION_FIELDS(hdr.ipv6_extension[0]),
              EXTENSION_FIELDS(hdr.ipv6_extension[1]),
              EXTENSION_FIELDS(hdr.ipv6_extension[2]),
              hdr.tcp.src_port, hdr.tcp.dst_port, hdr.tcp.sequence, hdr.tcp.acknowledgement,
              hdr.tcp.data_offset, hdr.tcp.reserved, hdr.tcp.flags, hdr.tcp.window,
              hdr.tcp.checksum, hdr.tcp.urgent,
              hdr.udp.src_port, hdr.udp.dst_port, hdr.udp.length_bytes, hdr.udp.checksum },
            hdr.report_udp.checksum, HashAlgorithm.csum16);
    }
}

#endif
