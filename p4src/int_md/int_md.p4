// SPDX-License-Identifier: Apache-2.0
// A program as most public INT programs are: every switch on the way writes what it saw
// into the packet (INT-MD 2.0), and the last one reports it (Telemetry Report 2.0). It has
// no limit of its own, as those have none: what drops is the queue of the target. One
// program for source, transit and sink; its tables say what a switch is.
#include "types.p4"
#include "parser.p4"
#include "ingress.p4"
#include "egress.p4"
#include "checksums.p4"

V1Switch(PacketParser(), ChecksumVerification(), IngressPipeline(), EgressPipeline(),
         ChecksumUpdate(), PacketDeparser()) main;
