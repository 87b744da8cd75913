// SPDX-License-Identifier: Apache-2.0
// Packet headers, shared by the v1model and the TNA program.
#ifndef TIDEMARK_HEADERS_P4
#define TIDEMARK_HEADERS_P4

typedef bit<48> mac_addr_t;
typedef bit<32> ipv4_addr_t;
typedef bit<128> ipv6_addr_t;

const bit<16> ETHERTYPE_IPV4 = 0x0800;
const bit<16> ETHERTYPE_IPV6 = 0x86DD;
const bit<16> ETHERTYPE_VLAN = 0x8100;

const bit<8> IP_PROTOCOL_TCP = 6;
const bit<8> IP_PROTOCOL_UDP = 17;

// IPv6 extension headers.
const bit<8> IPV6_HOP_BY_HOP = 0;
const bit<8> IPV6_ROUTING = 43;
const bit<8> IPV6_FRAGMENT = 44;
const bit<8> IPV6_AUTHENTICATION = 51;
const bit<8> IPV6_DESTINATION = 60;
const bit<8> IPV6_MOBILITY = 135;

const bit<2> ECN_NOT_ECT = 0;
const bit<2> ECN_CE = 3;

header ethernet_h {
    mac_addr_t dst_addr;
    mac_addr_t src_addr;
    bit<16>    ether_type;
}

// IEEE 802.1Q.
header vlan_h {
    bit<3>  priority;
    bit<1>  drop_eligible;
    bit<12> vlan_id;
    bit<16> ether_type;
}

// Without options.
header ipv4_h {
    bit<4>      version;
    bit<4>      ihl;
    bit<6>      dscp;
    bit<2>      ecn;
    bit<16>     total_length_bytes;
    bit<16>     identification;
    bit<1>      reserved;
    bit<1>      dont_fragment;
    bit<1>      more_fragments;
    bit<13>     fragment_offset;
    bit<8>      ttl;
    bit<8>      protocol;
    bit<16>     checksum;
    ipv4_addr_t src_addr;
    ipv4_addr_t dst_addr;
}

header ipv6_h {
    bit<4>      version;
    bit<6>      dscp;
    bit<2>      ecn;
    bit<20>     flow_label;
    bit<16>     payload_length_bytes;
    bit<8>      next_header;
    bit<8>      hop_limit;
    ipv6_addr_t src_addr;
    ipv6_addr_t dst_addr;
}

// The first 20 bytes; options stay in the payload.
header tcp_h {
    bit<16> src_port;
    bit<16> dst_port;
    bit<32> sequence;
    bit<32> acknowledgement;
    bit<4>  data_offset;
    bit<4>  reserved;
    bit<8>  flags;
    bit<16> window;
    bit<16> checksum;
    bit<16> urgent;
}

header udp_h {
    bit<16> src_port;
    bit<16> dst_port;
    bit<16> length_bytes;
    bit<16> checksum;
}

#endif
