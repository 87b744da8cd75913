// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { Recording } from './recording';
import type { SeriesColumns } from './types';

function columns(times: number[], stepSeconds: number): SeriesColumns {
  const c = times.map(() => 1);
  return {
    stepSeconds,
    time: times,
    occP50: c,
    occP99: c,
    occMax: c,
    limit: c,
    utilisation: c,
    loss: c,
    delayP50: c,
    delayP99: c,
    delayMax: c,
    drops: c,
    arrivals: c,
  };
}

describe('Recording', () => {
  it('asks for its span on a grid, one point per step', () => {
    const r = new Recording(30);
    expect(r.query(0, 100)).toEqual({ from_ns: 64e9, to_ns: 100e9, max_points: 360 });
    expect(r.query(0, 5)).toEqual({ from_ns: 0, to_ns: 5e9, max_points: 50 });
  });

  it('then asks for what is new only, beginning with the newest row', () => {
    const r = new Recording(30);
    expect(r.add(columns([1, 1.1, 1.2], 0.1))).toBe(3);
    expect(r.query(0, 2.25)).toEqual({ from_ns: 1.2e9, to_ns: 2.2e9, max_points: 10 });
    expect(r.query(0, 1.2)).toBeNull();
    expect(r.add(columns([1.1, 1.2, 1.3], 0.1))).toBe(2);
    expect(r.series.time).toEqual([1, 1.1, 1.2, 1.3]);
  });

  it('leaves out answers in other steps, unless they keep coming', () => {
    const r = new Recording(30);
    expect(r.add(columns([0, 0.01], 0.01))).toBe(0);
    expect(r.add(columns([0, 0.1], 0.1))).toBe(2);
    for (let i = 0; i < 5; i += 1) expect(r.add(columns([0.2, 0.21], 0.01))).toBe(0);
    expect(r.step).toBe(0.1);
    expect(r.add(columns([0.2, 0.3], 0.1))).toBe(2);
    for (let i = 0; i < 5; i += 1) expect(r.add(columns([1, 2], 1))).toBe(0);
    expect(r.add(columns([1, 2], 1))).toBe(2);
    expect(r.series.time).toEqual([1, 2]);
    expect(r.step).toBe(1);
  });

  it('has a hole where steps are missing', () => {
    const r = new Recording(30);
    expect(r.add(columns([0, 0.1, 0.2, 3, 3.1], 0.1))).toBe(5);
    expect(r.series.time).toEqual([0, 0.1, 0.2, expect.closeTo(0.3), 3, 3.1]);
    expect(r.series.column('utilisation')).toEqual([1, 1, 1, null, 1, 1]);
    // Also in the next answer, and no hole if the steps continue.
    r.add(columns([3.2, 9], 0.1));
    expect(r.series.column('drops')).toEqual([1, 1, 1, null, 1, 1, 1, null, 1]);
  });

  it('shows short windows interval by interval', () => {
    const r = new Recording(10);
    expect(r.query(0, 100)).toEqual({ from_ns: 70e9, to_ns: 100e9, max_points: 3000 });
    expect(r.matches(10)).toBe(true);
    expect(r.matches(30)).toBe(false);
    expect(new Recording(30).matches(120)).toBe(false);
    expect(new Recording(120).matches(30)).toBe(true);
  });
});
