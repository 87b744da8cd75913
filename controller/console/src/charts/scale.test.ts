// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { decimalsFor, niceStep, StickyMax, ticks, usual } from './scale';

describe('scale', () => {
  it('finds round steps', () => {
    expect(niceStep(0.3)).toBeCloseTo(0.5);
    expect(niceStep(7)).toBe(10);
    expect(niceStep(20)).toBe(20);
    expect(niceStep(0)).toBe(1);
  });

  it('makes ticks inside the range', () => {
    expect(ticks(0, 100, 5)).toEqual([0, 20, 40, 60, 80, 100]);
    expect(ticks(3.2, 9.9, 4)).toEqual([4, 6, 8]);
    expect(ticks(1, 1, 4)).toEqual([1]);
  });

  it('knows the decimals of a step', () => {
    expect(decimalsFor(0.25)).toBe(2);
    expect(decimalsFor(20)).toBe(0);
    expect(decimalsFor(0.0005)).toBe(4);
  });

  it('has no room for a peak that stands far above nearly all', () => {
    const windows = Array.from({ length: 300 }, (_, i) => (i < 20 ? 600 : 50 + (i % 10)));
    expect(usual(windows)).toBe(3 * 59);
    // A saw-tooth, a step, and a series that has only begun are shown in full.
    expect(usual(Array.from({ length: 300 }, (_, i) => 30 + (i % 30)))).toBe(59);
    expect(usual(Array.from({ length: 300 }, (_, i) => (i < 280 ? 20 : 55)))).toBe(55);
    expect(usual([600, 580, 60])).toBe(600);
    expect(usual([])).toBe(0);
    expect(usual([0, 0, 0, 4])).toBe(4);
  });

  it('grows at once and shrinks with patience', () => {
    const s = new StickyMax(1, 3);
    expect(s.update(100)).toBeGreaterThanOrEqual(100);
    const high = s.update(95);
    expect(s.update(10)).toBe(high);
    expect(s.update(10)).toBe(high);
    expect(s.update(10)).toBeLessThan(20);
    expect(s.update(500)).toBeGreaterThanOrEqual(500);
  });
});
