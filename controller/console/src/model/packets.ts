// SPDX-License-Identifier: Apache-2.0
// Single packets: which one is meant, what stood around it, and which were read
// before, so that what is held stays.

import type { Packets } from './types';

/** Flows with a colour of their own. */
export const COLOURS = 8;

/**
 * The colour of every flow: those chosen first, in their order, then by number
 * of packets; a flow without one is not in the map.
 */
export function flowColours(chosen: readonly string[], p: Packets | null): Map<string, number> {
  const colours = new Map<string, number>();
  for (const id of chosen) if (colours.size < COLOURS) colours.set(id, colours.size);
  const counts = new Map<number, number>();
  for (const f of p?.flow ?? []) counts.set(f, (counts.get(f) ?? 0) + 1);
  const most = [...counts].sort((a, b) => b[1] - a[1] || a[0] - b[0]);
  for (const [f] of most) if (colours.size < COLOURS && !colours.has(String(f))) colours.set(String(f), colours.size);
  return colours;
}

/** First index with an arrival at or after `t`. */
export function indexAt(p: Packets, t: number): number {
  let lo = 0;
  let hi = p.time.length;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if ((p.time[mid] ?? 0) < t) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

/** The packet nearest to a point of the picture; null where none is near. */
export function nearest(p: Packets, x: number, y: number, reach: number, place: { x: (t: number) => number; y: (b: number) => number }, from: number, to: number): number | null {
  let best: number | null = null;
  let least = reach * reach;
  for (let i = indexAt(p, from); i < p.time.length && (p.time[i] ?? 0) <= to; i += 1) {
    const dx = place.x(p.time[i] ?? 0) - x;
    if (dx > reach) break;
    if (dx < -reach) continue;
    const dy = place.y(p.occupancy[i] ?? 0) - y;
    const d = dx * dx + dy * dy;
    if (d < least) {
      least = d;
      best = i;
    }
  }
  return best;
}

export interface Neighbours {
  /** The arrivals before and after it. */
  before: number | null;
  after: number | null;
  /** Of the same flow. */
  flowBefore: number | null;
  flowAfter: number | null;
}

export function neighbours(p: Packets, i: number): Neighbours {
  const n = p.time.length;
  const flow = p.flow[i];
  const find = (step: number): number | null => {
    for (let k = i + step; k >= 0 && k < n; k += step) if (p.flow[k] === flow) return k;
    return null;
  };
  return { before: i > 0 ? i - 1 : null, after: i + 1 < n ? i + 1 : null, flowBefore: find(-1), flowAfter: find(1) };
}

/** The packets of a part of a span. */
export function within(p: Packets, from: number, to: number): Packets {
  const a = indexAt(p, from);
  const b = indexAt(p, to);
  const cut = <T,>(column: readonly T[]): T[] => column.slice(a, b);
  return {
    time: cut(p.time),
    left: cut(p.left),
    occupancy: cut(p.occupancy),
    dropped: cut(p.dropped),
    ce: cut(p.ce),
    flow: cut(p.flow),
    cwnd: cut(p.cwnd),
    seq: cut(p.seq),
    ipBytes: cut(p.ipBytes),
    truncated: false,
    oldest: p.oldest,
  };
}

interface Read {
  from: number;
  to: number;
  packets: Packets;
}

/** Packets that were read, newest last, within a bound of their number. */
export class PacketShelf {
  private reads: Read[] = [];

  constructor(private readonly most: number) {}

  /** Keeps what was read of a span; of a cut-off answer the part that is whole. */
  add(from: number, to: number, packets: Packets): void {
    if (packets.time.length === 0) return;
    const whole = packets.truncated ? (packets.time.at(-1) ?? from) : to;
    // What the collector had already forgotten was not read.
    const since = packets.oldest === null ? from : Math.max(from, packets.oldest);
    if (whole <= since) return;
    this.reads = this.reads.filter((r) => !(r.from >= since && r.to <= whole));
    this.reads.push({ from: since, to: whole, packets });
    let total = this.reads.reduce((n, r) => n + r.packets.time.length, 0);
    while (total > this.most && this.reads.length > 1) total -= this.reads.shift()?.packets.time.length ?? 0;
  }

  /** The packets of a span, where all of it was read. */
  find(from: number, to: number): Packets | null {
    const read = this.reads.findLast((r) => r.from <= from && r.to >= to);
    return read ? within(read.packets, from, to) : null;
  }

  clear(): void {
    this.reads = [];
  }
}
