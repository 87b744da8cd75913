// SPDX-License-Identifier: Apache-2.0
#ifndef TIDEMARK_TNA_GHOST_P4
#define TIDEMARK_TNA_GHOST_P4

#include "types.p4"

// Depth of every queue of the pipe in cells, as the traffic manager reports it to
// Tofino 2's ghost thread. The compiler makes two of it, one to write and one to
// read, in turns.
Register<bit<32>, bit<11>>(2048, 0) queue_depth;

control Ghost(in ghost_intrinsic_metadata_t gh_intr_md) {
    RegisterAction<bit<32>, bit<11>, bit<32>>(queue_depth) write_depth = {
        void apply(inout bit<32> value) {
            value = (bit<32>)gh_intr_md.qlength;
        }
    };

    @hidden
    action keep_depth() {
        write_depth.execute(gh_intr_md.qid);
    }

    @hidden
    table keep {
        actions = { keep_depth; }
        const default_action = keep_depth();
        size = 1;
    }

    apply {
        keep.apply();
    }
}

#endif
