// SPDX-License-Identifier: Apache-2.0
// Distribution of the occupancy met by arrivals, from short slices of packets
// read every now and then: a sample over time of the recent past.

import { quantile } from './distribution';
import type { Distribution, DistributionBin, Packets } from './types';

export interface Slice {
  from: number;
  to: number;
}

interface Sample extends Slice {
  /** Occupancies, ascending. */
  values: number[];
}

/** Length of a slice and how far back slices count, seconds. */
const SLICE = 0.4;
const MEMORY = 60;
/** Behind the newest telemetry, so that late reports are in. */
const BEHIND = 0.5;
const FINE_BINS = 400;

export class OccupancySampler {
  private samples: Sample[] = [];
  private cached: Distribution | null = null;

  private limit: number | null = null;

  /** Occupancies under another limit are another distribution. */
  under(limit: number | null): void {
    if (limit === this.limit) return;
    this.limit = limit;
    this.samples = [];
    this.cached = null;
  }

  /** The next slice to read; null when time has not moved on. */
  nextSlice(now: number): Slice | null {
    const to = now - BEHIND;
    const from = to - SLICE;
    const last = this.samples.at(-1);
    if (from < 0 || (last && from < last.to)) return null;
    return { from, to };
  }

  add(p: Packets, slice: Slice): void {
    if (p.occupancy.length === 0) return;
    const values = [...p.occupancy].sort((a, b) => a - b);
    this.samples.push({ ...slice, values });
    this.samples = this.samples.filter((s) => s.to > slice.to - MEMORY);
    this.cached = null;
  }

  distribution(): Distribution | null {
    if (this.samples.length === 0) return null;
    this.cached ??= this.build();
    return this.cached;
  }

  private build(): Distribution {
    return distributionOf(this.samples);
  }
}

/** Distribution of the packets of a held span. */
export function distributionOfPackets(p: Packets): Distribution {
  const from = p.time[0] ?? 0;
  return distributionOf([{ from, to: p.time.at(-1) ?? from, values: [...p.occupancy].sort((a, b) => a - b) }]);
}

function distributionOf(samples: readonly Sample[]): Distribution {
  let max = 0;
  let total = 0;
  for (const s of samples) {
    max = Math.max(max, s.values.at(-1) ?? 0);
    total += s.values.length;
  }
  const width = Math.max(1, (max + 1) / FINE_BINS);
  const counts = new Array<number>(FINE_BINS).fill(0);
  for (const s of samples) {
    for (const v of s.values) {
      const i = Math.min(FINE_BINS - 1, Math.floor(v / width));
      counts[i] = (counts[i] ?? 0) + 1;
    }
  }
  const bins: DistributionBin[] = counts.map((c, i) => ({ lowBytes: i * width, highBytes: (i + 1) * width, share: c / total }));
  const span = (samples.at(-1)?.to ?? 0) - (samples[0]?.from ?? 0);
  return { bins, total, p50: quantile(bins, 0.5), p99: quantile(bins, 0.99), max, spanSeconds: span };
}
