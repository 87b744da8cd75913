// SPDX-License-Identifier: Apache-2.0
#ifndef TIDEMARK_TNA_INGRESS_P4
#define TIDEMARK_TNA_INGRESS_P4

#include "types.p4"

// Forwards, and finds out whether a packet is to be reported. Its fate at the
// queue is known in egress only.
control Ingress(inout ingress_headers_t hdr,
                inout ingress_metadata_t meta,
                in ingress_intrinsic_metadata_t ig_intr_md,
                in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
                inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
                inout ingress_intrinsic_metadata_for_tm_t ig_tm_md
#if __TARGET_TOFINO__ >= 2
                , in ghost_intrinsic_metadata_t gh_intr_md
#endif
                ) {
    Hash<bit<16>>(HashAlgorithm_t.CRC32) sample_hash_ipv4;
    Hash<bit<16>>(HashAlgorithm_t.CRC32) sample_hash_ipv6;

    // --- forwarding -----------------------------------------------------

    action forward(PortId_t port) {
        ig_tm_md.ucast_egress_port = port;
        hdr.bridge.egress_port = (bit<16>)port;
    }

    action flood() {
        ig_tm_md.mcast_grp_a = FLOOD_GROUP;
        hdr.bridge.flooded = 1;
    }

    table l2_forward {
        key = { hdr.ethernet.dst_addr: exact; }
        actions = { forward; flood; }
        default_action = flood();
        size = 4096;
    }

    // --- which packets are reported ---------------------------------------

    action report_on() {
        hdr.bridge.watched = 1;
    }

    action report_off() {
        hdr.bridge.watched = 0;
    }

    table report_port {
        key = { hdr.bridge.egress_port[8:0]: exact @name("egress_port"); }
        actions = { report_on; report_off; }
        default_action = report_on();
        size = PORT_COUNT;
    }

    // Reports one in 2^sampling_shift of the packets that leave. What is dropped or
    // marked here is always reported.
    action report(bit<8> sampling_shift) {
        hdr.bridge.sampling_shift = sampling_shift;
    }

    action ignore() {
        hdr.bridge.watched = 0;
    }

    table watch {
        key = {
            hdr.ipv4.src_addr: ternary @name("ipv4_src");
            hdr.ipv4.dst_addr: ternary @name("ipv4_dst");
            hdr.ipv4.protocol: ternary @name("protocol");
            meta.l4_src_port: ternary @name("src_port");
            meta.l4_dst_port: ternary @name("dst_port");
            hdr.bridge.ingress_port[8:0]: ternary @name("ingress_port");
            hdr.bridge.egress_port[8:0]: ternary @name("egress_port");
        }
        actions = { report; ignore; }
        default_action = ignore();
        size = 512;
    }

    table watch6 {
        key = {
            hdr.ipv6.src_addr: ternary @name("ipv6_src");
            hdr.ipv6.dst_addr: ternary @name("ipv6_dst");
            hdr.ipv6.next_header: ternary @name("protocol");
            meta.l4_src_port: ternary @name("src_port");
            meta.l4_dst_port: ternary @name("dst_port");
            hdr.bridge.ingress_port[8:0]: ternary @name("ingress_port");
            hdr.bridge.egress_port[8:0]: ternary @name("egress_port");
        }
        actions = { report; ignore; }
        default_action = ignore();
        size = 512;
    }

    // Behind the end of the IP packet there may be padding of the frame, which
    // must not be taken for ports.
    @hidden
    action ipv4_needs(bit<16> bytes) {
        meta.missing_bytes = bytes |-| hdr.ipv4.total_length_bytes;
    }

    @hidden
    action ipv6_needs(bit<16> bytes) {
        meta.missing_bytes = bytes |-| hdr.ipv6.payload_length_bytes;
    }

    @hidden
    table missing_bytes {
        key = {
            hdr.ipv4.isValid(): exact;
            hdr.ipv6.isValid(): exact;
            hdr.tcp.isValid(): exact;
            hdr.udp.isValid(): exact;
        }
        actions = { ipv4_needs; ipv6_needs; @defaultonly NoAction; }
        const default_action = NoAction();
        const entries = {
            (true, false, true, false): ipv4_needs(40);
            (true, false, false, true): ipv4_needs(28);
            (true, false, false, false): ipv4_needs(20);
            (false, true, true, false): ipv6_needs(20);
            (false, true, false, true): ipv6_needs(8);
        }
    }

    // --- sampling -----------------------------------------------------------
    //
    // The sample is drawn by a hash of fields that no switch changes, so that
    // every switch on the path agrees on it.
    @hidden
    action hash_packet_ipv4() {
        meta.sample_hash = sample_hash_ipv4.get({
            hdr.ipv4.src_addr, hdr.ipv4.dst_addr, hdr.ipv4.protocol,
            meta.l4_src_port, meta.l4_dst_port, hdr.ipv4.identification,
            meta.packet_id_high, meta.packet_id_low });
    }

    @hidden
    action hash_packet_ipv6() {
        meta.sample_hash = sample_hash_ipv6.get({
            hdr.ipv6.src_addr, hdr.ipv6.dst_addr, hdr.ipv6.next_header,
            meta.l4_src_port, meta.l4_dst_port, hdr.ipv6.payload_length_bytes,
            meta.packet_id_high, meta.packet_id_low });
    }

    @hidden
    table packet_hash {
        key = {
            hdr.ipv4.isValid(): exact;
            hdr.ipv6.isValid(): exact;
        }
        actions = { hash_packet_ipv4; hash_packet_ipv6; @defaultonly NoAction; }
        const default_action = NoAction();
        const entries = {
            (true, false): hash_packet_ipv4();
            (false, true): hash_packet_ipv6();
        }
    }

    @hidden
    action in_sample() {
        hdr.bridge.sampled = 1;
    }

    // The low sampling_shift bits of the hash are 0.
    @hidden
    table sample {
        key = {
            hdr.bridge.sampling_shift: ternary;
            meta.sample_hash: ternary;
        }
        actions = { in_sample; @defaultonly NoAction; }
        const default_action = NoAction();
        const entries = {
            (0, _): in_sample();
            (1, 0 &&& 0x0001): in_sample();
            (2, 0 &&& 0x0003): in_sample();
            (3, 0 &&& 0x0007): in_sample();
            (4, 0 &&& 0x000F): in_sample();
            (5, 0 &&& 0x001F): in_sample();
            (6, 0 &&& 0x003F): in_sample();
            (7, 0 &&& 0x007F): in_sample();
            (8, 0 &&& 0x00FF): in_sample();
            (9, 0 &&& 0x01FF): in_sample();
            (10, 0 &&& 0x03FF): in_sample();
            (11, 0 &&& 0x07FF): in_sample();
            (12, 0 &&& 0x0FFF): in_sample();
            (13, 0 &&& 0x1FFF): in_sample();
            (14, 0 &&& 0x3FFF): in_sample();
            (15, 0 &&& 0x7FFF): in_sample();
            (_, 0): in_sample();
        }
    }

    // --- hardware drops -------------------------------------------------------
    //
    // Where the traffic manager itself has a limit (tm.queue.buffer), it can be
    // asked to deflect what it would drop, so that Egress reports it.

    action deflect() {
        ig_tm_md.deflect_on_drop = 1;
    }

    action lose() {
        ig_tm_md.deflect_on_drop = 0;
    }

    table hardware_drop {
        actions = { deflect; lose; }
        default_action = lose();
        size = 1;
    }

#if __TARGET_TOFINO__ >= 2
    // The depth that the ghost thread keeps. Which queue of the pipe belongs to a
    // port is known to the traffic manager (tm.port.cfg), so it is told here.
    RegisterAction<bit<32>, bit<11>, bit<32>>(queue_depth) read_depth = {
        void apply(inout bit<32> value, out bit<32> result) {
            result = value;
        }
    };

    action use_queue(bit<11> queue) {
        meta.queue = queue;
        hdr.bridge.depth_known = 1;
    }

    action depth_unknown() {
        hdr.bridge.depth_known = 0;
    }

    table ghost_queue {
        key = { hdr.bridge.egress_port[8:0]: exact @name("egress_port"); }
        actions = { use_queue; depth_unknown; }
        default_action = depth_unknown();
        size = PORT_COUNT;
    }

    // Apart from ghost_queue, because the compiler makes two of this table.
    @hidden
    action look_up_depth() {
        hdr.bridge.depth_cells = read_depth.execute(meta.queue);
    }

    @hidden
    table ghost_depth {
        actions = { look_up_depth; }
        const default_action = look_up_depth();
        size = 1;
    }
#endif

    @hidden
    action start_bridge() {
        hdr.bridge.setValid();
        hdr.bridge.kind = KIND_PACKET;
        hdr.bridge.watched = 0;
        hdr.bridge.sampled = 0;
        hdr.bridge.flooded = 0;
        hdr.bridge.depth_known = 0;
        hdr.bridge.pad = 0;
        hdr.bridge.ingress_port = (bit<16>)ig_intr_md.ingress_port;
        hdr.bridge.sampling_shift = 0;
        hdr.bridge.egress_port = 0;
        hdr.bridge.ingress_time = ig_intr_md.ingress_mac_tstamp;
#if __TARGET_TOFINO__ >= 2
        hdr.bridge.depth_cells = 0;
#endif
    }

    apply {
        start_bridge();
        missing_bytes.apply();
        l2_forward.apply();
        if (hdr.bridge.flooded == 0) {
#if __TARGET_TOFINO__ >= 2
            ghost_queue.apply();
            if (hdr.bridge.depth_known == 1) {
                ghost_depth.apply();
            }
#endif
            if (meta.reportable == 1 && meta.missing_bytes == 0) {
                report_port.apply();
                packet_hash.apply();
                if (hdr.bridge.watched == 1) {
                    if (hdr.ipv4.isValid()) {
                        watch.apply();
                    } else {
                        watch6.apply();
                    }
                    sample.apply();
                    if (hdr.bridge.watched == 1) {
                        hardware_drop.apply();
                    }
                }
            }
        }
    }
}

#endif
