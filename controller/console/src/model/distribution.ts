// SPDX-License-Identifier: Apache-2.0
// Distributions as bins with shares.

import type { Distribution, DistributionBin, Packets } from './types';

/**
 * Spreads fine bins over `rows` equal bins up to `maxBytes`. A fine bin that crosses a border is
 * divided by length.
 */
export function rebin(fine: readonly DistributionBin[], maxBytes: number, rows: number): DistributionBin[] {
  const width = maxBytes / rows;
  const shares = new Array<number>(rows).fill(0);
  for (const b of fine) {
    const span = b.highBytes - b.lowBytes;
    const first = Math.min(rows - 1, Math.max(0, Math.floor(b.lowBytes / width)));
    const last = Math.min(rows - 1, Math.max(first, Math.ceil(b.highBytes / width) - 1));
    if (first === last || span <= 0) {
      shares[first] = (shares[first] ?? 0) + b.share;
      continue;
    }
    for (let i = first; i <= last; i += 1) {
      const lo = Math.max(b.lowBytes, i * width);
      const hi = i === last ? b.highBytes : Math.min(b.highBytes, (i + 1) * width);
      shares[i] = (shares[i] ?? 0) + (b.share * (hi - lo)) / span;
    }
  }
  return shares.map((share, i) => ({ lowBytes: i * width, highBytes: (i + 1) * width, share }));
}

/** Returns the value below which a share `q` of the packets lies; null if empty. */
export function quantile(bins: readonly DistributionBin[], q: number): number | null {
  let total = 0;
  for (const b of bins) total += b.share;
  if (!(total > 0)) return null;
  let seen = 0;
  for (const b of bins) {
    if (seen + b.share >= q * total && b.share > 0) {
      const inside = Math.max(0, (q * total - seen) / b.share);
      return b.lowBytes + inside * (b.highBytes - b.lowBytes);
    }
    seen += b.share;
  }
  return bins.at(-1)?.highBytes ?? null;
}

const FINE_BINS = 400;

/** Returns the distribution of the occupancy met by the packets of a held span. */
export function distributionOfPackets(p: Packets): Distribution {
  let max = 0;
  for (const v of p.occupancy) max = Math.max(max, v);
  const total = p.occupancy.length;
  const width = Math.max(1, (max + 1) / FINE_BINS);
  const counts = new Array<number>(FINE_BINS).fill(0);
  for (const v of p.occupancy) {
    const i = Math.min(FINE_BINS - 1, Math.floor(v / width));
    counts[i] = (counts[i] ?? 0) + 1;
  }
  const bins = counts.map((c, i) => ({ lowBytes: i * width, highBytes: (i + 1) * width, share: c / total }));
  const spanSeconds = (p.time.at(-1) ?? 0) - (p.time[0] ?? 0);
  return { bins, total, p50: quantile(bins, 0.5), p99: quantile(bins, 0.99), max, spanSeconds };
}
