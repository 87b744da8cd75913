// SPDX-License-Identifier: GPL-2.0-only
// HighSpeed TCP (RFC 3649): the larger the window, the more it grows in a round trip and the less
// it is reduced. Up to 38 packets it is Reno.

#include "control.h"

struct row {
    // From this window on, packets, the growth is the row's number, from 1.
    u32 window;
    // Reduction on a loss, in 256ths.
    u32 reduction;
};

// By the formulas of section 5 with W = 38, W_1 = 83000, P_1 = 1e-7, B = 0.1.
static const struct row rows[] = {
    {38, 128}, {118, 113}, {221, 105}, {347, 99}, {494, 94}, {662, 90}, {849, 87}, {1056, 84},
    {1282, 81}, {1527, 79}, {1791, 77}, {2073, 75}, {2375, 73}, {2695, 71}, {3035, 70},
    {3395, 68}, {3774, 67}, {4173, 65}, {4592, 64}, {5032, 63}, {5493, 62}, {5975, 61},
    {6479, 60}, {7005, 59}, {7554, 58}, {8126, 57}, {8722, 56}, {9342, 55}, {9987, 54},
    {10658, 53}, {11355, 52}, {12080, 51}, {12832, 50}, {13613, 50}, {14424, 49}, {15265, 48},
    {16138, 47}, {17044, 47}, {17984, 46}, {18959, 45}, {19971, 45}, {21020, 44}, {22110, 43},
    {23240, 43}, {24413, 42}, {25632, 41}, {26897, 41}, {28211, 40}, {29578, 39}, {30998, 39},
    {32477, 38}, {34015, 37}, {35618, 37}, {37289, 36}, {39032, 36}, {40853, 35}, {42756, 34},
    {44748, 34}, {46836, 33}, {49027, 33}, {51330, 32}, {53757, 31}, {56318, 31}, {59029, 30},
    {61906, 30}, {64970, 29}, {68246, 28}, {71765, 28}, {75567, 27}, {79705, 26},
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

struct highspeed {
    // Of the row in force, from 0.
    u32 row;
};

SECTION("struct_ops/init") void highspeed_init(u64 *ctx)
{
    KEPT(highspeed, TCP(ctx))->row = 0;
}

SECTION("struct_ops/ssthresh") u32 highspeed_ssthresh(u64 *ctx)
{
    struct tcp_sock *tp = TCP(ctx);
    u32 row = KEPT(highspeed, tp)->row;
    if (row >= ROWS)
        row = 0;
    return most(tp->snd_cwnd - (tp->snd_cwnd * rows[row].reduction >> 8), 2);
}

SECTION("struct_ops/cong_avoid") void highspeed_cong_avoid(u64 *ctx)
{
    struct tcp_sock *tp = TCP(ctx);
    u32 acked = ctx[2], row = 0;
    if (!is_limited(tp))
        return;
    if (in_slow_start(tp)) {
        acked = tcp_slow_start(tp, acked);
        if (!acked)
            return;
    }
    for (u32 k = 1; k < ROWS; k++) {
        if (rows[k].window > tp->snd_cwnd)
            break;
        row = k;
    }
    KEPT(highspeed, tp)->row = row;
    tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked * (row + 1));
}

UNDO_AS_RENO(highspeed_undo_cwnd)

SECTION(".struct_ops") struct tcp_congestion_ops control = {
    .init = (void *)highspeed_init,
    .ssthresh = (void *)highspeed_ssthresh,
    .cong_avoid = (void *)highspeed_cong_avoid,
    .undo_cwnd = (void *)highspeed_undo_cwnd,
    .name = "tm_highspeed",
};
