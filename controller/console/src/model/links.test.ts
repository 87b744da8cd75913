// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { parseAddress } from './address';
import { linkKey, linkTitle, sameLink } from './links';

describe('a link', () => {
  const of = (queue: number) => ({ node: 10, port: 5, queue, name: '' });

  it('has its queue in its name unless that is queue 0', () => {
    expect([0, 3].map((q) => linkKey(of(q)))).toEqual(['10:5', '10:5:3']);
    expect([0, 3].map((q) => linkTitle(of(q)))).toEqual(['node 10, port 5', 'node 10, port 5, queue 3']);
    expect(parseAddress('#link=10:5:3').link).toBe('10:5:3');
    expect(parseAddress('#link=10:5:0').link).toBe('10:5');
  });

  it('is another one than that of another queue', () => {
    expect(sameLink(of(3), of(3))).toBe(true);
    expect(sameLink(of(3), of(0))).toBe(false);
    expect(sameLink(null, of(0))).toBe(false);
  });
});
