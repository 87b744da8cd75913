// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { finder, symbolic } from './mentions';

describe('symbols in a text', () => {
  it('are those that no word and no unit is taken for', () => {
    for (const name of ['N_b', 'Δ', 'p̂', 'LBP', 'W(t)', 'T̄']) expect(symbolic(name), name).toBe(true);
    for (const name of ['s', 'C', 'M', 'limit', 'dead band', 'p50']) expect(symbolic(name), name).toBe(false);
  });

  it('are found whole, the longer one first', () => {
    const find = finder(['ρ', 'ρ̂', 'N_b', 'Q(t)']);
    expect(find('at ρ̂ of N_b, Ñ_b and (N_b), Q(t).').map((p) => p.name || p.text)).toEqual(['at ', 'ρ̂', ' of ', 'N_b', ', Ñ_b and (', 'N_b', '), ', 'Q(t)', '.']);
    expect(find('ρs N_bps')).toEqual([{ text: 'ρs N_bps', name: '' }]);
    expect(finder([])('N_b')).toEqual([{ text: 'N_b', name: '' }]);
    expect(find('')).toEqual([]);
  });
});
