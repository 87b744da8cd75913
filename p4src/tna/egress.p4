// SPDX-License-Identifier: Apache-2.0
#ifndef TIDEMARK_TNA_EGRESS_P4
#define TIDEMARK_TNA_EGRESS_P4

#include "types.p4"

// Admits by the depth that the traffic manager saw when the packet arrived at the
// queue, and reports. A packet that is refused here has been through the queue:
// the depth can exceed the limit, as with no drop-tail queue that refuses on
// arrival.
control Egress(inout egress_headers_t hdr,
               inout egress_metadata_t meta,
               in egress_intrinsic_metadata_t eg_intr_md,
               in egress_intrinsic_metadata_from_parser_t eg_prsr_md,
               inout egress_intrinsic_metadata_for_deparser_t eg_dprsr_md,
               inout egress_intrinsic_metadata_for_output_port_t eg_oport_md) {
    Hash<bit<16>>(HashAlgorithm_t.CRC32) flow_hash;

    // Numbers what this pipe reports.
    Register<bit<32>, bit<1>>(1, 0) report_sequence;
    RegisterAction<bit<32>, bit<1>, bit<32>>(report_sequence) next_sequence = {
        void apply(inout bit<32> value, out bit<32> result) {
            result = value;
            if (value == LAST_SEQUENCE) {
                value = 0;
            } else {
                value = value + 1;
            }
        }
    };

    // Depth at the last arrival at each port: all that is known of the depth
    // when the traffic manager drops a packet.
    Register<bit<32>, PortId_t>(PORT_COUNT, 0) last_depth;
    RegisterAction<bit<32>, PortId_t, bit<32>>(last_depth) keep_depth = {
        void apply(inout bit<32> value) {
            value = meta.occupancy_cells;
        }
    };
    RegisterAction<bit<32>, PortId_t, bit<32>>(last_depth) recall_depth = {
        void apply(inout bit<32> value, out bit<32> result) {
            result = value;
        }
    };

    // --- where reports go ---------------------------------------------------
    //
    // Of a report this writes the headers; of any other packet it tells whether
    // it goes to the collector (a report about a report would be reported again
    // by the next switch on its way, and so on). Those headers are not valid
    // then, and not sent.

    @name(".Egress.set_destination")
    action set_destination(mac_addr_t src_mac, mac_addr_t dst_mac,
                           ipv4_addr_t src_ip, ipv4_addr_t dst_ip,
                           bit<16> udp_dst_port, bit<16> src_port_mask,
                           bit<32> node_id) {
        hdr.report_ipv4.src_addr = src_ip;
        hdr.report_ipv4.dst_addr = dst_ip;
        hdr.report_udp.dst_port = udp_dst_port;
        hdr.report_group.node_id = node_id;
        meta.report_src_mac = src_mac;
        meta.report_dst_mac = dst_mac;
        hdr.report_udp.src_port = hdr.report_udp.src_port & src_port_mask;
        meta.collector_address_diff = hdr.ipv4.dst_addr ^ dst_ip;
        meta.collector_port_diff = hdr.udp.dst_port ^ udp_dst_port;
        meta.has_collector = 1;
    }

    @name(".Egress.none")
    action none() {
        meta.has_collector = 0;
    }

    @name(".Egress.report_to")
    table report_to {
        actions = { set_destination; none; }
        default_action = none();
        size = 1;
    }

    // --- admission ------------------------------------------------------

    @name(".Ingress.drop_tail")
    action drop_tail(bit<32> limit_cells) {
        meta.limit_cells = limit_cells;
        meta.refusal_cells = limit_cells;
        meta.marking = 0;
    }

    // RFC 3168: from the threshold on, mark what can be marked and drop the rest.
    // From the limit on, drop everything: the limit is tested first, so that a
    // threshold above it has no effect. LIMIT_NONE is no limit. Reports carry the
    // threshold, which is what senders react to.
    @name(".Ingress.mark_ce")
    action mark_ce(bit<32> threshold_cells, bit<32> limit_cells) {
        meta.limit_cells = threshold_cells;
        meta.refusal_cells = limit_cells;
        meta.marking = 1;
    }

    @name(".Ingress.unlimited")
    action unlimited() {
        meta.limit_cells = LIMIT_NONE;
        meta.refusal_cells = LIMIT_NONE;
        meta.marking = 0;
    }

    @name(".Ingress.queue_limit")
    table queue_limit {
        key = { hdr.bridge.egress_port[8:0]: exact @name("egress_port"); }
        actions = { drop_tail; mark_ce; unlimited; }
        default_action = unlimited();
        size = PORT_COUNT;
    }

    @hidden
    action note_depth() {
        keep_depth.execute(hdr.bridge.egress_port[8:0]);
    }

    @hidden
    action recall() {
        meta.occupancy_cells = recall_depth.execute(hdr.bridge.egress_port[8:0]);
    }

#if __TARGET_TOFINO__ >= 2
    @hidden
    action take_ghost_depth() {
        meta.occupancy_cells = hdr.bridge.depth_cells;
    }
#endif

    @hidden
    table depth {
        key = {
            eg_intr_md.deflection_flag: exact;
            hdr.bridge.depth_known: exact;
        }
        actions = {
            note_depth; recall;
#if __TARGET_TOFINO__ >= 2
            take_ghost_depth;
#endif
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        const entries = {
            (0, 0): note_depth();
            (0, 1): note_depth();
            (1, 0): recall();
#if __TARGET_TOFINO__ >= 2
            (1, 1): take_ghost_depth();
#endif
        }
    }

    // The saturating differences take a stage of their own, ahead of the test.
    @hidden
    action compare() {
        meta.room_cells = meta.limit_cells |-| meta.occupancy_cells;
        meta.refusal_room_cells = meta.refusal_cells |-| meta.occupancy_cells;
    }

    @hidden
    table comparison {
        actions = { compare; }
        const default_action = compare();
        size = 1;
    }

    @hidden
    action refuse() {
        meta.dropped = 1;
        meta.congested = 1;
        eg_dprsr_md.drop_ctl = 1;
    }

    @hidden
    action refuse_unmarkable() {
        meta.dropped = 1;
        meta.aqm = 1;
        meta.congested = 1;
        eg_dprsr_md.drop_ctl = 1;
    }

    @hidden
    action mark_ipv4() {
        hdr.ipv4.ecn = ECN_CE;
        meta.marked = 1;
        meta.congested = 1;
    }

    @hidden
    action mark_ipv6() {
        hdr.ipv6.ecn = ECN_CE;
        meta.marked = 1;
        meta.congested = 1;
    }

    @hidden
    action congest() {
        meta.congested = 1;
    }

    // What a deflected packet met is the traffic manager's limit, not this one.
    @hidden
    table verdict {
        key = {
            eg_intr_md.deflection_flag: ternary;
            meta.refusal_room_cells: ternary;
            meta.marking: ternary;
            meta.room_cells: ternary;
            hdr.ipv4.isValid(): ternary;
            hdr.ipv4.ecn: ternary;
            hdr.ipv6.isValid(): ternary;
            hdr.ipv6.ecn: ternary;
        }
        actions = {
            refuse; refuse_unmarkable; mark_ipv4; mark_ipv6; congest;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        const entries = {
            (1, _, _, _, _, _, _, _): refuse();
            (_, 0, _, _, _, _, _, _): refuse();
            (_, _, 1, 0, true, ECN_NOT_ECT, _, _): refuse_unmarkable();
            (_, _, 1, 0, true, ECN_CE, _, _): congest();
            (_, _, 1, 0, true, _, _, _): mark_ipv4();
            (_, _, 1, 0, _, _, true, ECN_NOT_ECT): refuse_unmarkable();
            (_, _, 1, 0, _, _, true, ECN_CE): congest();
            (_, _, 1, 0, _, _, true, _): mark_ipv6();
            (_, _, 1, 0, _, _, _, _): refuse_unmarkable();
        }
    }

    // The header checksum follows the mark by RFC 1624: the word that holds the
    // ECN bits grew by 1 (from ECT(0), 2) or by 2 (from ECT(1), 1), so the
    // checksum shrinks by as much in one's complement. Options need not be read,
    // and a wrong checksum stays wrong.
    @hidden
    action lower_checksum_1() {
        hdr.ipv4.checksum = hdr.ipv4.checksum - 1;
    }

    @hidden
    action lower_checksum_2() {
        hdr.ipv4.checksum = hdr.ipv4.checksum - 2;
    }

    @hidden
    action set_checksum(bit<16> checksum) {
        hdr.ipv4.checksum = checksum;
    }

    @hidden
    table lower_checksum {
        key = {
            meta.ecn: ternary;
            hdr.ipv4.checksum: ternary;
        }
        actions = { lower_checksum_1; lower_checksum_2; set_checksum; @defaultonly NoAction; }
        const default_action = NoAction();
        const entries = {
            (2, 0): set_checksum(0xFFFE);
            (2, _): lower_checksum_1();
            (1, 0): set_checksum(0xFFFD);
            (1, 1): set_checksum(0xFFFE);
            (1, _): lower_checksum_2();
        }
    }

    // --- the decision to report ---------------------------------------------

    @hidden
    action mirror_headers() {
        eg_dprsr_md.mirror_type = MIRROR_TYPE_REPORT;
#if __TARGET_TOFINO__ >= 2
        // The packet as it leaves, not as it came.
        eg_dprsr_md.mirror_io_select = 1;
#endif
        meta.group_word = meta.group_word | next_sequence.execute(0);
    }

    // The mark is a signal as a drop is, and stands for one packet.
    @hidden
    action mirror_out_of_sample() {
        eg_dprsr_md.mirror_type = MIRROR_TYPE_REPORT;
#if __TARGET_TOFINO__ >= 2
        eg_dprsr_md.mirror_io_select = 1;
#endif
        meta.group_word = meta.group_word | next_sequence.execute(0);
        meta.out_of_sample = 1;
    }

    @hidden
    action leave_unreported() { }

    @hidden
    table report_decision {
        key = {
            hdr.bridge.watched: ternary;
            hdr.bridge.sampled: ternary;
            meta.dropped: ternary;
            meta.marked: ternary;
            meta.has_collector: ternary;
            hdr.ipv4.isValid(): ternary;
            hdr.udp.isValid(): ternary;
            meta.collector_address_diff: ternary;
            meta.collector_port_diff: ternary;
        }
        actions = { mirror_headers; mirror_out_of_sample; leave_unreported; }
        const default_action = leave_unreported();
        const entries = {
            (0, _, _, _, _, _, _, _, _): leave_unreported();
            (_, _, _, _, 0, _, _, _, _): leave_unreported();
            (_, _, _, _, _, true, _, 0, _): leave_unreported();
            (_, _, _, _, _, _, true, _, 0): leave_unreported();
            (_, 1, _, _, _, _, _, _, _): mirror_headers();
            (_, _, 1, _, _, _, _, _, _): mirror_headers();
            (_, _, _, 1, _, _, _, _, _): mirror_out_of_sample();
        }
    }

    // One mirror session per length of the headers: a session is what cuts.
    @hidden
    action use_session(MirrorId_t session) {
        meta.session = session;
    }

    @hidden
    table mirror_session {
        key = {
            hdr.vlan.isValid(): exact;
            hdr.ipv6.isValid(): exact;
            hdr.tcp.isValid(): exact;
            hdr.udp.isValid(): exact;
        }
        actions = { use_session; }
        const default_action = use_session(SESSION_IPV4);
        const entries = {
            (false, false, false, false): use_session(SESSION_IPV4);
            (false, false, false, true): use_session(SESSION_IPV4_UDP);
            (false, false, true, false): use_session(SESSION_IPV4_TCP);
            (false, true, false, false): use_session(SESSION_IPV6);
            (false, true, false, true): use_session(SESSION_IPV6_UDP);
            (false, true, true, false): use_session(SESSION_IPV6_TCP);
            (true, false, false, false): use_session(SESSION_VLAN_IPV4);
            (true, false, false, true): use_session(SESSION_VLAN_IPV4_UDP);
            (true, false, true, false): use_session(SESSION_VLAN_IPV4_TCP);
            (true, true, false, false): use_session(SESSION_VLAN_IPV6);
            (true, true, false, true): use_session(SESSION_VLAN_IPV6_UDP);
            (true, true, true, false): use_session(SESSION_VLAN_IPV6_TCP);
        }
    }

    // Every pipe numbers its own reports; the upper two bits of a port are its
    // pipe.
    @hidden
    action start_group(bit<32> group_word) {
        meta.group_word = group_word;
    }

#define GROUP_WORD(pipe) (((bit<32>)REPORT_VERSION << 28) | (pipe << 22))
    @hidden
    table pipe_of_port {
        key = { eg_intr_md.egress_port[8:7]: exact @name("pipe"); }
        actions = { start_group; }
        const default_action = start_group(GROUP_WORD(0));
        const entries = {
            0: start_group(GROUP_WORD(0));
            1: start_group(GROUP_WORD(1));
            2: start_group(GROUP_WORD(2));
            3: start_group(GROUP_WORD(3));
        }
    }
#undef GROUP_WORD

    @hidden
    action describe_packet() {
        meta.ecn = hdr.ipv4.ecn;
        meta.occupancy_cells = (bit<32>)eg_intr_md.enq_qdepth;
        meta.egress_time = eg_prsr_md.global_tstamp;
        meta.port_diff = hdr.bridge.ingress_port[8:0] ^ eg_intr_md.egress_port;
    }

    @hidden
    action prune() {
        eg_dprsr_md.drop_ctl = 1;
    }

    // --- the report -----------------------------------------------------------

    @hidden
    action address_report() {
        hdr.ethernet.src_addr = meta.report_src_mac;
        hdr.ethernet.dst_addr = meta.report_dst_mac;
        hdr.ethernet.ether_type = ETHERTYPE_IPV4;
        hdr.vlan.setInvalid();

        hdr.report_ipv4.setValid();
        hdr.report_ipv4.version = 4;
        hdr.report_ipv4.ihl = 5;
        hdr.report_ipv4.dscp = 0;
        hdr.report_ipv4.ecn = 0;
        hdr.report_ipv4.identification = 0;
        hdr.report_ipv4.reserved = 0;
        hdr.report_ipv4.dont_fragment = 1;
        hdr.report_ipv4.more_fragments = 0;
        hdr.report_ipv4.fragment_offset = 0;
        hdr.report_ipv4.ttl = REPORT_TTL;
        hdr.report_ipv4.protocol = IP_PROTOCOL_UDP;

        hdr.report_udp.setValid();
        hdr.report_udp.src_port = hdr.report_udp.src_port | REPORT_SOURCE_PORT_BASE;
    }

    @hidden
    action fill_common() {
        hdr.report_group.setValid();
        hdr.report_group.version = hdr.mirror.group_word[31:28];
        hdr.report_group.hw_id = hdr.mirror.group_word[27:22];
        hdr.report_group.sequence = hdr.mirror.group_word[21:0];

        hdr.report_main.setValid();
        hdr.report_main.report_type = REPORT_TYPE_INT;
        hdr.report_main.tracked = 1;
        hdr.report_main.intermediate = 0;
        hdr.report_main.reserved = 0;
        hdr.report_main.domain = REPORT_DOMAIN;
        hdr.report_main.domain_bits = REPORT_DOMAIN_BITS;
        hdr.report_main.domain_status = 0;

        hdr.report_ports.setValid();
        hdr.report_ports.ingress_port = hdr.mirror.ingress_port;
        hdr.report_ports.egress_port = hdr.mirror.egress_port;

        hdr.report_queue.setValid();
        hdr.report_queue.queue_id = 0;
        hdr.report_queue.occupancy = hdr.mirror.occupancy_cells[23:0];

        hdr.report_ingress_time.setValid();
        hdr.report_ingress_time.time_ns = (bit<64>)hdr.mirror.ingress_time;

        hdr.report_domain.setValid();
        hdr.report_domain.limit = hdr.mirror.limit_cells;
        hdr.report_domain.sampling_shift = hdr.mirror.sampling_shift;
        hdr.report_domain.reserved = 0;
    }

    @hidden
    action fill_forwarded(bit<4> inner_type, bit<8> length_words,
                          bit<16> ip_length, bit<16> udp_length,
                          bit<1> congested, bit<8> flags) {
        hdr.report_main.inner_type = inner_type;
        hdr.report_main.length_words = length_words;
        hdr.report_main.metadata_length_words = METADATA_WORDS_FORWARDED;
        hdr.report_main.dropped = 0;
        hdr.report_main.congested = congested;
        hdr.report_main.metadata_bits = METADATA_BITS_FORWARDED;
        hdr.report_egress_time.setValid();
        hdr.report_egress_time.time_ns = (bit<64>)hdr.mirror.egress_time;
        hdr.report_domain.flags = flags;
        hdr.report_ipv4.total_length_bytes = ip_length;
        hdr.report_udp.length_bytes = udp_length;
    }

    @hidden
    action fill_dropped(bit<4> inner_type, bit<8> length_words,
                        bit<16> ip_length, bit<16> udp_length,
                        bit<8> reason) {
        hdr.report_main.inner_type = inner_type;
        hdr.report_main.length_words = length_words;
        hdr.report_main.metadata_length_words = METADATA_WORDS_DROPPED;
        hdr.report_main.dropped = 1;
        hdr.report_main.congested = 1;
        hdr.report_main.metadata_bits = METADATA_BITS_DROPPED;
        hdr.report_drop.setValid();
        hdr.report_drop.queue_id = 0;
        hdr.report_drop.reason = reason;
        hdr.report_drop.pad = 0;
        hdr.report_domain.flags = 0;
        hdr.report_ipv4.total_length_bytes = ip_length;
        hdr.report_udp.length_bytes = udp_length;
    }

#define FORWARDED(family) \
    fill_forwarded(INNER_TYPE_##family, \
        MAIN_CONTENTS_WORDS + METADATA_WORDS_FORWARDED + INNER_WORDS_##family, \
        IPV4_HEADER_BYTES + UDP_LENGTH_FORWARDED_##family, UDP_LENGTH_FORWARDED_##family,
#define DROPPED(family) \
    fill_dropped(INNER_TYPE_##family, \
        MAIN_CONTENTS_WORDS + METADATA_WORDS_DROPPED + INNER_WORDS_##family, \
        IPV4_HEADER_BYTES + UDP_LENGTH_DROPPED_##family, UDP_LENGTH_DROPPED_##family,

    @hidden
    table fill {
        key = {
            hdr.mirror.dropped: exact;
            hdr.mirror.aqm: exact;
            hdr.mirror.congested: exact;
            hdr.mirror.marked: exact;
            hdr.mirror.out_of_sample: exact;
            hdr.ipv6.isValid(): exact;
        }
        actions = { fill_forwarded; fill_dropped; @defaultonly NoAction; }
        const default_action = NoAction();
        const entries = {
            (0, 0, 0, 0, 0, false): FORWARDED(IPV4) 0, 0);
            (0, 0, 1, 0, 0, false): FORWARDED(IPV4) 1, 0);
            (0, 0, 1, 1, 0, false): FORWARDED(IPV4) 1, POLICY_FLAG_CE_MARKED);
            (0, 0, 1, 1, 1, false): FORWARDED(IPV4) 1, POLICY_FLAGS_MARK_ALONE);
            (1, 0, 1, 0, 0, false): DROPPED(IPV4) DROP_REASON_TAIL_DROP);
            (1, 1, 1, 0, 0, false): DROPPED(IPV4) DROP_REASON_AQM);
            (0, 0, 0, 0, 0, true): FORWARDED(IPV6) 0, 0);
            (0, 0, 1, 0, 0, true): FORWARDED(IPV6) 1, 0);
            (0, 0, 1, 1, 0, true): FORWARDED(IPV6) 1, POLICY_FLAG_CE_MARKED);
            (0, 0, 1, 1, 1, true): FORWARDED(IPV6) 1, POLICY_FLAGS_MARK_ALONE);
            (1, 0, 1, 0, 0, true): DROPPED(IPV6) DROP_REASON_TAIL_DROP);
            (1, 1, 1, 0, 0, true): DROPPED(IPV6) DROP_REASON_AQM);
        }
    }
#undef FORWARDED
#undef DROPPED

    @hidden
    action pad_inner() {
        hdr.report_pad.setValid();
        hdr.report_pad.zero = 0;
    }

    @hidden
    action fill_transport() {
        hdr.report_no_transport.setValid();
        hdr.report_no_transport.zero = 0;
        hdr.report_pad.setValid();
        hdr.report_pad.zero = 0;
    }

    // Spreads flows over the receiver's sockets. Fields of headers that are not
    // there are 0.
    @hidden
    action hash_flow() {
        hdr.report_udp.src_port = flow_hash.get({
            hdr.ipv4.src_addr, hdr.ipv4.dst_addr, hdr.ipv4.protocol,
            hdr.ipv6.src_addr, hdr.ipv6.dst_addr, hdr.ipv6.next_header,
            hdr.tcp.src_port, hdr.tcp.dst_port, hdr.udp.src_port, hdr.udp.dst_port });
    }

    apply {
        if (hdr.mirror.isValid()) {
            hash_flow();
        } else {
            describe_packet();
        }
        report_to.apply();
        if (hdr.mirror.isValid()) {
            if (meta.has_collector == 1) {
                address_report();
                fill_common();
                fill.apply();
                if (hdr.udp.isValid()) {
                    pad_inner();
                } else if (!hdr.tcp.isValid()) {
                    fill_transport();
                }
            } else {
                prune();
            }
        } else if (hdr.bridge.flooded == 1) {
            if (meta.port_diff == 0) {
                prune();
            }
        } else {
            pipe_of_port.apply();
            queue_limit.apply();
            depth.apply();
            comparison.apply();
            mirror_session.apply();
            verdict.apply();
            if (meta.marked == 1 && hdr.ipv4.isValid()) {
                lower_checksum.apply();
            }
            report_decision.apply();
        }
    }
}

#endif
