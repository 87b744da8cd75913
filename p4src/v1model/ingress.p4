// SPDX-License-Identifier: Apache-2.0
#ifndef TIDEMARK_V1MODEL_INGRESS_P4
#define TIDEMARK_V1MODEL_INGRESS_P4

#include "types.p4"

// v1model.p4 takes the names Ingress and Egress for itself: what the control plane
// sees is named absolutely, so that it is the same on every target.
control IngressPipeline(inout headers_t hdr,
                inout metadata_t meta,
                inout standard_metadata_t standard_metadata) {
    @name(".Ingress.drop_report_sequence")
    register<bit<32>>(1) drop_report_sequence;
    bit<16> sample_hash = 0;

    // --- forwarding -----------------------------------------------------

    @name(".Ingress.forward")
    action forward(bit<9> port) {
        standard_metadata.egress_spec = port;
        meta.queue_index = (bit<32>)port;
    }

    @name(".Ingress.flood")
    action flood() {
        standard_metadata.mcast_grp = FLOOD_GROUP;
    }

    @name(".Ingress.l2_forward")
    table l2_forward {
        key = { hdr.ethernet.dst_addr: exact; }
        actions = { forward; flood; }
        default_action = flood();
        size = 4096;
    }

    // --- queue ----------------------------------------------------------
    //
    // v1model has no queue id that a program may read, so that the id is what the
    // program itself asks for: simple_switch numbers queues by `priority`. It loses
    // packets of a priority without a queue, so that none above the highest is asked.

    @name(".Ingress.take_queue")
    action take_queue(bit<3> queue) {
        meta.report.queue = queue;
    }

    @name(".Ingress.queue_of")
    table queue_of {
        key = {
            standard_metadata.egress_spec: ternary @name("egress_port");
            meta.dscp: ternary @name("dscp");
        }
        actions = { take_queue; @defaultonly NoAction; }
        default_action = NoAction();
        size = 1024;
    }

    @name(".Ingress.set_queue_count")
    action set_queue_count(bit<4> count) {
        meta.queue_count = count;
    }

    // How many queues a port has: what simple_switch was started with.
    @name(".Ingress.queue_count")
    table queue_count {
        actions = { set_queue_count; }
        default_action = set_queue_count(1);
    }

    @hidden
    action ask_queue() {
        if ((bit<4>)meta.report.queue >= meta.queue_count) {
            meta.report.queue = (bit<3>)(meta.queue_count |-| 1);
        }
        standard_metadata.priority = meta.report.queue;
        meta.queue_index = (bit<32>)(meta.report.queue ++ standard_metadata.egress_spec);
    }

    // --- admission ------------------------------------------------------
    //
    // A packet is refused when the bytes waiting in its queue are at or
    // above the limit on its arrival, so the occupancy exceeds the limit by
    // less than one packet, and a limit of 1 byte still lets one packet wait.
    // Each action reads, decides and writes in one go: BMv2 locks a register
    // for one action.

    @name(".Ingress.drop_tail")
    action drop_tail(bit<32> limit_bytes) {
        bit<32> occupancy;
        occupancy_bytes.read(occupancy, meta.queue_index);
        meta.report.occupancy_bytes = occupancy;
        meta.report.limit_bytes = limit_bytes;
        if (occupancy >= limit_bytes) {
            meta.report.congested = 1;
            meta.report.dropped = 1;
            meta.report.drop_reason = DROP_REASON_TAIL_DROP;
        } else {
            meta.queued_bytes = standard_metadata.packet_length;
            occupancy_bytes.write(meta.queue_index, occupancy + standard_metadata.packet_length);
        }
    }

    // RFC 3168: from the threshold on, mark what can be marked and drop the rest.
    // From the limit on, drop everything: the limit is tested first, so that a
    // threshold above it has no effect. LIMIT_NONE is no limit. Reports carry the
    // threshold, which is what senders react to.
    @name(".Ingress.mark_ce")
    action mark_ce(bit<32> threshold_bytes, bit<32> limit_bytes) {
        bit<32> occupancy;
        occupancy_bytes.read(occupancy, meta.queue_index);
        meta.report.occupancy_bytes = occupancy;
        meta.report.limit_bytes = threshold_bytes;
        bool capable = meta.ecn != ECN_NOT_ECT;
        bool full = occupancy >= limit_bytes;
        bool congested = full || occupancy >= threshold_bytes;
        if (congested) {
            meta.report.congested = 1;
        }
        if (full) {
            meta.report.dropped = 1;
            meta.report.drop_reason = DROP_REASON_TAIL_DROP;
        } else if (congested && !capable) {
            meta.report.dropped = 1;
            meta.report.drop_reason = DROP_REASON_AQM;
        } else {
            meta.queued_bytes = standard_metadata.packet_length;
            occupancy_bytes.write(meta.queue_index, occupancy + standard_metadata.packet_length);
        }
        if (congested && !full && capable && meta.ecn != ECN_CE) {
            // Of the two headers one is not there: writing to it is void.
            hdr.ipv4.ecn = ECN_CE;
            hdr.ipv6.ecn = ECN_CE;
            meta.report.flags = POLICY_FLAG_CE_MARKED;
        }
    }

    @name(".Ingress.unlimited")
    action unlimited() {
        bit<32> occupancy;
        occupancy_bytes.read(occupancy, meta.queue_index);
        meta.report.occupancy_bytes = occupancy;
        meta.report.limit_bytes = LIMIT_NONE;
        meta.queued_bytes = standard_metadata.packet_length;
        occupancy_bytes.write(meta.queue_index, occupancy + standard_metadata.packet_length);
    }

    @name(".Ingress.queue_limit")
    table queue_limit {
        key = { standard_metadata.egress_spec: exact @name("egress_port"); }
        actions = { drop_tail; mark_ce; unlimited; }
        default_action = unlimited();
        size = PORT_COUNT;
    }

    // The limits of queues above 0.
    @name(".Ingress.priority_queue_limit")
    table priority_queue_limit {
        key = {
            standard_metadata.egress_spec: exact @name("egress_port");
            meta.report.queue: exact @name("queue");
        }
        actions = { drop_tail; mark_ce; unlimited; }
        default_action = unlimited();
        size = PORT_COUNT * (QUEUE_COUNT - 1);
    }

    // --- which packets are reported ---------------------------------------

    @name(".Ingress.report_on")
    action report_on() {
        meta.watched = true;
    }

    @name(".Ingress.report_off")
    action report_off() {
        meta.watched = false;
    }

    @name(".Ingress.report_port")
    table report_port {
        key = { standard_metadata.egress_spec: exact @name("egress_port"); }
        actions = { report_on; report_off; }
        default_action = report_on();
        size = PORT_COUNT;
    }

    // Reports one in 2^sampling_shift of the packets that leave. What is dropped or
    // marked here is always reported.
    @name(".Ingress.report")
    action report(bit<8> sampling_shift) {
        meta.report.sampling_shift = sampling_shift;
    }

    @name(".Ingress.ignore")
    action ignore() {
        meta.watched = false;
    }

    @name(".Ingress.watch")
    table watch {
        key = {
            hdr.ipv4.src_addr: ternary @name("ipv4_src");
            hdr.ipv4.dst_addr: ternary @name("ipv4_dst");
            hdr.ipv4.protocol: ternary @name("protocol");
            meta.l4_src_port: ternary @name("src_port");
            meta.l4_dst_port: ternary @name("dst_port");
            standard_metadata.ingress_port: ternary @name("ingress_port");
            standard_metadata.egress_spec: ternary @name("egress_port");
        }
        actions = { report; ignore; }
        default_action = ignore();
        size = 1024;
    }

    // The protocol is that of the last header found: TCP behind extension
    // headers is TCP.
    @name(".Ingress.watch6")
    table watch6 {
        key = {
            hdr.ipv6.src_addr: ternary @name("ipv6_src");
            hdr.ipv6.dst_addr: ternary @name("ipv6_dst");
            meta.protocol: ternary @name("protocol");
            meta.l4_src_port: ternary @name("src_port");
            meta.l4_dst_port: ternary @name("dst_port");
            standard_metadata.ingress_port: ternary @name("ingress_port");
            standard_metadata.egress_spec: ternary @name("egress_port");
        }
        actions = { report; ignore; }
        default_action = ignore();
        size = 1024;
    }

    // --- where reports go ---------------------------------------------------
    //
    // Named as on targets that look it up in egress; here a drop is decided, and
    // numbered, in ingress, and what goes to the collector must be known before.

    @name(".Egress.set_destination")
    action set_destination(mac_addr_t src_mac, mac_addr_t dst_mac,
                           ipv4_addr_t src_ip, ipv4_addr_t dst_ip,
                           bit<16> udp_dst_port, bit<16> src_port_mask,
                           bit<32> node_id) {
        meta.report.src_mac = src_mac;
        meta.report.dst_mac = dst_mac;
        meta.report.src_ip = src_ip;
        meta.report.dst_ip = dst_ip;
        meta.report.udp_dst_port = udp_dst_port;
        meta.report.node_id = node_id;
        meta.src_port_mask = src_port_mask;
    }

    @name(".Egress.none")
    action none() {
        meta.watched = false;
    }

    @name(".Egress.report_to")
    table report_to {
        actions = { set_destination; none; }
        default_action = none();
    }

    // A report about a report would be reported again by the next switch on its
    // way, and so on.
    @hidden
    action ignore_telemetry() {
        if ((hdr.ipv4.isValid() && hdr.ipv4.dst_addr == meta.report.dst_ip) ||
            (hdr.udp.isValid() && hdr.udp.dst_port == meta.report.udp_dst_port)) {
            meta.watched = false;
        }
    }

    // --- what a report says ---------------------------------------------------

    // The sample is drawn by a hash of fields that no switch changes, so that
    // every switch on the path and the host agree on it. (CRC-32: the low bits of
    // CRC-16 hardly change with neighbouring ports or identifications.)
    @hidden
    action hash_ipv4() {
        hash(meta.flow_hash, HashAlgorithm.crc32, 16w0,
             { hdr.ipv4.src_addr, hdr.ipv4.dst_addr, hdr.ipv4.protocol,
               meta.l4_src_port, meta.l4_dst_port },
             32w65536);
    }

    @hidden
    action hash_ipv6() {
        hash(meta.flow_hash, HashAlgorithm.crc32, 16w0,
             { hdr.ipv6.src_addr, hdr.ipv6.dst_addr, meta.protocol,
               meta.l4_src_port, meta.l4_dst_port },
             32w65536);
    }

    @hidden
    action sample_ipv4() {
        hash(sample_hash, HashAlgorithm.crc32, 16w0,
             { hdr.ipv4.src_addr, hdr.ipv4.dst_addr, hdr.ipv4.protocol,
               meta.l4_src_port, meta.l4_dst_port,
               hdr.ipv4.identification, meta.packet_id },
             32w65536);
    }

    @hidden
    action sample_ipv6() {
        hash(sample_hash, HashAlgorithm.crc32, 16w0,
             { hdr.ipv6.src_addr, hdr.ipv6.dst_addr, meta.protocol,
               meta.l4_src_port, meta.l4_dst_port,
               hdr.ipv6.payload_length_bytes, meta.packet_id },
             32w65536);
    }

    @hidden
    action draw_sample() {
        meta.sampled = sample_hash & ((16w1 << meta.report.sampling_shift) - 1) == 0;
    }

    @hidden
    action report_out_of_sample() {
        meta.sampled = true;
        meta.report.flags = POLICY_FLAG_CE_MARKED | POLICY_FLAG_OUT_OF_SAMPLE;
    }

    @hidden
    action describe_packet() {
        meta.sampled = true;
        meta.report.ingress_port = standard_metadata.ingress_port;
        meta.report.egress_port = standard_metadata.egress_spec;
        meta.report.ingress_time_us = standard_metadata.ingress_global_timestamp;
        meta.report.inner_words = meta.ip_header_words + TRANSPORT_WORDS;
        meta.report.udp_src_port =
            REPORT_SOURCE_PORT_BASE + (meta.flow_hash & meta.src_port_mask);
    }

    // Numbered here and not on the clone, so that a lost clone leaves a gap.
    @hidden
    action report_drop() {
        bit<32> sequence;
        drop_report_sequence.read(sequence, 0);
        drop_report_sequence.write(0, sequence + 1);
        meta.report.sequence = (bit<22>)sequence;
        meta.report.hw_id = HW_ID_DROPPED;
        clone_preserving_field_list(CloneType.I2E, REPORT_CLONE_SESSION, REPORT_FIELD_LIST);
    }

    apply {
        l2_forward.apply();
        if (standard_metadata.mcast_grp == 0) {
            if (queue_of.apply().hit) {
                queue_count.apply();
                ask_queue();
            }
            if (meta.report.queue == 0) {
                queue_limit.apply();
            } else {
                priority_queue_limit.apply();
            }
            if (meta.reportable) {
                report_port.apply();
                if (meta.watched) {
                    if (hdr.ipv4.isValid()) {
                        watch.apply();
                    } else {
                        watch6.apply();
                    }
                }
                if (meta.watched) {
                    report_to.apply();
                    ignore_telemetry();
                }
                if (meta.watched) {
                    if (hdr.ipv4.isValid()) {
                        hash_ipv4();
                    } else {
                        hash_ipv6();
                    }
                    describe_packet();
                    if (meta.report.dropped == 1) {
                        report_drop();
                    } else if (meta.report.sampling_shift != 0) {
                        if (hdr.ipv4.isValid()) {
                            sample_ipv4();
                        } else {
                            sample_ipv6();
                        }
                        draw_sample();
                        if (!meta.sampled && meta.report.flags == POLICY_FLAG_CE_MARKED) {
                            report_out_of_sample();
                        }
                    }
                }
            }
            if (meta.report.dropped == 1) {
                mark_to_drop(standard_metadata);
            }
        }
    }
}

#endif
