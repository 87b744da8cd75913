// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { limitAt, limitTicks, part } from './outlook';

describe('the axis of limits', () => {
  it('finds a place again', () => {
    for (const bytes of [40_000, 150_000, 1_000_000]) expect(limitAt([40_000, 1e6], part([40_000, 1e6], bytes))).toBeCloseTo(bytes, 6);
    expect(part([1, 100], 10)).toBeCloseTo(0.5, 12);
  });

  it('has round ticks with room between them', () => {
    expect(limitTicks(75, 620, 900)).toEqual([80, 100, 150, 200, 300, 400, 500, 600]);
    expect(limitTicks(75, 620, 280)).toEqual([100, 200, 300, 500]);
    expect(limitTicks(75, 620, 200)).toEqual([100, 200, 500]);
    expect(limitTicks(1, 100_000, 280)).toEqual([1, 10, 100, 1000, 10_000, 100_000]);
    for (const [low, high] of [[0.3, 8], [75, 620], [3, 9000]] as const) {
      for (const width of [200, 600, 1000]) {
        const ticks = limitTicks(low, high, width);
        const at = ticks.map((t) => width * part([low, high], t));
        expect(at.every((a, i) => a >= 0 && a <= width && (i === 0 || a - (at[i - 1] ?? 0) >= 40))).toBe(true);
      }
    }
  });
});
