// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { bucketRange, fromBuckets, quantile, rebin } from './distribution';

describe('distribution', () => {
  it('knows the collector’s buckets', () => {
    expect(bucketRange(0)).toEqual([0, 1]);
    expect(bucketRange(127)).toEqual([127, 1]);
    expect(bucketRange(128)).toEqual([128, 2]);
    expect(bucketRange(128 + 64)).toEqual([256, 4]);
    // 100 000 lies in a bucket no wider than 1/64 of itself.
    const exponent = 16;
    const sub = (100_000 >> (exponent - 6)) & 63;
    const [low, width] = bucketRange(128 + ((exponent - 7) << 6) + sub);
    expect(low).toBeLessThanOrEqual(100_000);
    expect(low + width).toBeGreaterThan(100_000);
    expect(width / low).toBeLessThanOrEqual(1 / 64);
  });

  it('keeps the total when rebinning', () => {
    const fine = [
      { lowBytes: 0, highBytes: 1, share: 0.25 },
      { lowBytes: 5, highBytes: 25, share: 0.5 },
      { lowBytes: 90, highBytes: 110, share: 0.25 },
    ];
    const rows = rebin(fine, 100, 10);
    expect(rows.length).toBe(10);
    expect(rows.reduce((s, r) => s + r.share, 0)).toBeCloseTo(1);
    expect(rows[0]?.share).toBeCloseTo(0.25 + 0.125);
    expect(rows[1]?.share).toBeCloseTo(0.25);
    expect(rows[9]?.share).toBeCloseTo(0.25);
  });

  it('finds quantiles', () => {
    const d = fromBuckets([10, 20, 30], [50, 49, 1], 10);
    expect(d.total).toBe(100);
    expect(d.p50).toBeGreaterThanOrEqual(10);
    expect(d.p50).toBeLessThanOrEqual(11);
    expect(d.p99).toBeGreaterThanOrEqual(20);
    expect(d.p99).toBeLessThanOrEqual(21);
    expect(quantile([], 0.5)).toBeNull();
    expect(fromBuckets([], [], null).p50).toBeNull();
  });
});
