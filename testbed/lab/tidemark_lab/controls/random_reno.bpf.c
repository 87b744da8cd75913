// SPDX-License-Identifier: GPL-2.0-only
// Reno of UTB 4.5 (Spang, Arslan, McKeown 2021): each lost packet halves the window w with a
// probability of 1/w, and is ignored otherwise. Packets that are lost during a recovery are
// drawn for at the next one. The loss that ends the first slow start always halves: the paper
// says nothing of it, and a window twice too large would stay.

#include "control.h"

// Draws at once: as many as a full queue loses in a round trip.
enum { MOST_DRAWS = 512 };

struct random_reno {
    // Of tp->lost: packets that have been drawn for.
    u32 drawn;
};

static u32 (*const random)(void) = (void *)7;

SECTION("struct_ops/init") void random_reno_init(u64 *ctx)
{
    KEPT(random_reno, TCP(ctx))->drawn = TCP(ctx)->lost;
}

SECTION("struct_ops/ssthresh") u32 random_reno_ssthresh(u64 *ctx)
{
    struct tcp_sock *tp = TCP(ctx);
    struct random_reno *r = KEPT(random_reno, tp);
    u32 window = most(tp->snd_cwnd, 2);
    u32 lost = least(tp->lost - r->drawn, MOST_DRAWS);
    int halves = tp->snd_ssthresh >= INFINITE_SSTHRESH;
    r->drawn = tp->lost;
    for (u32 k = 0; k < MOST_DRAWS && k < lost && !halves; k++)
        halves = random() % window == 0;
    return halves ? most(window >> 1, 2) : window;
}

SECTION("struct_ops/cong_avoid") void random_reno_cong_avoid(u64 *ctx)
{
    tcp_reno_cong_avoid(SOCK(ctx), ctx[1], ctx[2]);
}

UNDO_AS_RENO(random_reno_undo_cwnd)

SECTION(".struct_ops") struct tcp_congestion_ops control = {
    .init = (void *)random_reno_init,
    .ssthresh = (void *)random_reno_ssthresh,
    .cong_avoid = (void *)random_reno_cong_avoid,
    .undo_cwnd = (void *)random_reno_undo_cwnd,
    .name = "tm_random_reno",
};
