// SPDX-License-Identifier: Apache-2.0
// Reads the controller's answers about spans of time, as columns in the page's units: seconds since
// the link's first interval.

import { type EstimateValues, estimateRow } from '../model/estimates';
import type { Link } from './link';
import type * as api from './generated';
import { fields, list, number, numbers } from './json';

const NS = 1e9;

export type SeriesColumns = ReturnType<typeof series>;

/** Reads a series as columns of equal length. */
export function series(v: unknown, startNs: number) {
  const o = fields<api.Series>(v);
  const time = numbers(o.time_ns);
  const drops = numbers(o.drops);
  const arrivals = numbers(o.arrivals);
  return {
    stepSeconds: (number(o.step_ns) ?? 0) / NS,
    time: time.map((t) => ((t ?? startNs) - startNs) / NS),
    occP50: numbers(o.occupancy_p50_bytes),
    occP99: numbers(o.occupancy_p99_bytes),
    occMax: numbers(o.occupancy_max_bytes),
    // 0 stands for "not reported or unlimited": no line.
    limit: numbers(o.limit_bytes).map((l) => l || null),
    utilisation: numbers(o.utilisation),
    loss: drops.map((d, i) => (d !== null && arrivals[i] ? d / arrivals[i] : null)),
    delayP50: numbers(o.delay_p50_ms),
    delayP99: numbers(o.delay_p99_ms),
    delayMax: numbers(o.delay_max_ms),
    drops,
    arrivals,
  };
}

/** Returns a span of a link in the form that the API takes. */
export function spanOf(link: Link, span: { from: number; to: number }): { from_ns: number; to_ns: number } {
  return { from_ns: Math.max(0, link.startNs + span.from * NS), to_ns: link.startNs + span.to * NS };
}

export type Packets = ReturnType<typeof packets>;

/** Reads single packets as columns of equal length: there are millions. */
export function packets(v: unknown, startNs: number) {
  const o = fields<api.Packets>(v);
  const arrived = list(o.ingress_ns);
  const left = list(o.egress_ns);
  const seconds = (ns: unknown): number => ((number(ns) ?? startNs) - startNs) / NS;
  const count = (n: unknown): number => number(n) ?? 0;
  const flag = (b: unknown): number => Number(b === true);
  return {
    time: Float64Array.from(arrived, seconds),
    /** Departure; for a dropped packet, its arrival. */
    left: Float64Array.from(arrived, (t, i) => seconds(left[i] || t)),
    occupancy: Float64Array.from(list(o.occupancy_bytes), (n) => number(n) ?? NaN),
    dropped: Uint8Array.from(list(o.dropped), flag),
    ce: Uint8Array.from(list(o.ce_marked), flag),
    flow: Float64Array.from(list(o.flow_id), count),
    cwnd: Uint32Array.from(list(o.cwnd), count),
    seq: Uint32Array.from(list(o.tcp_seq), count),
    ipBytes: Uint16Array.from(list(o.ip_bytes), count),
    truncated: o.truncated === true,
    /** Arrival of the oldest packet that the collector remembers. */
    oldest: number(o.oldest_ns) === null ? null : ((number(o.oldest_ns) ?? 0) - startNs) / NS,
  };
}

export type WindowColumns = ReturnType<typeof windows>;
export type FlowWindowColumns = WindowColumns['flows'][number];

/** Reads windows over time as columns of equal length. */
export function windows(v: unknown, startNs: number) {
  const o = fields<api.Windows>(v);
  const column = (x: unknown): number[] => numbers(x).map((n) => n ?? 0);
  return {
    stepSeconds: (number(o.step_ns) ?? 0) / NS,
    time: numbers(o.time_ns).map((t) => ((t ?? startNs) - startNs) / NS),
    cwndSumPkts: numbers(o.cwnd_sum_pkts),
    inFlightSumBytes: numbers(o.in_flight_sum_bytes),
    probedFlows: column(o.probed_flows),
    dataFlows: column(o.data_flows),
    flows: list(o.flows).map((f) => {
      const x = fields<api.FlowWindows>(f);
      return {
        id: String(x.flow ?? ''),
        cwndPkts: numbers(x.cwnd_pkts),
        inFlightBytes: numbers(x.in_flight_bytes),
        drops: numbers(x.drops),
        ce: column(x.ce_marked),
      };
    }),
  };
}

/** The estimates at one time, in seconds. */
export interface EstimateRow {
  time: number;
  row: EstimateValues;
}

export function estimateHistory(v: unknown, startNs: number): EstimateRow[] {
  const o = fields<api.EstimateHistory>(v);
  const columns = (c: unknown) => {
    const x = fields<api.EstimateColumns>(c);
    return { value: numbers(x.value), low: numbers(x.low), high: numbers(x.high) };
  };
  const all = { nB: columns(o.n_b), alpha: columns(o.alpha), delta: columns(o.delta), tE: columns(o.t_e_ms), cE: columns(o.c_e_share) };
  return numbers(o.time_ns).map((t, i) => {
    const row = estimateRow((n) => ({ value: all[n].value[i] ?? null, low: all[n].low[i] ?? null, high: all[n].high[i] ?? null }));
    return { time: ((t ?? startNs) - startNs) / NS, row };
  });
}

export type Distribution = NonNullable<ReturnType<typeof distribution>>;
export type DistributionBin = Distribution['bins'][number];

/** Reads a distribution; null if nothing has arrived. */
export function distribution(v: unknown) {
  const o = fields<api.Distribution>(v);
  const [low, high, count] = [numbers(o.low_bytes), numbers(o.high_bytes), numbers(o.count)];
  const total = count.reduce<number>((a, b) => a + (b ?? 0), 0);
  if (!(total > 0)) return null;
  const bins = count.map((c, i) => ({ lowBytes: low[i] ?? 0, highBytes: high[i] ?? low[i] ?? 0, share: (c ?? 0) / total }));
  const span = ((number(o.to_ns) ?? 0) - (number(o.from_ns) ?? 0)) / NS;
  return { bins, total, p50: number(o.p50_bytes), p99: number(o.p99_bytes), max: number(o.max_bytes), spanSeconds: span };
}
