// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { formatAddress, parseAddress } from './address';

describe('the address', () => {
  it('says the same when read again', () => {
    const a = { link: '10:5', window: 30, span: [12.5, 13.25] as [number, number], flows: ['3', '17'] };
    expect(formatAddress(a)).toBe('#link=10:5&window=30&from=12.500000&to=13.250000&flows=3,17');
    expect(parseAddress(formatAddress(a))).toEqual(a);
    expect(formatAddress({ link: null, window: null, span: null, flows: null })).toBe('');
  });

  it('takes nothing else', () => {
    expect(parseAddress('#link=x&window=-1&from=5&to=4&flows=1,a,<b>')).toEqual({ link: null, window: null, span: null, flows: ['1'] });
    expect(parseAddress('')).toEqual({ link: null, window: null, span: null, flows: null });
  });
});
