// SPDX-License-Identifier: Apache-2.0
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Rule } from '../model/types';
import { RulesPicture } from './rules';

function rule(id: string, holds: boolean | null): Rule {
  const assumptions = [{ text: 'all flows run BBR', holds }];
  return { id, name: id, bufferBytes: 100_000, applies: holds !== false, assumptions, missing: '', formula: 'B', source: 'paper', goals: ['utilisation'], inputs: [] };
}

describe('RulesPicture', () => {
  beforeEach(() => {
    vi.stubGlobal('document', { documentElement: null });
    vi.stubGlobal('getComputedStyle', () => ({ getPropertyValue: (name: string) => name }));
  });
  afterEach(() => vi.unstubAllGlobals());

  const picture = new RulesPicture();
  picture.set([rule('a', true), rule('b', null), rule('c', false)], null, null);

  it('tells unknown, true and false apart in a file', () => {
    const column = picture.csv().trim().split('\n').map((l) => l.split(',')[3]);
    expect(column).toEqual(['assumptions', 'holds', 'unknown', 'fails']);
  });

  it('draws them apart', () => {
    // After the legend.
    const [, drawn = ''] = picture.svg().split('set aside</text>');
    const bars = drawn.match(/<path [^>]*>/g)?.slice(1) ?? [];
    expect(bars.map((b) => [/stroke-width="([\d.]+)"/.exec(b)?.[1], b.includes('stroke-dasharray')])).toEqual([['12', false], ['1.75', false], ['1.5', true]]);
    expect(picture.svg()).toContain('not all known (outlined)');
  });
});
