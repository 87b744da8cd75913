// SPDX-License-Identifier: GPL-2.0-only
// TCP Vegas (Brakmo and Peterson 1995): once a round trip the window follows the packets of its own
// that wait in queues: one more below ALPHA, one less above BETA. On a loss it is Reno.

#include "control.h"

enum { ALPHA = 2, BETA = 4, GAMMA = 1 };

struct vegas {
    // Least of the connection, µs; 0: none yet.
    u32 base_rtt_us;
    // Least of this round trip, µs; 0: none yet.
    u32 rtt_us;
    // Samples in this round trip.
    u32 samples;
    // The round trip ends when this is acknowledged.
    u32 ends_at;
    u8 off;
};

ALWAYS void begin(struct tcp_sock *tp)
{
    struct vegas *v = KEPT(vegas, tp);
    v->off = 0;
    v->ends_at = tp->snd_nxt;
    v->samples = 0;
    v->rtt_us = 0;
}

SECTION("struct_ops/init") void vegas_init(u64 *ctx)
{
    KEPT(vegas, TCP(ctx))->base_rtt_us = 0;
    begin(TCP(ctx));
}

SECTION("struct_ops/set_state") void vegas_set_state(u64 *ctx)
{
    u8 state = ctx[1];
    if (state == CA_OPEN)
        begin(TCP(ctx));
    else
        KEPT(vegas, TCP(ctx))->off = 1;
}

// After a silence nothing measured before holds.
SECTION("struct_ops/cwnd_event") void vegas_cwnd_event(u64 *ctx)
{
    u32 event = ctx[1];
    if (event == EVENT_CWND_RESTART || event == EVENT_TX_START)
        begin(TCP(ctx));
}

SECTION("struct_ops/pkts_acked") void vegas_pkts_acked(u64 *ctx)
{
    struct vegas *v = KEPT(vegas, TCP(ctx));
    s32 rtt_us = ((const struct ack_sample *)ctx[1])->rtt_us;
    if (rtt_us <= 0)
        return;
    v->base_rtt_us = v->base_rtt_us ? least(v->base_rtt_us, rtt_us) : rtt_us;
    v->rtt_us = v->rtt_us ? least(v->rtt_us, rtt_us) : rtt_us;
    v->samples++;
}

ALWAYS void adjust(struct tcp_sock *tp, struct vegas *v)
{
    u32 window = tp->snd_cwnd;
    // Packets that the path holds without a queue, and those of the window that wait.
    u32 in_path = (u64)window * v->base_rtt_us / v->rtt_us;
    u32 waiting = (u64)window * (v->rtt_us - v->base_rtt_us) / v->base_rtt_us;
    if (in_slow_start(tp)) {
        // Until then it grows with every acknowledgement.
        if (waiting <= GAMMA)
            return;
        window = least(window, in_path + 1);
    } else if (waiting > BETA) {
        window--;
    } else if (waiting < ALPHA) {
        window++;
    }
    tp->snd_cwnd = most(window, 2);
    tp->snd_ssthresh = least(tp->snd_ssthresh, most(tp->snd_cwnd - 1, 2));
}

SECTION("struct_ops/cong_avoid") void vegas_cong_avoid(u64 *ctx)
{
    struct tcp_sock *tp = TCP(ctx);
    struct vegas *v = KEPT(vegas, tp);
    u32 ack = ctx[1], acked = ctx[2];
    if (v->off) {
        tcp_reno_cong_avoid(SOCK(ctx), ack, acked);
        return;
    }
    if ((s32)(ack - v->ends_at) > 0) {
        v->ends_at = tp->snd_nxt;
        // A delayed acknowledgement alone says nothing of the queue.
        if (v->samples > 2 && v->rtt_us && v->base_rtt_us)
            adjust(tp, v);
        else
            tcp_reno_cong_avoid(SOCK(ctx), ack, acked);
        v->samples = 0;
        v->rtt_us = 0;
    } else if (in_slow_start(tp)) {
        tcp_slow_start(tp, acked);
    }
}

SECTION("struct_ops/ssthresh") u32 vegas_ssthresh(u64 *ctx)
{
    return tcp_reno_ssthresh(SOCK(ctx));
}

UNDO_AS_RENO(vegas_undo_cwnd)

SECTION(".struct_ops") struct tcp_congestion_ops control = {
    .init = (void *)vegas_init,
    .ssthresh = (void *)vegas_ssthresh,
    .cong_avoid = (void *)vegas_cong_avoid,
    .set_state = (void *)vegas_set_state,
    .cwnd_event = (void *)vegas_cwnd_event,
    .pkts_acked = (void *)vegas_pkts_acked,
    .undo_cwnd = (void *)vegas_undo_cwnd,
    .name = "tm_vegas",
};
