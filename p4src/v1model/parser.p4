// SPDX-License-Identifier: Apache-2.0
#ifndef TIDEMARK_V1MODEL_PARSER_P4
#define TIDEMARK_V1MODEL_PARSER_P4

#include "types.p4"

// Where a header is cut off or contradicts itself, parsing stops with an error:
// such a packet is forwarded as it came, and `reportable` stays false.
parser PacketParser(packet_in packet,
                    out headers_t hdr,
                    inout metadata_t meta,
                    inout standard_metadata_t standard_metadata) {
    state start {
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

    // --- IPv4 -----------------------------------------------------------

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        meta.ecn = hdr.ipv4.ecn;
        meta.dscp = hdr.ipv4.dscp;
        meta.protocol = hdr.ipv4.protocol;
        meta.ip_header_words = (bit<8>)hdr.ipv4.ihl;
        meta.ip_payload_bytes =
            hdr.ipv4.total_length_bytes |-| ((bit<16>)hdr.ipv4.ihl << 2);
        transition select(hdr.ipv4.version, hdr.ipv4.ihl,
                          hdr.ipv4.fragment_offset, hdr.ipv4.protocol) {
            (4, 5, 0, IP_PROTOCOL_TCP): parse_tcp;
            (4, 5, 0, IP_PROTOCOL_UDP): parse_udp;
            (4, 5, _, _): parse_ipv4_no_transport;
            (4, 6 .. 15, _, _): parse_ipv4_options;
            default: accept;
        }
    }

    state parse_ipv4_options {
        packet.extract(hdr.ipv4_options, ((bit<32>)hdr.ipv4.ihl - 5) << 5);
        transition select(hdr.ipv4.fragment_offset, hdr.ipv4.protocol) {
            (0, IP_PROTOCOL_TCP): parse_tcp;
            (0, IP_PROTOCOL_UDP): parse_udp;
            default: parse_ipv4_no_transport;
        }
    }

    state parse_ipv4_no_transport {
        verify(hdr.ipv4.total_length_bytes >= (bit<16>)hdr.ipv4.ihl << 2, error.PacketTooShort);
        transition parse_no_transport;
    }

    // --- IPv6 -----------------------------------------------------------

    state parse_ipv6 {
        packet.extract(hdr.ipv6);
        meta.ecn = hdr.ipv6.ecn;
        meta.dscp = hdr.ipv6.dscp;
        meta.protocol = hdr.ipv6.next_header;
        meta.ip_header_words = 10;
        meta.ip_payload_bytes = hdr.ipv6.payload_length_bytes;
        transition select(hdr.ipv6.version) {
            6: parse_ipv6_next;
            default: accept;
        }
    }

    state parse_ipv6_next {
        transition select(meta.protocol) {
            IP_PROTOCOL_TCP: parse_tcp;
            IP_PROTOCOL_UDP: parse_udp;
            IPV6_HOP_BY_HOP: parse_ipv6_extension;
            IPV6_ROUTING: parse_ipv6_extension;
            IPV6_DESTINATION: parse_ipv6_extension;
            IPV6_FRAGMENT: parse_ipv6_fragment;
            IPV6_AUTHENTICATION: parse_ipv6_authentication;
            // Of no use for a report, and nothing may follow it.
            IPV6_MOBILITY: accept;
            default: parse_no_transport;
        }
    }

    state parse_ipv6_extension {
        bit<16> first = packet.lookahead<bit<16>>();
        packet.extract(hdr.ipv6_extension.next, (bit<32>)first[7:0] << 6);
        meta.protocol = first[15:8];
        meta.ip_header_words = meta.ip_header_words + 2 + (first[7:0] << 1);
        verify(meta.ip_payload_bytes >= 8 + ((bit<16>)first[7:0] << 3), error.PacketTooShort);
        meta.ip_payload_bytes = meta.ip_payload_bytes - 8 - ((bit<16>)first[7:0] << 3);
        transition parse_ipv6_next;
    }

    // Counts its length in other units than the others.
    state parse_ipv6_authentication {
        bit<16> first = packet.lookahead<bit<16>>();
        packet.extract(hdr.ipv6_extension.next, (bit<32>)first[7:0] << 5);
        meta.protocol = first[15:8];
        meta.ip_header_words = meta.ip_header_words + 2 + first[7:0];
        verify(meta.ip_payload_bytes >= 8 + ((bit<16>)first[7:0] << 2), error.PacketTooShort);
        meta.ip_payload_bytes = meta.ip_payload_bytes - 8 - ((bit<16>)first[7:0] << 2);
        transition parse_ipv6_next;
    }

    state parse_ipv6_fragment {
        bit<32> first = packet.lookahead<bit<32>>();
        packet.extract(hdr.ipv6_extension.next, 0);
        meta.protocol = first[31:24];
        meta.ip_header_words = meta.ip_header_words + 2;
        verify(meta.ip_payload_bytes >= 8, error.PacketTooShort);
        meta.ip_payload_bytes = meta.ip_payload_bytes - 8;
        transition select(first[15:3]) {
            0: parse_ipv6_next;
            default: parse_no_transport;
        }
    }

    // --- transport --------------------------------------------------------
    //
    // Behind the end of the IP packet there may be padding of the frame, which
    // must not be taken for ports.

    state parse_tcp {
        verify(meta.ip_payload_bytes >= 20, error.PacketTooShort);
        packet.extract(hdr.tcp);
        meta.l4_src_port = hdr.tcp.src_port;
        meta.l4_dst_port = hdr.tcp.dst_port;
        meta.packet_id = hdr.tcp.sequence;
        meta.reportable = true;
        transition accept;
    }

    state parse_udp {
        verify(meta.ip_payload_bytes >= 8, error.PacketTooShort);
        packet.extract(hdr.udp);
        meta.l4_src_port = hdr.udp.src_port;
        meta.l4_dst_port = hdr.udp.dst_port;
        meta.packet_id = (bit<32>)hdr.udp.checksum;
        meta.reportable = true;
        transition accept;
    }

    // Later fragments, and protocols without ports.
    state parse_no_transport {
        meta.reportable = true;
        transition accept;
    }
}

control PacketDeparser(packet_out packet, in headers_t hdr) {
    apply {
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
        packet.emit(hdr.ipv4_options);
        packet.emit(hdr.ipv6);
        packet.emit(hdr.ipv6_extension);
        packet.emit(hdr.tcp);
        packet.emit(hdr.udp);
        packet.emit(hdr.report_no_transport);
        packet.emit(hdr.report_pad);
    }
}

#endif
