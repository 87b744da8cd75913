// SPDX-License-Identifier: Apache-2.0
// Layout of Tidemark's telemetry reports: Telemetry Report v2.0, one individual
// report per datagram. Shared by both programs; the collector's codec is tested
// against it.
//
//   Ethernet | IPv4 | UDP | group | main | ports | queue | ingress time
//   | egress time (not when dropped) | drop (only when dropped) | domain
//   | inner IP header | first 20 bytes of its payload
//
// The inner packet starts at its IP header; tags before it are left out. A UDP
// header is filled up with zeros to 20 bytes. Where there is no transport header
// to show (a later fragment, another protocol), all 20 bytes are zero: nothing
// in them may pass for ports. So all reports of an address family have one
// length (but for IPv4 options and IPv6 extension headers, which v1model keeps).
#ifndef TIDEMARK_REPORT_P4
#define TIDEMARK_REPORT_P4

#include "headers.p4"

const bit<4>  REPORT_VERSION = 2;
const bit<4>  REPORT_TYPE_INT = 1;
const bit<4>  INNER_TYPE_IPV4 = 4;
const bit<4>  INNER_TYPE_IPV6 = 5;
// Operator-assigned domain: 'T' 'M'.
const bit<16> REPORT_DOMAIN = 0x544D;
// Limit in force, report policy.
const bit<16> REPORT_DOMAIN_BITS = 0xC000;

// Ports, queue, ingress time, egress time.
const bit<16> METADATA_BITS_FORWARDED = 0x5C00;
// Ports, queue, ingress time, drop.
const bit<16> METADATA_BITS_DROPPED = 0x5801;

// In 4-byte words. The main contents count in the report's length only.
const bit<8> METADATA_WORDS_FORWARDED = 8; // 1 + 1 + 2 + 2, domain 2
const bit<8> METADATA_WORDS_DROPPED = 7;   // 1 + 1 + 2 + 1, domain 2
const bit<8> MAIN_CONTENTS_WORDS = 2;
const bit<8> INNER_WORDS_IPV4 = 10;        // 20 IP + 20 transport
const bit<8> INNER_WORDS_IPV6 = 15;        // 40 IP + 20 transport
const bit<8> TRANSPORT_WORDS = 5;

// In bytes, UDP header included: 8 + group header and first word of the report
// 12 + main contents 8 + metadata, then the inner packet.
const bit<16> UDP_LENGTH_FORWARDED = 8 + 12 + 8 + 32;
const bit<16> UDP_LENGTH_DROPPED = 8 + 12 + 8 + 28;
const bit<16> UDP_LENGTH_FORWARDED_IPV4 = UDP_LENGTH_FORWARDED + 40;
const bit<16> UDP_LENGTH_DROPPED_IPV4 = UDP_LENGTH_DROPPED + 40;
const bit<16> UDP_LENGTH_FORWARDED_IPV6 = UDP_LENGTH_FORWARDED + 60;
const bit<16> UDP_LENGTH_DROPPED_IPV6 = UDP_LENGTH_DROPPED + 60;
const bit<16> IPV4_HEADER_BYTES = 20;
const bit<16> ETHERNET_HEADER_BYTES = 14;

const bit<16> REPORT_SOURCE_PORT_BASE = 49152;
const bit<8>  REPORT_TTL = 64;

// Passes that number their reports independently.
const bit<6> HW_ID_FORWARDED = 0;
const bit<6> HW_ID_DROPPED = 1;

const bit<8> DROP_REASON_TAIL_DROP = 71;
const bit<8> DROP_REASON_AQM = 73;

const bit<8> POLICY_FLAG_CE_MARKED = 1;

const bit<32> LIMIT_NONE = 0xFFFFFFFF;

header report_group_h {
    bit<4>  version;
    bit<6>  hw_id;
    bit<22> sequence;
    bit<32> node_id;
}

header report_main_h {
    bit<4>  report_type;
    bit<4>  inner_type;
    bit<8>  length_words;
    bit<8>  metadata_length_words;
    bit<1>  dropped;
    bit<1>  congested;
    bit<1>  tracked;
    bit<1>  intermediate;
    bit<4>  reserved;
    bit<16> metadata_bits;
    bit<16> domain;
    bit<16> domain_bits;
    bit<16> domain_status;
}

header report_ports_h {
    bit<16> ingress_port;
    bit<16> egress_port;
}

header report_queue_h {
    bit<8>  queue_id;
    bit<24> occupancy;
}

header report_ingress_time_h {
    bit<64> time_ns;
}

header report_egress_time_h {
    bit<64> time_ns;
}

header report_drop_h {
    bit<8>  queue_id;
    bit<8>  reason;
    bit<16> pad;
}

header report_domain_h {
    bit<32> limit;
    bit<8>  sampling_shift;
    bit<8>  flags;
    bit<16> reserved;
}

// Behind the inner UDP header: fills it up to 20 bytes, so that all reports of
// an address family have one length and coalesce in the receiver (UDP GRO).
header report_pad_h {
    bit<96> zero;
}

// In place of a UDP header, before report_pad_h, where no transport header is
// shown.
header report_no_transport_h {
    bit<64> zero;
}

#endif
