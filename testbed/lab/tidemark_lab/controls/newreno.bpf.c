// SPDX-License-Identifier: GPL-2.0-only
// Reno as ns-2 and ns-3 have it: the window grows by the number of acknowledgements (RFC 5681), not
// of acknowledged packets as the kernel's does. With delayed acknowledgements this is half a packet
// per round trip.

#include "control.h"

SECTION("struct_ops/ssthresh") u32 newreno_ssthresh(u64 *ctx)
{
    return most(TCP(ctx)->snd_cwnd >> 1, 2);
}

SECTION("struct_ops/cong_avoid") void newreno_cong_avoid(u64 *ctx)
{
    tcp_reno_cong_avoid(SOCK(ctx), ctx[1], least(ctx[2], 1));
}

SECTION("struct_ops/undo_cwnd") u32 newreno_undo_cwnd(u64 *ctx)
{
    return tcp_reno_undo_cwnd(SOCK(ctx));
}

SECTION(".struct_ops") struct tcp_congestion_ops control = {
    .ssthresh = (void *)newreno_ssthresh,
    .cong_avoid = (void *)newreno_cong_avoid,
    .undo_cwnd = (void *)newreno_undo_cwnd,
    .name = "tm_newreno",
};

const char license_[] SECTION("license") = "GPL";
