// SPDX-License-Identifier: GPL-2.0-only
// Reno as ns-2 and ns-3 have it with delayed acknowledgements: the window grows by their number
// (RFC 5681), one for two packets, and so by half a packet per round trip. The kernel's Reno counts
// packets. Its receivers acknowledge one packet or two, so here each second packet counts.

#include "control.h"

struct newreno {
    // Packets acknowledged that did not count yet: 0 or 1.
    u32 odd;
};

SECTION("struct_ops/init") void newreno_init(u64 *ctx)
{
    KEPT(newreno, TCP(ctx))->odd = 0;
}

SECTION("struct_ops/ssthresh") u32 newreno_ssthresh(u64 *ctx)
{
    return most(TCP(ctx)->snd_cwnd >> 1, 2);
}

SECTION("struct_ops/cong_avoid") void newreno_cong_avoid(u64 *ctx)
{
    struct newreno *r = KEPT(newreno, TCP(ctx));
    u32 packets = (u32)ctx[2] + r->odd;
    r->odd = packets & 1;
    tcp_reno_cong_avoid(SOCK(ctx), ctx[1], packets >> 1);
}

UNDO_AS_RENO(newreno_undo_cwnd)

SECTION(".struct_ops") struct tcp_congestion_ops control = {
    .init = (void *)newreno_init,
    .ssthresh = (void *)newreno_ssthresh,
    .cong_avoid = (void *)newreno_cong_avoid,
    .undo_cwnd = (void *)newreno_undo_cwnd,
    .name = "tm_newreno",
};
