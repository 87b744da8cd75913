// SPDX-License-Identifier: Apache-2.0
#ifndef TIDEMARK_INT_MD_PARSER_P4
#define TIDEMARK_INT_MD_PARSER_P4

#include "types.p4"

// Whatever is no stack as this program writes it is payload, and goes on as it came.
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
        transition select(hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.more_fragments,
                          hdr.ipv4.fragment_offset, hdr.ipv4.protocol) {
            (4, 5, 0, 0, IP_PROTOCOL_TCP): parse_tcp;
            (4, 5, 0, 0, IP_PROTOCOL_UDP): parse_udp;
            default: accept;
        }
    }

    state parse_tcp {
        packet.extract(hdr.tcp);
        meta.l4_src_port = hdr.tcp.src_port;
        meta.l4_dst_port = hdr.tcp.dst_port;
        meta.transport_words = (bit<8>)hdr.tcp.data_offset;
        verify(hdr.tcp.data_offset >= 5, error.HeaderTooShort);
        packet.extract(hdr.tcp_options, ((bit<32>)hdr.tcp.data_offset - 5) << 5);
        transition parse_transport;
    }

    state parse_udp {
        packet.extract(hdr.udp);
        meta.l4_src_port = hdr.udp.src_port;
        meta.l4_dst_port = hdr.udp.dst_port;
        meta.transport_words = UDP_WORDS;
        transition parse_transport;
    }

    state parse_transport {
        verify(hdr.ipv4.total_length_bytes >=
               ((bit<16>)(IPV4_WORDS + meta.transport_words)) << 2, error.PacketTooShort);
        meta.has_transport = true;
        transition select(hdr.ipv4.dscp) {
            DSCP_INT: look_for_stack;
            default: accept;
        }
    }

    // Type, next protocol and reserved bits of the shim; version and flags, hop words and
    // instructions of the header.
    state look_for_stack {
        bit<128> first = packet.lookahead<bit<128>>();
        transition select(first[127:120], first[95:92], first[76:72], first[63:48]) {
            (8w0x10, INT_VERSION, 5w8, INT_INSTRUCTIONS): parse_stack;
            default: accept;
        }
    }

    state parse_stack {
        packet.extract(hdr.int_shim);
        packet.extract(hdr.int_header);
        meta.words_left = hdr.int_shim.length_words |-| INT_HEADER_WORDS;
        transition parse_hops;
    }

    state parse_hops {
        transition select(meta.words_left) {
            0: accept_stack;
            default: parse_hop;
        }
    }

    state parse_hop {
        verify(meta.words_left >= HOP_WORDS, error.PacketTooShort);
        packet.extract(hdr.hop.next);
        meta.words_left = meta.words_left - HOP_WORDS;
        meta.hops = meta.hops + 1;
        transition parse_hops;
    }

    state accept_stack {
        meta.has_stack = true;
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
        packet.emit(hdr.ipv4);
        packet.emit(hdr.tcp);
        packet.emit(hdr.tcp_options);
        packet.emit(hdr.udp);
        packet.emit(hdr.int_shim);
        packet.emit(hdr.int_header);
        packet.emit(hdr.own_hop);
        packet.emit(hdr.hop);
    }
}

#endif
