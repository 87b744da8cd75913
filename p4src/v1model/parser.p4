// SPDX-License-Identifier: Apache-2.0
#ifndef TIDEMARK_V1MODEL_PARSER_P4
#define TIDEMARK_V1MODEL_PARSER_P4

#include "types.p4"

parser PacketParser(packet_in packet,
                    out headers_t hdr,
                    inout metadata_t meta,
                    inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_IPV4: parse_ipv4;
            default: accept;
        }
    }

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        // Behind options or in a later fragment the next bytes are not a
        // transport header: such packets are forwarded, never reported.
        transition select(hdr.ipv4.ihl, hdr.ipv4.fragment_offset, hdr.ipv4.protocol) {
            (5, 0, IP_PROTOCOL_TCP): parse_tcp;
            (5, 0, IP_PROTOCOL_UDP): parse_udp;
            default: accept;
        }
    }

    state parse_tcp {
        packet.extract(hdr.tcp);
        meta.l4_src_port = hdr.tcp.src_port;
        meta.l4_dst_port = hdr.tcp.dst_port;
        meta.tcp_sequence = hdr.tcp.sequence;
        transition accept;
    }

    state parse_udp {
        packet.extract(hdr.udp);
        meta.l4_src_port = hdr.udp.src_port;
        meta.l4_dst_port = hdr.udp.dst_port;
        transition accept;
    }
}

control PacketDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
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
        packet.emit(hdr.tcp);
        packet.emit(hdr.udp);
        packet.emit(hdr.report_pad);
    }
}

#endif
