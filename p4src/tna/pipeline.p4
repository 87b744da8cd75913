// SPDX-License-Identifier: Apache-2.0
// Tidemark's data plane for Tofino: forwards, limits each egress queue by the depth
// on arrival, and reports every watched packet. Tables, actions and reports are
// those of the v1model program, with cells for bytes.
#include "types.p4"
#include "parser.p4"
#include "ingress.p4"
#include "egress.p4"
#include "deparser.p4"

Pipeline(IngressParser(), Ingress(), IngressDeparser(),
         EgressParser(), Egress(), EgressDeparser()) pipe;

Switch(pipe) main;
