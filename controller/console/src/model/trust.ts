// SPDX-License-Identifier: Apache-2.0
// Reasons to doubt the numbers although reports arrive: reports lost on the way, exporters that
// share their numbering, a limit that differs from the reported one.

import { count, percent } from '../format/units';
import type { Link, Status } from './types';

export interface Doubt {
  headline: string;
  detail: string;
}

/** Counters of the collectors at one moment. */
export interface CounterSample {
  atMs: number;
  received: number;
  lost: number;
  implausible: number;
  socketDrops: number;
}

/** How long losses count after the last of them. */
const MEMORY_MS = 15_000;
/** Share of reports out of sequence that indicates a second exporter. */
const SHARED_NUMBERING = 0.02;
/** A gap of this many times the reports received is not loss: two numberings are mixed. */
const IMPOSSIBLE_LOSS = 10;
/** Number of consecutive updates that must agree: older reports may still be on their way. */
const PATIENCE = 3;

export function counterSample(s: Status, atMs: number): CounterSample | null {
  if (s.reportsReceived === null) return null;
  return { atMs, received: s.reportsReceived, lost: s.reportsLost ?? 0, implausible: s.implausible ?? 0, socketDrops: s.kernelDrops ?? 0 };
}

/** Counts within the last seconds. */
export class CounterWindow {
  private samples: CounterSample[] = [];

  add(sample: CounterSample): void {
    const last = this.samples.at(-1);
    // Counters that fall belong to a collector that was restarted.
    if (last && (sample.received < last.received || sample.lost < last.lost)) this.samples = [];
    this.samples.push(sample);
    while ((this.samples[1]?.atMs ?? Infinity) < sample.atMs - MEMORY_MS) this.samples.shift();
  }

  doubt(): Doubt | null {
    const first = this.samples[0];
    const last = this.samples.at(-1);
    if (!first || !last || first === last) return null;
    const received = last.received - first.received;
    const lost = last.lost - first.lost;
    const implausible = last.implausible - first.implausible;
    const socketDrops = last.socketDrops - first.socketDrops;
    const seconds = Math.max(1, Math.round((last.atMs - first.atMs) / 1000));
    if (received > 0 && (implausible > SHARED_NUMBERING * received || lost > IMPOSSIBLE_LOSS * received)) {
      return {
        headline: 'Numbering shared',
        detail: `Reports of the last ${seconds} s do not number on from one another (${count(Math.max(implausible, lost))} against ${count(received)} received): do two exporters share an address and a hw_id?`,
      };
    }
    if (lost <= 0 && socketDrops <= 0) return null;
    const where = socketDrops > 0 ? ', at the socket of the collector: it does not keep up' : ', between switch and collector';
    const share = lost > 0 ? `${count(lost)} reports (${percent(lost / (lost + received))})` : `${count(socketDrops)} datagrams`;
    return { headline: 'Losing reports', detail: `${share} were lost within ${seconds} s${where}.` };
  }
}

/** Whether the limit that reports state differs from the one read from the switch. */
export function limitsDiffer(l: Link): boolean {
  const reported = l.reportedLimitBytes;
  const read = l.limit;
  if (reported === null || read === null) return false;
  const tolerance = Math.max(l.depthUnitBytes, 0.005 * reported);
  const values = [read.bytes, read.refusesAtBytes].filter((v) => v !== null);
  return !values.some((v) => Math.abs(v - reported) <= tolerance);
}

/** Whether the limits of a port have differed for some updates. */
export class LimitWatch {
  private readonly seen = new Map<string, number>();

  add(key: string, l: Link): void {
    this.seen.set(key, limitsDiffer(l) ? (this.seen.get(key) ?? 0) + 1 : 0);
  }

  doubt(key: string, l: Link, size: (bytes: number) => string): Doubt | null {
    if ((this.seen.get(key) ?? 0) < PATIENCE || l.reportedLimitBytes === null) return null;
    const read = l.limit?.bytes;
    return {
      headline: 'Limits differ',
      detail: `Reports state a limit of ${size(l.reportedLimitBytes)}, the switch was read as ${read === null || read === undefined ? 'unlimited' : size(read)}. The chart shows the one reported.`,
    };
  }
}
