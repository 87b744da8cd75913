// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { CounterWindow, LimitWatch, limitsDiffer } from './trust';
import type { Link } from './types';

const at = (s: number, received: number, lost = 0, implausible = 0, socketDrops = 0) => ({ atMs: s * 1000, received, lost, implausible, socketDrops });

function link(reported: number | null, read: number | null, refusesAt = read): Link {
  return {
    depthUnitBytes: 1,
    reportedLimitBytes: reported,
    limit: { action: read === null ? 'unlimited' : 'drop_tail', bytes: read, refusesAtBytes: refusesAt },
  } as Link;
}

describe('CounterWindow', () => {
  it('is silent where nothing is lost, whatever was lost before', () => {
    const w = new CounterWindow();
    w.add(at(0, 1000, 500));
    expect(w.doubt()).toBeNull();
    w.add(at(2, 2000, 500));
    expect(w.doubt()).toBeNull();
  });

  it('says how many were lost, and forgets it', () => {
    const w = new CounterWindow();
    w.add(at(0, 1000));
    w.add(at(2, 1900, 100));
    expect(w.doubt()).toEqual({ headline: 'Losing reports', detail: '100 reports (10.0 %) were lost within 2 s, between switch and collector.' });
    for (let s = 4; s <= 20; s += 2) w.add(at(s, 1900 + s * 100, 100));
    expect(w.doubt()).toBeNull();
  });

  it('names the socket', () => {
    const w = new CounterWindow();
    w.add(at(0, 1000));
    w.add(at(2, 1900, 0, 0, 7));
    expect(w.doubt()?.detail).toContain('socket');
  });

  it('finds two exporters with one numbering', () => {
    const w = new CounterWindow();
    w.add(at(0, 1000));
    w.add(at(2, 2000, 0, 400));
    expect(w.doubt()?.headline).toBe('Numbering shared');
    const gaps = new CounterWindow();
    gaps.add(at(0, 1000));
    gaps.add(at(2, 2000, 1_000_000));
    expect(gaps.doubt()?.detail).toContain('hw_id');
  });

  it('begins again with the collector', () => {
    const w = new CounterWindow();
    w.add(at(0, 10_000, 50));
    w.add(at(2, 100, 0));
    w.add(at(4, 200, 0));
    expect(w.doubt()).toBeNull();
  });
});

describe('limits', () => {
  it('differ beyond the unit of the switch', () => {
    expect(limitsDiffer(link(300_000, 200_000))).toBe(true);
    expect(limitsDiffer(link(300_000, 300_001))).toBe(false);
    expect(limitsDiffer(link(null, 200_000))).toBe(false);
    expect(limitsDiffer(link(300_000, null))).toBe(true);
    // A port that marks may state its threshold or its limit.
    expect(limitsDiffer(link(300_000, 100_000, 300_000))).toBe(false);
  });

  it('are not doubted while reports of before are under way', () => {
    const w = new LimitWatch();
    const l = link(300_000, 200_000);
    const size = (b: number) => `${b} B`;
    w.add('1:1', l);
    w.add('1:1', l);
    expect(w.doubt('1:1', l, size)).toBeNull();
    w.add('1:1', l);
    expect(w.doubt('1:1', l, size)?.detail).toContain('300000 B, the switch was read as 200000 B');
    w.add('1:1', link(200_000, 200_000));
    expect(w.doubt('1:1', l, size)).toBeNull();
  });
});
