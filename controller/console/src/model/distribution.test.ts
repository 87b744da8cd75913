// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { packetsAt } from '../../test/packets';
import { distributionOfPackets, quantile, rebin } from './distribution';

describe('distribution', () => {
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
    const bins = [
      { lowBytes: 10, highBytes: 11, share: 0.5 },
      { lowBytes: 20, highBytes: 21, share: 0.49 },
      { lowBytes: 30, highBytes: 31, share: 0.01 },
    ];
    expect(quantile(bins, 0.5)).toBeCloseTo(11);
    expect(quantile(bins, 0.75)).toBeCloseTo(20.51);
    expect(quantile(bins, 1)).toBeCloseTo(31);
    expect(quantile([], 0.5)).toBeNull();
  });
});

describe('distributionOfPackets', () => {
  const packets = (occupancy: number[]) => packetsAt(occupancy.map((_, i) => i), undefined, { occupancy: Float64Array.from(occupancy) });

  it('gives shares and quantiles', () => {
    const d = distributionOfPackets(packets([0, 0, 100, 200]));
    expect(d.total).toBe(4);
    expect(d.bins.reduce((a, b) => a + b.share, 0)).toBeCloseTo(1);
    expect(d.max).toBe(200);
    expect(d.p50).toBeLessThanOrEqual(1);
    expect(d.spanSeconds).toBe(3);
  });
});
