// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { matches, missed, sortOverview } from './overview';
import type { Brief } from './types';

function brief(port: number, more: { utilisation?: number; loss?: number; delay?: number; stale?: boolean; nB?: number } = {}): Brief {
  return {
    node: 10, port, name: `uplink ${port}`, capacityBps: 1e9, stale: more.stale ?? false, ageMs: 100, limit: null, reportedLimitBytes: 1, advisedBytes: 1, nB: more.nB ?? 5,
    recent: { utilisation: more.utilisation ?? 0.99, lossRate: more.loss ?? 0, delayMs: { p50: 1, p99: 2, max: more.delay ?? 3 }, packets: 1 },
    targets: { utilisation: 0.98, lossRate: 0.01, delayMs: 30, priority: [], confidence: 0.9, margin: 0 },
  };
}

describe('the overview', () => {
  it('puts what misses its target first, the worst before the others, and silent ports last', () => {
    const all = [brief(1), brief(2, { loss: 0.02 }), brief(3, { stale: true, loss: 1 }), brief(4, { delay: 300 })];
    expect(sortOverview(all).map((b) => b.port)).toEqual([4, 2, 1, 3]);
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
