// SPDX-License-Identifier: Apache-2.0
// Tidemark's data plane for Tofino: forwards, limits each egress queue by the depth
// on arrival, and reports every watched packet. Tables, actions and reports are
// those of the v1model program, with cells for bytes.
#include "types.p4"
#include "parser.p4"
#if __TARGET_TOFINO__ >= 2
#include "ghost.p4"
#endif
#include "ingress.p4"
#include "egress.p4"
#include "deparser.p4"

Pipeline(IngressParser(), Ingress(), IngressDeparser(),
         EgressParser(), Egress(), EgressDeparser()
#if __TARGET_TOFINO__ >= 2
         , Ghost()
#endif
         ) pipe;

Switch(pipe) main;
