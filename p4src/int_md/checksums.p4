// SPDX-License-Identifier: Apache-2.0
#ifndef TIDEMARK_INT_MD_CHECKSUMS_P4
#define TIDEMARK_INT_MD_CHECKSUMS_P4

#include "types.p4"

control ChecksumVerification(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

#define IPV4_FIELDS(h) \
    h.version, h.ihl, h.dscp, h.ecn, h.total_length_bytes, h.identification, \
    h.reserved, h.dont_fragment, h.more_fragments, h.fragment_offset, \
    h.ttl, h.protocol, h.src_addr, h.dst_addr

// That of TCP and UDP is the packet's own, which is whole again behind the sink.
control ChecksumUpdate(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(meta.has_stack || hdr.report_ipv4.isValid(),
            { IPV4_FIELDS(hdr.ipv4) }, hdr.ipv4.checksum, HashAlgorithm.csum16);
        update_checksum(hdr.report_ipv4.isValid(),
            { IPV4_FIELDS(hdr.report_ipv4) }, hdr.report_ipv4.checksum, HashAlgorithm.csum16);
    }
}

#endif
