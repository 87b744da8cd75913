// SPDX-License-Identifier: Apache-2.0
// INT-MD 2.0 behind the TCP or UDP header of an IPv4 packet:
//
//   shim (1 word) | header (3 words) | hops, the last one first (8 words each)
#ifndef TIDEMARK_INT_MD_TYPES_P4
#define TIDEMARK_INT_MD_TYPES_P4

#include <core.p4>
#include <v1model.p4>

#include "../include/headers.p4"
#include "../include/report.p4"

const bit<16> FLOOD_GROUP = 1;
const bit<32> REPORT_CLONE_SESSION = 1;
const bit<8>  REPORT_FIELD_LIST = 1;
const bit<32> INSTANCE_EGRESS_CLONE = 2;

// Marks a packet with a stack; its own DSCP is in the shim meanwhile.
const bit<6> DSCP_INT = 0x17;

const bit<4> SHIM_TYPE_MD = 1;
const bit<4> INT_VERSION = 2;
// Node id, level 1 ports, hop latency, queue, ingress time, egress time.
const bit<16> INT_INSTRUCTIONS = 0xFC00;

// In 4-byte words.
const bit<8> INT_HEADER_WORDS = 3;
const bit<8> HOP_WORDS = 8;
const bit<8> IPV4_WORDS = 5;
const bit<8> UDP_WORDS = 2;
const bit<16> SHIM_AND_HEADER_BYTES = 16;
const bit<16> HOP_BYTES = 32;

// Of other switches: with this one's a stack has one more.
const bit<32> MOST_HOPS_BEFORE = 5;

// Ethernet, IPv4, UDP, group header, first word and main contents of the report.
const bit<16> REPORT_UDP_BYTES = 8 + 8 + 12;
const bit<16> REPORT_FRAME_BYTES = 14 + 20;

header tcp_options_h {
    varbit<320> options;
}

header int_shim_h {
    bit<4>  type;
    bit<2>  next_protocol;
    bit<2>  reserved;
    // Of all behind the shim, in words.
    bit<8>  length_words;
    bit<8>  reserved_byte;
    bit<6>  dscp;
    bit<2>  reserved_end;
}

header int_header_h {
    bit<4>  version;
    bit<1>  discard;
    // There was no hop left for a switch on the way.
    bit<1>  exceeded;
    bit<1>  mtu_exceeded;
    bit<12> reserved;
    bit<5>  hop_words;
    bit<8>  hops_left;
    bit<16> instructions;
    bit<16> domain;
    bit<16> domain_instructions;
    bit<16> domain_flags;
}

// Added by this switch. Times in µs, occupancy in packets.
header own_hop_h {
    bit<32> node_id;
    bit<16> ingress_port;
    bit<16> egress_port;
    bit<32> latency;
    bit<8>  queue_id;
    bit<24> occupancy;
    bit<64> ingress_time;
    bit<64> egress_time;
}

header hop_h {
    bit<256> words;
}

struct headers_t {
    ethernet_h     ethernet;
    ipv4_h         report_ipv4;
    udp_h          report_udp;
    report_group_h report_group;
    report_main_h  report_main;
    ipv4_h         ipv4;
    tcp_h          tcp;
    tcp_options_h  tcp_options;
    udp_h          udp;
    int_shim_h     int_shim;
    int_header_h   int_header;
    own_hop_h      own_hop;
    hop_h[5]       hop;
}

// The clone at the sink needs all of it: the packet itself goes on without its stack, and
// a clone is made of the packet as it goes on.
struct report_t {
    @field_list(REPORT_FIELD_LIST) bit<22>  sequence;
    @field_list(REPORT_FIELD_LIST) bit<32>  node_id;
    @field_list(REPORT_FIELD_LIST) bit<9>   ingress_port;
    @field_list(REPORT_FIELD_LIST) bit<9>   egress_port;
    @field_list(REPORT_FIELD_LIST) bit<48>  ingress_time;
    @field_list(REPORT_FIELD_LIST) bit<48>  egress_time;
    @field_list(REPORT_FIELD_LIST) bit<24>  occupancy;
    @field_list(REPORT_FIELD_LIST) bit<8>   hops_left;
    @field_list(REPORT_FIELD_LIST) bit<1>   exceeded;
    @field_list(REPORT_FIELD_LIST) bit<6>   dscp;
    // This switch is among the hops.
    @field_list(REPORT_FIELD_LIST) bit<1>   own;
    @field_list(REPORT_FIELD_LIST) bit<8>   hops_before;
    @field_list(REPORT_FIELD_LIST) bit<256> hop_0;
    @field_list(REPORT_FIELD_LIST) bit<256> hop_1;
    @field_list(REPORT_FIELD_LIST) bit<256> hop_2;
    @field_list(REPORT_FIELD_LIST) bit<256> hop_3;
    @field_list(REPORT_FIELD_LIST) bit<256> hop_4;
}

struct metadata_t {
    report_t report;
    // A TCP or UDP header was found whole.
    bool     has_transport;
    // 0 where there are none.
    bit<16>  l4_src_port;
    bit<16>  l4_dst_port;
    bit<8>   transport_words;
    // The packet has a stack of INT_INSTRUCTIONS, of which every word was read.
    bool     has_stack;
    // The stack ends here.
    bool     is_sink;
    bit<8>   words_left;
    bit<8>   hops;
}

#endif
