// SPDX-License-Identifier: GPL-2.0-only
// Scalable TCP (Kelly 2003): 0.01 of a packet for each that is acknowledged, an eighth less on a
// loss. Below 100 packets it grows as Reno does, which is faster there, as Linux' own has it.

#include "control.h"

SECTION("struct_ops/ssthresh") u32 scalable_ssthresh(u64 *ctx)
{
    struct tcp_sock *tp = TCP(ctx);
    return most(tp->snd_cwnd - (tp->snd_cwnd >> 3), 2);
}

SECTION("struct_ops/cong_avoid") void scalable_cong_avoid(u64 *ctx)
{
    struct tcp_sock *tp = TCP(ctx);
    u32 acked = ctx[2];
    if (!is_limited(tp))
        return;
    if (in_slow_start(tp)) {
        acked = tcp_slow_start(tp, acked);
        if (!acked)
            return;
    }
    tcp_cong_avoid_ai(tp, least(tp->snd_cwnd, 100), acked);
}

UNDO_AS_RENO(scalable_undo_cwnd)

SECTION(".struct_ops") struct tcp_congestion_ops control = {
    .ssthresh = (void *)scalable_ssthresh,
    .cong_avoid = (void *)scalable_cong_avoid,
    .undo_cwnd = (void *)scalable_undo_cwnd,
    .name = "tm_scalable",
};
