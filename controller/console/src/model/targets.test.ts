// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { asPercent, parseTargets } from './targets';

const sure = { confidencePercent: '95', marginPercent: '10' };

describe('targets', () => {
  it('reads what is typed', () => {
    expect(parseTargets({ utilisationPercent: '98', lossPercent: '0,5', delayMs: ' 10 ', ...sure })).toEqual({ utilisation: 0.98, lossRate: 0.005, delayMs: 10, confidence: 0.95, margin: 0.1 });
    expect(parseTargets({ utilisationPercent: '98', lossPercent: '', delayMs: '', ...sure, marginPercent: '' })).toEqual({
      utilisation: 0.98,
      lossRate: null,
      delayMs: null,
      confidence: 0.95,
      margin: 0,
    });
  });

  it('names what is wrong', () => {
    const good = { utilisationPercent: '98', lossPercent: '1', delayMs: '10', ...sure };
    for (const bad of ['', '0', '101', 'x', '-1']) expect(parseTargets({ ...good, utilisationPercent: bad })).toMatch(/^Utilisation/);
    for (const bad of ['0', '100', 'x', '-1']) expect(parseTargets({ ...good, lossPercent: bad })).toMatch(/^Loss/);
    for (const bad of ['0', 'x', '-1']) expect(parseTargets({ ...good, delayMs: bad })).toMatch(/^Delay/);
    for (const bad of ['', '49', '100', 'x']) expect(parseTargets({ ...good, confidencePercent: bad })).toMatch(/^Confidence/);
    for (const bad of ['100', 'x', '-1']) expect(parseTargets({ ...good, marginPercent: bad })).toMatch(/^Margin/);
  });

  it('writes shares as they would be typed', () => {
    expect(asPercent(0.98)).toBe('98');
    expect(asPercent(0.0055)).toBe('0.55');
    expect(asPercent(null)).toBe('');
  });
});
