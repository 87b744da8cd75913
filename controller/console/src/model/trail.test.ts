// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { Trails, trailPath } from './trail';
import type { Brief, SeriesColumns } from './types';

function brief(port: number, occupancy: number | null, more: Partial<Brief> = {}): Brief {
  return {
    node: 1, port, queue: 0, name: '', capacityBps: 1e9, stale: false, ageMs: 1, limit: null, answer: 'fine', reportedLimitBytes: 1000, advisedBytes: 1, nB: 1,
    recent: { utilisation: 1, lossRate: 0, delayMs: { p50: 1, p99: 1, max: 1 }, occupancyBytes: { p50: occupancy, p99: null, max: null }, packets: 1 },
    targets: { utilisation: 0.98, lossRate: null, delayMs: null, priority: [], confidence: 0.9, margin: 0 },
    ...more,
  };
}

describe('the queue of a port over the last minutes', () => {
  it('is a part of its limit, every other second, with holes where nothing came', () => {
    const t = new Trails();
    for (let s = 0; s <= 8; s += 1) t.add([brief(1, s === 4 ? null : 100 * s), brief(2, 500, { stale: s === 2 })], 1000 * s);
    expect(t.of('1:1')).toEqual([0, 0.2, null, 0.6, 0.8]);
    expect(t.of('1:2')).toEqual([0.5, null, 0.5, 0.5, 0.5]);
    expect(t.of('1:3')).toEqual([]);
    // The page received nothing for 6 s.
    t.add([brief(1, 300)], 14_000);
    expect(t.of('1:1')).toEqual([0, 0.2, null, 0.6, 0.8, null, null, 0.3]);
    // A port that is gone is forgotten.
    expect(t.of('1:2')).toEqual([]);
  });

  it('has no limit, no place', () => {
    const t = new Trails();
    t.add([brief(1, 100, { reportedLimitBytes: null })], 0);
    expect(t.of('1:1')).toEqual([null]);
  });

  it('keeps three minutes', () => {
    const t = new Trails();
    for (let s = 0; s < 1000; s += 1) t.add([brief(1, s)], 1000 * s);
    expect(t.of('1:1').length).toBe(90);
    t.add([brief(1, 500)], 1e9);
    expect(t.of('1:1').length).toBe(90);
    expect(t.of('1:1').filter((v) => v !== null)).toEqual([0.5]);
  });

  it('begins with what the controller remembers', () => {
    const t = new Trails();
    expect(t.asks('1:1')).toBe(false);
    t.add([brief(1, 500)], 0);
    t.add([brief(1, 600)], 2000);
    // Asked again if there was no answer.
    expect([t.asks('1:1'), t.asks('1:1')]).toEqual([true, true]);
    const before = { stepSeconds: 2, time: [1, 3, 5, 7, 9], occP50: [100, null, 300, 500, 600], limit: [1000, 1000, null, 1000, 1000] };
    t.recall('1:1', before as unknown as SeriesColumns);
    expect(t.asks('1:1')).toBe(false);
    expect(t.of('1:1')).toEqual([0.1, null, null, 0.5, 0.6]);
    // Longer steps do not fit; of shorter ones every second is used.
    t.recall('1:1', { ...before, stepSeconds: 10 } as unknown as SeriesColumns);
    t.recall('1:9', before as unknown as SeriesColumns);
    expect(t.of('1:1').length).toBe(5);
    t.add([brief(1, 500), brief(2, 700)], 4000);
    t.recall('1:2', { ...before, stepSeconds: 1 } as unknown as SeriesColumns);
    expect(t.of('1:2')).toEqual([0.1, null, 0.7]);
    t.recall('1:1', { ...before, time: Array.from({ length: 200 }, (_, i) => i) } as unknown as SeriesColumns);
    expect(t.of('1:1').length).toBe(90);
  });

  it('is drawn up to the right end, open in its holes', () => {
    expect(trailPath([0, 0.5, null, 1, 2], 89, 10)).toBe('M85.0 10.0L86.0 5.0M88.0 0.0L89.0 0.0');
    expect(trailPath([], 89, 10)).toBe('');
  });
});
