// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { distributionOfPackets, OccupancySampler } from './sampler';
import type { Packets } from './types';

function packets(occupancy: number[]): Packets {
  const n = occupancy.length;
  return { time: occupancy.map((_, i) => i), occupancy, dropped: new Array(n).fill(false), flow: [], cwnd: [], truncated: false };
}

describe('OccupancySampler', () => {
  it('reads slices that do not overlap, behind the newest telemetry', () => {
    const s = new OccupancySampler();
    expect(s.nextSlice(0.5)).toBeNull();
    const a = s.nextSlice(10);
    expect(a?.to).toBeCloseTo(9.5);
    if (!a) throw new Error('no slice');
    s.add(packets([1]), a);
    expect(s.nextSlice(10.1)).toBeNull();
    expect(s.nextSlice(12)?.from).toBeGreaterThanOrEqual(a.to);
  });

  it('forgets after a minute and when the limit changes', () => {
    const s = new OccupancySampler();
    s.under(1000);
    for (let t = 10; t < 200; t += 2) {
      const slice = s.nextSlice(t);
      if (slice) s.add(packets([t < 100 ? 900 : 100]), slice);
    }
    expect(s.distribution()?.max).toBe(100);
    expect(s.distribution()?.spanSeconds).toBeLessThan(62);
    s.under(500);
    expect(s.distribution()).toBeNull();
  });

  it('gives shares and quantiles', () => {
    const d = distributionOfPackets(packets([0, 0, 100, 200]));
    expect(d.total).toBe(4);
    expect(d.bins.reduce((a, b) => a + b.share, 0)).toBeCloseTo(1);
    expect(d.max).toBe(200);
    expect(d.p50).toBeLessThanOrEqual(1);
  });
});
