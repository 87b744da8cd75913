// SPDX-License-Identifier: GPL-2.0-only
// DCTCP (RFC 8257): the window is reduced by half of the share of marked packets, as averaged with
// g = 1/16. The receiver's side says of each packet whether it was marked, so both ends need it.

#include "control.h"

enum { ONE = 1024, GAIN_SHIFT = 4 };

struct dctcp {
    u32 delivered;
    u32 delivered_ce;
    // Of the receiver: what it had before the present packet.
    u32 prior_rcv_nxt;
    // The share is averaged when this is acknowledged.
    u32 ends_at;
    // Share of marked packets, in 1024ths.
    u32 share;
    // Before the last reduction.
    u32 window;
    u8 state;
    // Of the receiver: the last packet was marked.
    u8 marked;
};

static long (*const send_ack)(void *tp, u32 rcv_nxt) = (void *)116;

ALWAYS void begin(const struct tcp_sock *tp, struct dctcp *d)
{
    d->delivered = tp->delivered;
    d->delivered_ce = tp->delivered_ce;
    d->ends_at = tp->snd_nxt;
}

SECTION("struct_ops/init") void dctcp_init(u64 *ctx)
{
    struct tcp_sock *tp = TCP(ctx);
    struct dctcp *d = KEPT(dctcp, tp);
    d->prior_rcv_nxt = tp->rcv_nxt;
    // RFC 8257 3.3: the first mark halves.
    d->share = ONE;
    d->window = 0;
    d->state = CA_OPEN;
    d->marked = 0;
    begin(tp, d);
}

SECTION("struct_ops/ssthresh") u32 dctcp_ssthresh(u64 *ctx)
{
    struct tcp_sock *tp = TCP(ctx);
    struct dctcp *d = KEPT(dctcp, tp);
    d->window = tp->snd_cwnd;
    return most(tp->snd_cwnd - (tp->snd_cwnd * d->share >> 11), 2);
}

SECTION("struct_ops/in_ack_event") void dctcp_in_ack_event(u64 *ctx)
{
    struct tcp_sock *tp = TCP(ctx);
    struct dctcp *d = KEPT(dctcp, tp);
    if ((s32)(tp->snd_una - d->ends_at) < 0)
        return;
    u32 delivered = tp->delivered - d->delivered;
    u32 marked = least(tp->delivered_ce - d->delivered_ce, delivered);
    u32 share = d->share;
    // A share too small to be shifted goes all the same.
    share -= share >> GAIN_SHIFT ? share >> GAIN_SHIFT : share;
    if (marked)
        share = least(share + (marked << (10 - GAIN_SHIFT)) / delivered, ONE);
    d->share = share;
    begin(tp, d);
}

SECTION("struct_ops/cong_avoid") void dctcp_cong_avoid(u64 *ctx)
{
    tcp_reno_cong_avoid(SOCK(ctx), ctx[1], ctx[2]);
}

// A loss halves, whatever share is marked.
SECTION("struct_ops/set_state") void dctcp_set_state(u64 *ctx)
{
    struct tcp_sock *tp = TCP(ctx);
    struct dctcp *d = KEPT(dctcp, tp);
    u8 state = ctx[1];
    if (state == CA_RECOVERY && d->state != CA_RECOVERY) {
        d->window = tp->snd_cwnd;
        tp->snd_ssthresh = most(tp->snd_cwnd >> 1, 2);
    }
    d->state = state;
}

// Of the receiver. An acknowledgement that was held back speaks of the packets before this one.
SECTION("struct_ops/cwnd_event") void dctcp_cwnd_event(u64 *ctx)
{
    struct tcp_sock *tp = TCP(ctx);
    struct dctcp *d = KEPT(dctcp, tp);
    u32 event = ctx[1];
    u8 marked;
    if (event == EVENT_ECN_IS_CE)
        marked = 1;
    else if (event == EVENT_ECN_NO_CE)
        marked = 0;
    else
        return;
    if (d->marked != marked && tp->inet_conn.icsk_ack.pending & ACK_TIMER)
        send_ack(tp, d->prior_rcv_nxt);
    d->prior_rcv_nxt = tp->rcv_nxt;
    d->marked = marked;
    if (marked)
        tp->ecn_flags |= ECN_DEMAND_CWR;
    else
        tp->ecn_flags &= ~ECN_DEMAND_CWR;
}

SECTION("struct_ops/undo_cwnd") u32 dctcp_undo_cwnd(u64 *ctx)
{
    struct tcp_sock *tp = TCP(ctx);
    return most(tp->snd_cwnd, KEPT(dctcp, tp)->window);
}

SECTION(".struct_ops") struct tcp_congestion_ops control = {
    .init = (void *)dctcp_init,
    .ssthresh = (void *)dctcp_ssthresh,
    .in_ack_event = (void *)dctcp_in_ack_event,
    .cong_avoid = (void *)dctcp_cong_avoid,
    .set_state = (void *)dctcp_set_state,
    .cwnd_event = (void *)dctcp_cwnd_event,
    .undo_cwnd = (void *)dctcp_undo_cwnd,
    .name = "tm_dctcp",
    .flags = FLAG_NEEDS_ECN,
};
