// SPDX-License-Identifier: Apache-2.0
// Single packets: the one under the pointer, its neighbours, parts and sums of packets.

import { indexAt } from './series';
import type { Packets } from './types';

/** Number of flows with their own colour. */
export const COLOURS = 8;

/**
 * Returns the colour of every flow: the chosen ones first, then by number of packets; a flow
 * without a colour is not in the map. A flow's number decides its colour if that is free, so that
 * it is the same after a reload.
 */
export function flowColours(chosen: readonly string[], p: Packets | null): Map<string, number> {
  const colours = new Map<string, number>();
  const free = new Set(Array.from({ length: COLOURS }, (_, i) => i));
  const give = (id: string): void => {
    if (free.size === 0 || colours.has(id)) return;
    let colour = Number(id) % COLOURS || 0;
    while (!free.has(colour)) colour = (colour + 1) % COLOURS;
    free.delete(colour);
    colours.set(id, colour);
  };
  for (const id of chosen) give(id);
  const counts = new Map<number, number>();
  for (const f of p?.flow ?? []) counts.set(f, (counts.get(f) ?? 0) + 1);
  const most = [...counts].sort((a, b) => b[1] - a[1] || a[0] - b[0]);
  for (const [f] of most) give(String(f));
  return colours;
}

/** Returns the packet nearest to a point of the picture; null if none is near. */
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

/** Returns the arrivals before and after, of all flows and of its own; null if there is none. */
export function neighbours(p: Packets, i: number) {
  const n = p.time.length;
  const flow = p.flow[i];
  const find = (step: number): number | null => {
    for (let k = i + step; k >= 0 && k < n; k += step) if (p.flow[k] === flow) return k;
    return null;
  };
  return { before: i > 0 ? i - 1 : null, after: i + 1 < n ? i + 1 : null, flowBefore: find(-1), flowAfter: find(1) };
}

/** Memory of one packet, bytes: its share of every column. */
export const PACKET_BYTES = 4 * 8 + 2 * 4 + 2 + 2 * 1;

type Column = Float64Array | Uint32Array | Uint16Array | Uint8Array;

/** Returns a copy with every column changed. */
function withColumns(p: Packets, change: (column: Column, name: keyof Packets) => Column): Packets {
  const entries = Object.entries(p).map(([name, v]) => [name, ArrayBuffer.isView(v) ? change(v as Column, name as keyof Packets) : v]);
  return { ...(Object.fromEntries(entries) as Packets), truncated: false };
}

/** Returns the packets of a part of a span, in the same memory. */
export function within(p: Packets, from: number, to: number): Packets {
  const [a, b] = [indexAt(p, from), indexAt(p, to)];
  return withColumns(p, (column) => column.subarray(a, b));
}

/** Joins the packets of consecutive spans; null if there are none. */
export function joined(parts: readonly Packets[]): Packets | null {
  const [first] = parts;
  if (!first || parts.length === 1) return first ?? null;
  const length = parts.reduce((n, p) => n + p.time.length, 0);
  return withColumns(first, (column, name) => {
    const all = new (column.constructor as new (n: number) => Column)(length);
    let at = 0;
    for (const p of parts) {
      all.set(p[name] as Column, at);
      at += p.time.length;
    }
    return all;
  });
}
