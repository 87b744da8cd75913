// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { Series } from './series';

describe('Series', () => {
  it('stays within its bound and keeps the newest rows', () => {
    const s = new Series(['a'], 100);
    for (let i = 0; i < 10_000; i += 1) s.push(i, { a: i });
    expect(s.length).toBeLessThanOrEqual(100 + 16);
    expect(s.length).toBeGreaterThanOrEqual(100);
    expect(s.lastTime).toBe(9999);
    expect(s.column('a').at(-1)).toBe(9999);
    expect(s.column('a').length).toBe(s.length);
  });

  it('refuses rows of the past and replaces the row of the same time', () => {
    const s = new Series(['a', 'b'], 10);
    expect(s.push(2, { a: 1, b: 5 })).toBe(true);
    expect(s.push(1, { a: 9 })).toBe(false);
    expect(s.push(2, { a: 3 })).toBe(true);
    expect(s.time).toEqual([2]);
    expect(s.column('a')).toEqual([3]);
    expect(s.column('b')).toEqual([null]);
  });

  it('slices from a time', () => {
    const s = new Series(['a'], 10);
    for (let i = 0; i < 5; i += 1) s.push(i, { a: i * 10 });
    expect(s.slice(2.5, ['a'])).toEqual([
      [3, 4],
      [30, 40],
    ]);
    expect(s.indexAt(-1)).toBe(0);
    expect(s.indexAt(99)).toBe(5);
  });
});
