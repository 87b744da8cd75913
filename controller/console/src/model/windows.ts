// SPDX-License-Identifier: Apache-2.0
// Windows over time in the browser, and the papers' comparison: W(t) = Q(t) + BDP while the link is
// full.

import type { Series } from './series';
import type { Column } from './recording';
import type { Flow, Link, WindowColumns } from './types';

/** Maximum number of steps: twenty minutes at 100 ms. */
const CAPACITY = 12_000;
/** Maximum number of chosen flows. */
export const MOST_CHOSEN = 8;
/** Longest time between two samples of a flow, seconds; a line over more would be made up. */
export const BRIDGED_S = 2;
/** Number of flows shown if nobody has chosen any. */
const FIRST_CHOICE = 3;

function empty(): WindowColumns {
  return { stepSeconds: 0, time: [], cwndSumPkts: [], inFlightSumBytes: [], probedFlows: [], dataFlows: [], flows: [] };
}

/** The windows of a set of flows, extended as they arrive. */
export class WindowRecord {
  columns = empty();

  constructor(readonly flows: readonly string[]) {}

  get lastTime(): number | null {
    return this.columns.time.at(-1) ?? null;
  }

  /** Adds steps, which replace those from the first of them on: the last may be incomplete. */
  add(more: WindowColumns): void {
    const first = more.time[0];
    if (first === undefined) return;
    const c = this.columns;
    if (c.stepSeconds !== 0 && Math.abs(c.stepSeconds - more.stepSeconds) > 1e-9) {
      this.columns = more;
      return;
    }
    let keep = c.time.length;
    while (keep > 0 && (c.time[keep - 1] ?? 0) > first - more.stepSeconds / 2) keep -= 1;
    const skip = Math.max(0, keep + more.time.length - CAPACITY);
    /** Joins every column of both, end to end. */
    const joined = <T extends object>(old: Partial<T>, added: T): T => {
      const columns = Object.entries(added).map(([name, b]) => {
        const a = old[name as keyof T];
        return [name, Array.isArray(b) ? [...(Array.isArray(a) ? a.slice(skip, keep) : []), ...b] : b];
      });
      return Object.fromEntries(columns) as T;
    };
    this.columns = { ...joined(c, more), flows: more.flows.map((f, i) => joined(c.flows[i] ?? {}, f)) };
  }
}

/** Returns the flows shown before anybody chooses: the largest bottlenecked here, then the largest; sorted by number. */
export function firstChoice(flows: readonly Flow[]): string[] {
  const rank = (f: Flow): number => (f.cls === 'LBP' ? 0 : f.cls === 'SHORT' ? 2 : 1);
  return flows
    .filter((f) => f.cwndPkts !== null)
    .sort((a, b) => rank(a) - rank(b) || (b.rateBps ?? 0) - (a.rateBps ?? 0) || a.id.localeCompare(b.id))
    .slice(0, FIRST_CHOICE)
    .map((f) => f.id)
    .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
}

/** Returns the gaps between samples that no line crosses; `time`: the time of a place. */
export function unbridged(gaps: [number, number][], time: (place: number) => number): [number, number][] {
  return gaps.filter(([from, to]) => time(to) - time(from) > BRIDGED_S);
}

/**
 * Returns the bandwidth-delay product, bytes of the queue: the drain rate times the base RTT,
 * weighted by rate. By Little's law, flows of rates rᵢ and base RTTs Tᵢ behind a queue Q of a full
 * link have Σ rᵢ(Tᵢ + Q/C) = C·T̄ + Q in flight.
 */
export function bdpBytes(l: Link): number | null {
  const drainBps = l.estimate?.drainBps ?? l.capacityBps;
  if (!drainBps) return null;
  let weight = 0;
  let sum = 0;
  for (const f of l.estimate?.flows ?? []) {
    const rate = (f.rateBps ?? 0) * (f.activeFraction ?? 1);
    if (f.baseRttMs === null || !(rate > 0)) continue;
    weight += rate;
    sum += rate * f.baseRttMs;
  }
  return weight > 0 ? ((drainBps / 8) * (sum / weight)) / 1000 : null;
}

/**
 * Returns the bytes in flight beyond the queue of a full link: the BDP, and the packet in
 * transmission, which is neither in an occupancy nor in a base RTT.
 */
export function beyondQueueBytes(l: Link, packetBytes: number): number | null {
  const bdp = bdpBytes(l);
  return bdp === null ? null : bdp + packetBytes;
}

/** Returns the mean of the median occupancy over the steps of `time`; null if unknown. */
export function queueAt(series: Series<Column>, time: readonly number[], step: number): (number | null)[] {
  const values = series.column('occP50');
  let i = 0;
  return time.map((t) => {
    while (i > 0 && (series.time[i - 1] ?? 0) >= t) i -= 1;
    while (i < series.length && (series.time[i] ?? 0) < t - 1e-6) i += 1;
    let sum = 0;
    let n = 0;
    for (let k = i; k < series.length && (series.time[k] ?? 0) < t + step - 1e-6; k += 1) {
      const v = values[k];
      if (v === null || v === undefined) continue;
      sum += v;
      n += 1;
    }
    return n > 0 ? sum / n : null;
  });
}
