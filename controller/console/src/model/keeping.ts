// SPDX-License-Identifier: Apache-2.0
// Reads all packets of a long span, piece by piece, while it is held, and describes the progress.

import { count } from '../format/units';
import type { PacketShelf } from './packet-shelf';
import { within } from './packets';
import type { Packets } from './types';

/** Number of packets per request: an answer of some MB, read without freezing the page. */
export const SLICE = 50_000;
/** Expected share of a slice: more packets may come than in the last second. */
const EXPECTED = 0.8;

export interface Span {
  from: number;
  to: number;
}

export interface Kept extends Span {
  packets: number;
  /** `full`: no more packets fit; `stopped`: the rest could not be read. */
  state: 'reading' | 'whole' | 'full' | 'stopped';
  problem: string;
}

export type Read = (span: Span) => Promise<Packets>;

/**
 * Puts the packets of a span onto the shelf, oldest first, since these are forgotten first. Yields
 * the state after every piece.
 */
export async function* keep(shelf: PacketShelf, span: Span, perSecond: number, read: Read): AsyncGenerator<Kept> {
  const length = (EXPECTED * SLICE) / Math.max(1, perSecond);
  const kept: Kept = { from: span.from, to: span.from, packets: 0, state: 'reading', problem: '' };
  for (let at = shelf.reach(span.from); at < span.to; at = shelf.reach(at)) {
    kept.to = at;
    kept.packets = shelf.count(kept.from, at);
    if (kept.packets + SLICE > shelf.most) {
      yield { ...kept, state: 'full' };
      return;
    }
    const piece = { from: at, to: Math.min(span.to, at + length) };
    let p: Packets;
    try {
      p = await read(piece);
    } catch (e) {
      yield { ...kept, state: 'stopped', problem: e instanceof Error ? e.message : String(e) };
      return;
    }
    // The collector has no packets of this port at all.
    if (p.oldest === null && p.time.length === 0) break;
    if (p.oldest !== null && p.oldest > at) {
      // Earlier packets are forgotten: the kept span begins there.
      kept.from = p.oldest;
      at = Math.min(p.oldest, span.to);
      if (p.time.length === 0) continue;
    }
    const last = p.time.at(-1) ?? at;
    if (p.truncated && last > at) {
      // Other packets of that very time may have been cut off: they come with the next piece.
      shelf.add(at, last, { ...within(p, at, last), oldest: p.oldest });
      at = last;
    } else {
      shelf.add(at, piece.to, { ...p, truncated: false });
      at = piece.to;
    }
    yield { ...kept, to: at, packets: shelf.count(kept.from, at) };
  }
  yield { ...kept, to: span.to, packets: shelf.count(kept.from, span.to), state: 'whole' };
}

/** Describes in a sentence how much of a held span's packets is kept. */
export function keptWords(k: Kept, held: Span): string {
  const seconds = (t: number): string => `${t.toFixed(1)} s`;
  const since = k.from > held.from ? `from ${seconds(k.from)} on, which is as far as the collector remembers` : '';
  switch (k.state) {
    case 'reading':
      return `Reading its packets, to keep them: ${count(k.packets)} so far, up to ${seconds(k.to)}.`;
    case 'whole':
      if (k.packets === 0) return 'The collector remembers no packets of it.';
      return since ? `Its packets are kept ${since} (${count(k.packets)}).` : `All of its packets are kept (${count(k.packets)}).`;
    case 'full':
      return `Its packets are kept up to ${seconds(k.to)} (${count(k.packets)}): no more fit.`;
    case 'stopped':
      return `Its packets are kept up to ${seconds(k.to)} (${count(k.packets)}). The others could not be read: ${k.problem}`;
  }
}
