// SPDX-License-Identifier: Apache-2.0
// Keeps the packets that were read, so that a held span stays after the collector has forgotten it.

import { joined, within } from './packets';
import { indexAt } from './series';
import type { Packets } from './types';

interface Read {
  from: number;
  to: number;
  packets: Packets;
}

/** Packets that were read, the last used last, up to a maximum number. */
export class PacketShelf {
  private reads: Read[] = [];

  constructor(readonly most: number) {}

  /** Keeps the packets read of a span; from a cut-off answer only the complete part. */
  add(from: number, to: number, packets: Packets): void {
    // The collector has none of this port: nothing is known of the span.
    if (packets.oldest === null && packets.time.length === 0) return;
    const whole = packets.truncated ? (packets.time.at(-1) ?? from) : to;
    // Packets that the collector had already forgotten were not read.
    const since = packets.oldest === null ? from : Math.max(from, packets.oldest);
    if (whole <= since) return;
    this.reads = this.reads.filter((r) => !(r.from >= since && r.to <= whole));
    this.reads.push({ from: since, to: whole, packets: within(packets, since, whole) });
    let total = this.packets;
    while (total > this.most && this.reads.length > 1) total -= this.reads.shift()?.packets.time.length ?? 0;
  }

  /** Number of packets kept. */
  get packets(): number {
    return this.reads.reduce((n, r) => n + r.packets.time.length, 0);
  }

  /** Returns the packets of a span, if all of it was read. */
  find(from: number, to: number): Packets | null {
    const parts: Packets[] = [];
    for (let at = from; at < to; ) {
      const read = this.readAt(at);
      if (!read) return null;
      parts.push(within(read.packets, at, to));
      at = read.to;
    }
    return joined(parts);
  }

  /** Counts the kept packets of a span, each once even if it was read twice. */
  count(from: number, to: number): number {
    let n = 0;
    let at = from;
    for (const r of [...this.reads].sort((a, b) => a.from - b.from)) {
      const [begin, end] = [Math.max(at, r.from), Math.min(to, r.to)];
      if (end <= begin) continue;
      n += indexAt(r.packets, end) - indexAt(r.packets, begin);
      at = end;
    }
    return n;
  }

  /** Returns the end of what was read from `t` on without a gap; else `t`. This is a use: others are dropped first. */
  reach(t: number): number {
    let at = t;
    for (let read = this.readAt(at); read; read = this.readAt(at)) {
      this.reads.splice(this.reads.indexOf(read), 1);
      this.reads.push(read);
      at = read.to;
    }
    return at;
  }

  clear(): void {
    this.reads = [];
  }

  /** Returns the read that extends furthest from `t`. */
  private readAt(t: number): Read | undefined {
    const met = this.reads.filter((r) => r.from <= t && r.to > t);
    return met.reduce<Read | undefined>((best, r) => (best && best.to >= r.to ? best : r), undefined);
  }
}
