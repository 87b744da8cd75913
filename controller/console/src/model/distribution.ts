// SPDX-License-Identifier: Apache-2.0
// Distributions as bins with shares.

import type { DistributionBin } from './types';

/**
 * Spreads fine bins over `rows` equal bins up to `maxBytes`. A fine bin that
 * lies across a border is divided by length.
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

/** The value below which a share `q` of the packets lies; null when empty. */
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
