// SPDX-License-Identifier: Apache-2.0
#ifndef TIDEMARK_TNA_PARSER_P4
#define TIDEMARK_TNA_PARSER_P4

#include "types.p4"

// IPv4 options and IPv6 extension headers end the parsing: a report has room for
// headers of one length per address family, and the hardware cannot leave out
// bytes in the middle. Such packets are forwarded, limited and marked like all
// others, and not reported.

parser IngressParser(packet_in packet,
                     out ingress_headers_t hdr,
                     out ingress_metadata_t meta,
                     out ingress_intrinsic_metadata_t ig_intr_md) {
    state start {
        packet.extract(ig_intr_md);
        packet.advance(PORT_METADATA_SIZE);
        meta.l4_src_port = 0;
        meta.l4_dst_port = 0;
        meta.packet_id_high = 0;
        meta.packet_id_low = 0;
        meta.reportable = 0;
        meta.missing_bytes = 0;
        meta.sample_hash = 0;
        meta.queue = 0;
        transition parse_ethernet;
    }

    state parse_ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_IPV4: parse_ipv4;
            ETHERTYPE_IPV6: parse_ipv6;
            ETHERTYPE_VLAN: parse_vlan;
            default: accept;
        }
    }

    state parse_vlan {
        packet.extract(hdr.vlan);
        transition select(hdr.vlan.ether_type) {
            ETHERTYPE_IPV4: parse_ipv4;
            ETHERTYPE_IPV6: parse_ipv6;
            default: accept;
        }
    }

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.version, hdr.ipv4.ihl,
                          hdr.ipv4.fragment_offset, hdr.ipv4.protocol) {
            (4, 5, 0, IP_PROTOCOL_TCP): parse_tcp;
            (4, 5, 0, IP_PROTOCOL_UDP): parse_udp;
            (4, 5, _, _): parse_no_transport;
            default: accept;
        }
    }

    state parse_ipv6 {
        packet.extract(hdr.ipv6);
        transition select(hdr.ipv6.version, hdr.ipv6.next_header) {
            (6, IP_PROTOCOL_TCP): parse_tcp;
            (6, IP_PROTOCOL_UDP): parse_udp;
            (6, IPV6_HOP_BY_HOP): accept;
            (6, IPV6_ROUTING): accept;
            (6, IPV6_FRAGMENT): accept;
            (6, IPV6_AUTHENTICATION): accept;
            (6, IPV6_DESTINATION): accept;
            (6, IPV6_MOBILITY): accept;
            (6, _): parse_no_transport;
            default: accept;
        }
    }

    state parse_tcp {
        packet.extract(hdr.tcp);
        meta.l4_src_port = hdr.tcp.src_port;
        meta.l4_dst_port = hdr.tcp.dst_port;
        meta.packet_id_high = hdr.tcp.sequence[31:16];
        meta.packet_id_low = hdr.tcp.sequence[15:0];
        meta.reportable = 1;
        transition accept;
    }

    state parse_udp {
        packet.extract(hdr.udp);
        meta.l4_src_port = hdr.udp.src_port;
        meta.l4_dst_port = hdr.udp.dst_port;
        meta.packet_id_low = hdr.udp.checksum;
        meta.reportable = 1;
        transition accept;
    }

    // Later fragments, and protocols without ports.
    state parse_no_transport {
        meta.reportable = 1;
        transition accept;
    }
}

control IngressDeparser(packet_out packet,
                        inout ingress_headers_t hdr,
                        in ingress_metadata_t meta,
                        in ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md) {
    apply {
        packet.emit(hdr.bridge);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.vlan);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ipv6);
        packet.emit(hdr.tcp);
        packet.emit(hdr.udp);
    }
}

parser EgressParser(packet_in packet,
                    out egress_headers_t hdr,
                    out egress_metadata_t meta,
                    out egress_intrinsic_metadata_t eg_intr_md) {
    state start {
        packet.extract(eg_intr_md);
        meta.kind = KIND_REPORT;
        meta.dropped = 0;
        meta.aqm = 0;
        meta.congested = 0;
        meta.marked = 0;
        meta.out_of_sample = 0;
        meta.group_word = 0;
        meta.occupancy_cells = 0;
        meta.limit_cells = 0;
        meta.egress_time = 0;
        meta.session = 0;
        meta.marking = 0;
        meta.refusal_cells = 0;
        meta.room_cells = 0;
        meta.refusal_room_cells = 0;
        meta.ecn = 0;
        meta.has_collector = 0;
        meta.collector_address_diff = 0;
        meta.collector_port_diff = 0;
        meta.port_diff = 0;
        meta.report_src_mac = 0;
        meta.report_dst_mac = 0;
        transition select(packet.lookahead<bit<8>>()) {
            KIND_PACKET_FIRST_BYTE &&& KIND_MASK: parse_bridge;
            KIND_REPORT_FIRST_BYTE &&& KIND_MASK: parse_mirror;
            default: reject;
        }
    }

    state parse_bridge {
        packet.extract(hdr.bridge);
        transition parse_ethernet;
    }

    state parse_mirror {
        packet.extract(hdr.mirror);
        transition parse_ethernet;
    }

    state parse_ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_IPV4: parse_ipv4;
            ETHERTYPE_IPV6: parse_ipv6;
            ETHERTYPE_VLAN: parse_vlan;
            default: accept;
        }
    }

    state parse_vlan {
        packet.extract(hdr.vlan);
        transition select(hdr.vlan.ether_type) {
            ETHERTYPE_IPV4: parse_ipv4;
            ETHERTYPE_IPV6: parse_ipv6;
            default: accept;
        }
    }

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.version, hdr.ipv4.ihl,
                          hdr.ipv4.fragment_offset, hdr.ipv4.protocol) {
            (4, 5, 0, IP_PROTOCOL_TCP): parse_tcp;
            (4, 5, 0, IP_PROTOCOL_UDP): parse_udp;
            default: accept;
        }
    }

    state parse_ipv6 {
        packet.extract(hdr.ipv6);
        transition select(hdr.ipv6.version, hdr.ipv6.next_header) {
            (6, IP_PROTOCOL_TCP): parse_tcp;
            (6, IP_PROTOCOL_UDP): parse_udp;
            default: accept;
        }
    }

    state parse_tcp {
        packet.extract(hdr.tcp);
        transition accept;
    }

    state parse_udp {
        packet.extract(hdr.udp);
        transition accept;
    }
}

#endif
