// SPDX-License-Identifier: Apache-2.0
// Reads estimates of a link in the page's units: seconds since the link's first interval, shares,
// words. Fields have the names of the generated types; a value that is missing or of another type
// becomes null or empty.

import type * as api from './generated';
import { fields, list, number, string, strings } from './json';

const NS = 1e9;
const CLASSES: readonly api.FlowClass[] = ['LBP', 'RBP', 'WL', 'SHORT', 'OTHER'];

export function interval(v: unknown): api.Interval | null {
  const o = fields<api.Interval>(v);
  const value = number(o.value);
  if (value === null) return null;
  return { value, low: number(o.low) ?? value, high: number(o.high) ?? value };
}

export type Estimate = NonNullable<ReturnType<typeof estimate>>;

function estimate(v: unknown) {
  const i = interval(v);
  if (!i) return null;
  const o = fields<api.Estimate>(v);
  // Evidence is probed, passive, mixed or assumed.
  return { ...i, evidence: string(o.evidence), samples: number(o.samples) };
}

export function quantiles(v: unknown) {
  const o = fields<api.Quantiles>(v);
  return { p50: number(o.p50), p99: number(o.p99), max: number(o.max) };
}

function regime(v: unknown): api.Regime {
  return v === 'transparent' || v === 'elastic' || v === 'overload' ? v : 'unknown';
}

const PROTOCOLS: Record<number, string> = { 1: 'ICMP', 6: 'TCP', 17: 'UDP', 58: 'ICMPv6' };

function endpoint(address: unknown, port: unknown): string {
  const a = string(address, '?');
  return `${a.includes(':') ? `[${a}]` : a}:${number(port) ?? '?'}`;
}

export type Flow = ReturnType<typeof flow>;

function flow(v: unknown) {
  const o = fields<api.Flow>(v);
  const key = fields<api.FlowKey>(o.key);
  const cls = string(o.class).toUpperCase() as api.FlowClass;
  const protocol = number(key.protocol);
  return {
    id: String(o.flow ?? ''),
    src: endpoint(key.src, key.src_port),
    dst: endpoint(key.dst, key.dst_port),
    protocol: protocol === null ? '' : (PROTOCOLS[protocol] ?? `protocol ${protocol}`),
    cls: CLASSES.includes(cls) ? cls : ('OTHER' as const),
    confidence: number(o.confidence),
    why: string(o.why),
    evidence: string(o.evidence),
    rateBps: number(o.rate_bps),
    drops: number(o.drops),
    activeFraction: number(o.active_fraction),
    cwndPkts: number(o.cwnd),
    srttMs: number(o.srtt_ms),
    baseRttMs: number(o.base_rtt_ms),
    control: string(o.congestion_control),
  };
}

export type LinkEstimate = NonNullable<ReturnType<typeof linkEstimate>>;

export function linkEstimate(v: unknown, startNs: number) {
  const o = fields<api.LinkEstimate>(v);
  const e = fields<api.Estimates>(o.estimates);
  if (Object.keys(e).length === 0) return null;
  const r = fields<api.RegimeEstimate>(e.regime);
  const counts = fields<api.ClassCounts>(o.classes);
  return {
    from: ((number(o.from_ns) ?? startNs) - startNs) / NS,
    to: ((number(o.to_ns) ?? startNs) - startNs) / NS,
    /** M as the queue counts it; null if no data packet was seen. */
    segmentBytes: number(o.segment_bytes) || null,
    /** Rate at which the queue drains, bits/s. */
    drainBps: number(o.queue_drain_bps) || null,
    regime: regime(r.value),
    regimeWhy: string(r.why),
    values: {
      nB: estimate(e.n_b),
      alpha: estimate(e.alpha),
      delta: estimate(e.delta),
      tE: estimate(e.t_e_ms),
      cE: estimate(e.c_e_share),
    },
    utilisation: number(fields<api.Utilisation>(o.utilisation).mean),
    lossRate: number(o.loss_rate),
    delayMs: quantiles(o.delay_ms),
    classes: {
      LBP: number(counts.lbp) ?? 0,
      RBP: number(counts.rbp) ?? 0,
      WL: number(counts.wl) ?? 0,
      SHORT: number(counts.short) ?? 0,
      OTHER: number(counts.other) ?? 0,
    },
    flows: list(o.flows).map(flow),
    caveats: strings(o.caveats),
  };
}
