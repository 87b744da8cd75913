// SPDX-License-Identifier: Apache-2.0
#ifndef TIDEMARK_TNA_TYPES_P4
#define TIDEMARK_TNA_TYPES_P4

#include "../include/headers.p4"
#include "../include/report.p4"

const bit<32> PORT_COUNT = 512;
const bit<16> FLOOD_GROUP = 1;

// First bits of what the egress parser sees: a packet with what ingress knows of
// it, or the mirrored headers of one, which become its report.
typedef bit<3> kind_t;
const kind_t KIND_PACKET = 1;
const kind_t KIND_REPORT = 2;
const bit<8> KIND_PACKET_FIRST_BYTE = 0x20;
const bit<8> KIND_REPORT_FIRST_BYTE = 0x40;
const bit<8> KIND_MASK = 0xE0;

const MirrorType_t MIRROR_TYPE_REPORT = 1;

// Flags of a packet that is marked and not of the sample: 1, marked; 2, out of sample.
const bit<8> POLICY_FLAGS_MARK_ALONE = POLICY_FLAG_CE_MARKED | 2;

// Mirror sessions, by the headers that they keep.
const MirrorId_t SESSION_IPV4 = 1;
const MirrorId_t SESSION_IPV4_UDP = 2;
const MirrorId_t SESSION_IPV4_TCP = 3;
const MirrorId_t SESSION_IPV6 = 4;
const MirrorId_t SESSION_IPV6_UDP = 5;
const MirrorId_t SESSION_IPV6_TCP = 6;
const MirrorId_t SESSION_VLAN_IPV4 = 7;
const MirrorId_t SESSION_VLAN_IPV4_UDP = 8;
const MirrorId_t SESSION_VLAN_IPV4_TCP = 9;
const MirrorId_t SESSION_VLAN_IPV6 = 10;
const MirrorId_t SESSION_VLAN_IPV6_UDP = 11;
const MirrorId_t SESSION_VLAN_IPV6_TCP = 12;

// 22 bits.
const bit<32> LAST_SEQUENCE = 0x3FFFFF;

// From ingress to egress, in front of every packet.
header bridge_h {
    kind_t   kind;
    bit<1>   watched;
    bit<1>   sampled;
    bit<1>   flooded;
    // Whether depth_cells says anything.
    bit<1>   depth_known;
    bit<1>   pad;
    bit<8>   sampling_shift;
    // Ports in the width of the report, so that the copy's pass need not put
    // them together.
    bit<16>  ingress_port;
    // Where the traffic manager was asked to send it: a deflected packet is
    // seen at another port.
    bit<16>  egress_port;
    bit<48>  ingress_time;
#if __TARGET_TOFINO__ >= 2
    // Of the queue, when ingress saw the packet (from the ghost thread).
    bit<32>  depth_cells;
#endif
}

// In front of the mirrored headers: what the report says. 30 bytes, so that
// with any of the header lengths below the whole is a multiple of 4, where
// Tofino 2 cuts.
header mirror_h {
    kind_t   kind;
    bit<1>   dropped;
    bit<1>   aqm;
    bit<1>   congested;
    bit<1>   marked;
    bit<1>   out_of_sample;
    bit<8>   sampling_shift;
    bit<16>  ingress_port;
    // First word of the report: version, hw_id, sequence number.
    bit<32>  group_word;
    bit<16>  egress_port;
    bit<32>  occupancy_cells;
    bit<48>  ingress_time;
    bit<48>  egress_time;
    bit<32>  limit_cells;
}

struct ingress_headers_t {
    bridge_h   bridge;
    ethernet_h ethernet;
    vlan_h     vlan;
    ipv4_h     ipv4;
    ipv6_h     ipv6;
    tcp_h      tcp;
    udp_h      udp;
}

struct ingress_metadata_t {
    bit<16>  l4_src_port;
    bit<16>  l4_dst_port;
    // Differs between the packets of a flow, the same on the whole path: TCP
    // sequence number or UDP checksum.
    bit<16>  packet_id_high;
    bit<16>  packet_id_low;
    // An IP packet whose headers are whole and without options.
    bit<1>   reportable;
    // Bytes missing in the IP packet for the headers that were parsed.
    bit<16>  missing_bytes;
    bit<16>  sample_hash;
    // In the ghost thread's numbering.
    bit<11>  queue;
}

struct egress_headers_t {
    bridge_h              bridge;
    mirror_h              mirror;
    ethernet_h            ethernet;
    vlan_h                vlan;
    ipv4_h                report_ipv4;
    udp_h                 report_udp;
    report_group_h        report_group;
    report_main_h         report_main;
    report_ports_h        report_ports;
    report_queue_h        report_queue;
    report_ingress_time_h report_ingress_time;
    report_egress_time_h  report_egress_time;
    report_drop_h         report_drop;
    report_domain_h       report_domain;
    ipv4_h                ipv4;
    ipv6_h                ipv6;
    tcp_h                 tcp;
    udp_h                 udp;
    report_no_transport_h report_no_transport;
    report_pad_h          report_pad;
}

struct egress_metadata_t {
    // Of the report to come; constants cannot stand in a mirror field list.
    kind_t      kind;
    bit<1>      dropped;
    bit<1>      aqm;
    bit<1>      congested;
    bit<1>      marked;
    // Reported for its mark alone.
    bit<1>      out_of_sample;
    bit<32>     group_word;
    bit<32>     occupancy_cells;
    // Limit, or threshold of marking.
    bit<32>     limit_cells;
    bit<48>     egress_time;
    MirrorId_t  session;

    // At limit_cells packets are marked (limit_cells is a threshold then), not
    // refused.
    bit<1>      marking;
    // Everything is refused from here on.
    bit<32>     refusal_cells;
    // Each minus the occupancy, 0 at and above it.
    bit<32>     room_cells;
    bit<32>     refusal_room_cells;
    bit<2>      ecn;
    bit<1>      has_collector;
    // 0 where the packet goes to the collector.
    bit<32>     collector_address_diff;
    bit<16>     collector_port_diff;
    // 0 where a flooded copy would return to its sender.
    bit<9>      port_diff;
    mac_addr_t  report_src_mac;
    mac_addr_t  report_dst_mac;
}

#endif
