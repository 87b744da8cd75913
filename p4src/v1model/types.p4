// SPDX-License-Identifier: Apache-2.0
#ifndef TIDEMARK_V1MODEL_TYPES_P4
#define TIDEMARK_V1MODEL_TYPES_P4

#include <core.p4>
#include <v1model.p4>

#include "../include/headers.p4"
#include "../include/report.p4"

const bit<32> PORT_COUNT = 512;
// Queues of a port that a program can name: `priority` has 3 bits.
const bit<32> QUEUE_COUNT = 8;
const bit<16> FLOOD_GROUP = 1;
const bit<32> REPORT_CLONE_SESSION = 1;
const bit<8>  REPORT_FIELD_LIST = 1;

// Marked, and reported for that alone: it is not in the sample.
const bit<8> POLICY_FLAG_OUT_OF_SAMPLE = 2;

// simple_switch's values of standard_metadata.instance_type.
const bit<32> INSTANCE_INGRESS_CLONE = 1;
const bit<32> INSTANCE_EGRESS_CLONE = 2;

// Options and extension headers are parsed only to find what lies behind them
// and to be repeated in reports.
header ipv4_options_h {
    varbit<320> options;
}

// Any extension header: they share the first two fields (of a fragment header
// the second is reserved). 64 bytes at most.
header ipv6_extension_h {
    bit<8>      next_header;
    bit<8>      length;
    bit<48>     head;
    varbit<448> rest;
}

struct headers_t {
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
    ipv4_options_h        ipv4_options;
    ipv6_h                ipv6;
    ipv6_extension_h[3]   ipv6_extension;
    tcp_h                 tcp;
    udp_h                 udp;
    report_no_transport_h report_no_transport;
    report_pad_h          report_pad;
}

// What a report says of its packet, and where it goes. A clone loses all other
// metadata, and its own trip through the traffic manager overwrites the
// intrinsic ones, so that everything is put down here in the original packet's
// pass.
struct report_t {
    @field_list(REPORT_FIELD_LIST) bit<6>      hw_id;
    @field_list(REPORT_FIELD_LIST) bit<22>     sequence;
    @field_list(REPORT_FIELD_LIST) bit<1>      dropped;
    @field_list(REPORT_FIELD_LIST) bit<1>      congested;
    @field_list(REPORT_FIELD_LIST) bit<9>      ingress_port;
    @field_list(REPORT_FIELD_LIST) bit<9>      egress_port;
    @field_list(REPORT_FIELD_LIST) bit<3>      queue;
    @field_list(REPORT_FIELD_LIST) bit<32>     occupancy_bytes;
    @field_list(REPORT_FIELD_LIST) bit<48>     ingress_time_us;
    @field_list(REPORT_FIELD_LIST) bit<48>     egress_time_us;
    @field_list(REPORT_FIELD_LIST) bit<8>      drop_reason;
    @field_list(REPORT_FIELD_LIST) bit<32>     limit_bytes;
    @field_list(REPORT_FIELD_LIST) bit<8>      sampling_shift;
    @field_list(REPORT_FIELD_LIST) bit<8>      flags;
    @field_list(REPORT_FIELD_LIST) bit<8>      inner_words;
    @field_list(REPORT_FIELD_LIST) mac_addr_t  src_mac;
    @field_list(REPORT_FIELD_LIST) mac_addr_t  dst_mac;
    @field_list(REPORT_FIELD_LIST) ipv4_addr_t src_ip;
    @field_list(REPORT_FIELD_LIST) ipv4_addr_t dst_ip;
    @field_list(REPORT_FIELD_LIST) bit<16>     udp_src_port;
    @field_list(REPORT_FIELD_LIST) bit<16>     udp_dst_port;
    @field_list(REPORT_FIELD_LIST) bit<32>     node_id;
}

struct metadata_t {
    report_t report;
    // Bytes this packet added to its queue's occupancy; 0 when it bypassed it.
    bit<32>  queued_bytes;
    // Place of its queue in `occupancy_bytes`.
    bit<32>  queue_index;
    // Queues of a port, when the packet asks for another than 0.
    bit<4>   queue_count;
    // An IP packet whose headers were found whole (or are not looked for, as in
    // a later fragment): what a report says of it would be true.
    bool     reportable;
    // Report this packet, be it forwarded or dropped.
    bool     watched;
    // Report it if it leaves: it is in the sample, or marked (only meaningful when
    // watched).
    bool     sampled;
    // Of IPv4 and IPv6 alike; 0 without them.
    bit<2>   ecn;
    bit<6>   dscp;
    bit<8>   ip_header_words;
    bit<16>  ip_payload_bytes;
    bit<8>   protocol;
    // 0 where there are none.
    bit<16>  l4_src_port;
    bit<16>  l4_dst_port;
    // Differs between the packets of a flow, the same on the whole path: TCP
    // sequence number or UDP checksum.
    bit<32>  packet_id;
    bit<16>  flow_hash;
    bit<16>  src_port_mask;
}

#endif
