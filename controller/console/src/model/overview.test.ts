// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { group, matches, missed, overAdvised, sortOverview } from './overview';
import type { Brief } from './types';

interface More {
  utilisation?: number;
  loss?: number;
  delay?: number;
  stale?: boolean;
  nB?: number;
  answer?: string;
  /** The limit in force, with 100 kB advised. */
  kB?: number;
}

function brief(port: number, more: More = {}): Brief {
  return {
    node: 10, port, queue: 0, name: `uplink ${port}`, capacityBps: 1e9, stale: more.stale ?? false, ageMs: 100, limit: null, answer: more.answer ?? 'fine',
    reportedLimitBytes: 1000 * (more.kB ?? 100), advisedBytes: 100_000, nB: more.nB ?? 5,
    recent: { utilisation: more.utilisation ?? 0.99, lossRate: more.loss ?? 0, delayMs: { p50: 1, p99: 2, max: more.delay ?? 3 }, occupancyBytes: { p50: 1, p99: 2, max: 3 }, packets: 1 },
    targets: { utilisation: 0.98, lossRate: 0.01, delayMs: 30, priority: [], confidence: 0.9, margin: 0 },
  };
}

describe('the overview', () => {
  it('is sorted by what needs attention', () => {
    const all = [
      brief(1),
      brief(2, { answer: 'too_big', kB: 200 }),
      brief(3, { stale: true, loss: 1, answer: 'too_small' }),
      brief(4, { answer: 'cannot_say' }),
      brief(5, { loss: 0.02, answer: 'fine' }),
      brief(6, { answer: 'too_big', kB: 900 }),
      brief(7, { delay: 300, answer: 'too_big', kB: 900 }),
      brief(8, { answer: 'too_small', kB: 25 }),
      brief(9, { answer: '' }),
    ];
    expect(sortOverview(all).map((b) => b.port)).toEqual([7, 8, 5, 6, 2, 4, 9, 3, 1]);
    expect(all.map(group)).toEqual(['fine', 'too_big', 'cannot_say', 'cannot_say', 'missed', 'too_big', 'missed', 'missed', 'cannot_say']);
  });

  it('keeps the order of those that differ by little', () => {
    const all = [brief(1, { answer: 'too_big', kB: 200 }), brief(2, { answer: 'too_big', kB: 203 })];
    expect(sortOverview(all).map((b) => b.port)).toEqual([1, 2]);
  });

  it('tells the limit over the advised one, where both are known', () => {
    expect(overAdvised(brief(1, { kB: 250 }))).toBeCloseTo(2.5);
    expect(overAdvised({ ...brief(1), advisedBytes: null })).toBeNull();
    expect(overAdvised({ ...brief(1), reportedLimitBytes: null })).toBeNull();
  });

  it('says which and by how much', () => {
    expect(missed(brief(1))).toEqual({});
    expect(missed(brief(1, { loss: 0.03 })).loss).toBeCloseTo(3);
    expect(missed(brief(1, { utilisation: 0.9 })).utilisation).toBeCloseTo(5);
  });

  it('misses no utilisation where nobody wants more', () => {
    expect(missed(brief(1, { utilisation: 0.2, nB: 0 }))).toEqual({});
  });

  it('is searched by every word', () => {
    expect(matches(brief(7), 'uplink port 7')).toBe(true);
    expect(matches(brief(7), '10:7')).toBe(true);
    expect(matches(brief(7), 'downlink')).toBe(false);
  });
});
