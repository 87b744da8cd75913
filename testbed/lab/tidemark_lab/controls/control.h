// SPDX-License-Identifier: GPL-2.0-only
// The kernel as our congestion controls see it: the fields they read, found by name in the BTF
// of the running kernel, and its own functions for Reno.

#ifndef CONTROL_H
#define CONTROL_H

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;

#define SECTION(name) __attribute__((section(name), used))
#define IN_KERNEL __attribute__((preserve_access_index))
#define ALWAYS static inline __attribute__((always_inline))
#define INFINITE_SSTHRESH 0x7fffffff

enum { CA_OPEN = 0, CA_CWR = 2, CA_RECOVERY = 3, CA_LOSS = 4 };
enum { EVENT_TX_START = 0, EVENT_CWND_RESTART = 1, EVENT_ECN_NO_CE = 4, EVENT_ECN_IS_CE = 5 };
enum { FLAG_NEEDS_ECN = 2 };
enum { ECN_DEMAND_CWR = 4, ACK_TIMER = 2 };

struct sock {
} IN_KERNEL;

struct inet_connection_sock {
    struct {
        u8 pending;
    } icsk_ack;
    u64 icsk_ca_priv[13];
} IN_KERNEL;

struct tcp_sock {
    struct inet_connection_sock inet_conn;
    u32 rcv_nxt;
    u32 snd_nxt;
    u32 snd_una;
    u32 snd_cwnd;
    u32 snd_ssthresh;
    u32 max_packets_out;
    u32 delivered;
    u32 delivered_ce;
    u32 lost;
    u8 ecn_flags;
    u8 is_cwnd_limited : 1;
} IN_KERNEL;

struct ack_sample {
    u32 pkts_acked;
    s32 rtt_us;
    u32 in_flight;
} IN_KERNEL;

struct tcp_congestion_ops {
    u32 (*ssthresh)(struct sock *sk);
    void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
    void (*set_state)(struct sock *sk, u8 new_state);
    void (*cwnd_event)(struct sock *sk, u32 event);
    void (*in_ack_event)(struct sock *sk, u32 flags);
    void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
    u32 (*undo_cwnd)(struct sock *sk);
    void (*init)(struct sock *sk);
    char name[16];
    u32 flags;
};

extern u32 tcp_slow_start(struct tcp_sock *tp, u32 acked) SECTION(".ksyms");
extern void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 w, u32 acked) SECTION(".ksyms");
extern void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked) SECTION(".ksyms");
extern u32 tcp_reno_ssthresh(struct sock *sk) SECTION(".ksyms");
extern u32 tcp_reno_undo_cwnd(struct sock *sk) SECTION(".ksyms");

// Of a program of struct_ops: its arguments are words of the context.
#define TCP(ctx) ((struct tcp_sock *)(ctx)[0])
#define SOCK(ctx) ((struct sock *)(ctx)[0])
// State that a control keeps of a flow, at most 104 bytes.
#define KEPT(type, tp) ((struct type *)(tp)->inet_conn.icsk_ca_priv)

ALWAYS u32 least(u32 a, u32 b)
{
    return a < b ? a : b;
}

ALWAYS u32 most(u32 a, u32 b)
{
    return a > b ? a : b;
}

ALWAYS int in_slow_start(const struct tcp_sock *tp)
{
    return tp->snd_cwnd < tp->snd_ssthresh;
}

// Whether the window is what limits the flow. A bit's place is known when the program is loaded:
// 0, 1, 4 and 5 are its byte, size, and shifts to the left and back.
ALWAYS int is_limited(const struct tcp_sock *tp)
{
    if (in_slow_start(tp))
        return tp->snd_cwnd < 2 * tp->max_packets_out;
    const void *at =
        (const void *)tp + __builtin_preserve_field_info(tp->is_cwnd_limited, 0);
    u64 value;
    switch (__builtin_preserve_field_info(tp->is_cwnd_limited, 1)) {
    case 1:
        value = *(const u8 *)at;
        break;
    case 2:
        value = *(const unsigned short *)at;
        break;
    case 4:
        value = *(const u32 *)at;
        break;
    default:
        value = *(const u64 *)at;
    }
    value <<= __builtin_preserve_field_info(tp->is_cwnd_limited, 4);
    return value >> __builtin_preserve_field_info(tp->is_cwnd_limited, 5) != 0;
}

#define UNDO_AS_RENO(name)                                                                        \
    SECTION("struct_ops/undo_cwnd") u32 name(u64 *ctx) { return tcp_reno_undo_cwnd(SOCK(ctx)); }

const char license_[] SECTION("license") = "GPL";

#endif
