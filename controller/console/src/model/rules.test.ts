// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { ordered, scaleEnd, standing, whyNot } from './rules';
import type { Rule } from './types';

function rule(id: string, bufferBytes: number | null, applies: boolean, more: Partial<Rule> = {}): Rule {
  return { id, name: id, bufferBytes, applies, assumptions: [], missing: '', formula: '', source: '', goals: ['utilisation'], inputs: [], ...more };
}

describe('rules', () => {
  it('orders those that apply first, then by size', () => {
    const o = ordered([rule('c', 10, false), rule('d', null, false), rule('b', 900, true), rule('a', 100, true)]);
    expect(o.map((r) => r.id)).toEqual(['a', 'b', 'c', 'd']);
  });

  it('scales to what applies and to the marks, not to an outlier', () => {
    const rules = [rule('a', 100_000, true), rule('huge', 9_000_000, false), rule('near', 200_000, false)];
    const end = scaleEnd(rules, [150_000, null]);
    expect(end).toBeGreaterThanOrEqual(200_000);
    expect(end).toBeLessThan(400_000);
    const compared = [...rules, rule('fpq', 5_000_000, true, { goals: [] })];
    expect(scaleEnd(compared, [150_000, null])).toBe(end);
    expect(whyNot(rule('fpq', 5_000_000, true, { goals: [] }))).toBe('For comparison only.');
  });

  it('says why a rule is set aside', () => {
    expect(whyNot(rule('a', 1, true))).toBe('');
    expect(whyNot(rule('a', null, false, { missing: 'no Δ yet' }))).toBe('no Δ yet');
    const assumptions = [
      { text: 'N in the hundreds (12)', holds: false },
      { text: 'desynchronised', holds: null },
    ];
    expect(whyNot(rule('a', 1, false, { assumptions }))).toBe('Does not hold: N in the hundreds (12)');
  });

  it('tells unknown from false and from true', () => {
    const with_ = (...holds: (boolean | null)[]) => rule('a', 1, !holds.includes(false), { assumptions: holds.map((h, i) => ({ text: `assumption ${i}`, holds: h })) });
    expect([with_(true, true), with_(true, null), with_(null, false)].map(standing)).toEqual(['holds', 'unknown', 'fails']);
    expect(whyNot(with_(true, null, null))).toBe('Not known: assumption 1; assumption 2');
    expect(standing(rule('b', 1, true, { goals: [], assumptions: [{ text: 'all flows run BBR', holds: null }] }))).toBe('compared');
  });
});
