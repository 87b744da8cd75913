// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { asPercent, parseTargets } from './targets';

describe('targets', () => {
  it('reads what is typed', () => {
    expect(parseTargets({ utilisationPercent: '98', lossPercent: '0,5', delayMs: ' 10 ' })).toEqual({ utilisation: 0.98, lossRate: 0.005, delayMs: 10 });
    expect(parseTargets({ utilisationPercent: '98', lossPercent: '', delayMs: '' })).toEqual({ utilisation: 0.98, lossRate: null, delayMs: null });
  });

  it('names what is wrong', () => {
    const good = { utilisationPercent: '98', lossPercent: '1', delayMs: '10' };
    for (const bad of ['', '0', '101', 'x', '-1']) expect(parseTargets({ ...good, utilisationPercent: bad })).toMatch(/^Utilisation/);
    for (const bad of ['0', '100', 'x', '-1']) expect(parseTargets({ ...good, lossPercent: bad })).toMatch(/^Loss/);
    for (const bad of ['0', 'x', '-1']) expect(parseTargets({ ...good, delayMs: bad })).toMatch(/^Delay/);
  });

  it('writes shares as they would be typed', () => {
    expect(asPercent(0.98)).toBe('98');
    expect(asPercent(0.0055)).toBe('0.55');
    expect(asPercent(null)).toBe('');
  });
});
