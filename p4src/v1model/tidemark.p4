// SPDX-License-Identifier: Apache-2.0
// Tidemark's data plane for BMv2 and the embedded switch: forwards, limits each
// egress queue on arrival, and reports every watched packet.
#include "types.p4"

// Bytes waiting in each queue of an egress port, the packet in transmission not
// counted: those of queue 0 by port, then those of queue 1, and so on.
// Written on arrival (Ingress.queue_limit) and on departure (Egress).
register<bit<32>>(PORT_COUNT * QUEUE_COUNT) occupancy_bytes;

#include "parser.p4"
#include "ingress.p4"
#include "egress.p4"
#include "checksums.p4"

V1Switch(PacketParser(), ChecksumVerification(), IngressPipeline(), EgressPipeline(), ChecksumUpdate(),
         PacketDeparser()) main;
