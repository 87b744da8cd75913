// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { formula, pieces } from './typeset';

describe('pieces', () => {
  it('finds symbols with subscripts', () => {
    expect(pieces('BSCL: N_b = 12, B_ρ')).toEqual([
      { text: 'BSCL: ', sub: '' },
      { text: 'N', sub: 'b' },
      { text: ' = 12, ', sub: '' },
      { text: 'B', sub: 'ρ' },
    ]);
    expect(pieces('C*T_e')).toEqual([
      { text: 'C*', sub: '' },
      { text: 'T', sub: 'e' },
    ]);
    expect(pieces('Ñ_b')).toEqual([{ text: 'Ñ', sub: 'b' }]);
  });

  it('leaves identifiers alone', () => {
    for (const s of ['bscl_utilisation', 'drop_tail', 'tcp_probe', 'control.mode', 'a_long', 'x_y_z', '']) {
      expect(pieces(s)).toEqual(s ? [{ text: s, sub: '' }] : []);
    }
  });
});

describe('formula', () => {
  it.each([
    ['B = delta*BDP/sqrt(2n)*sqrt(ln(1/delta_p))', 'B = Δ·BDP/√(2n)·√(ln(1/δ))'],
    ['B = (q*C_e*T_e - 2*M*N_b*(1-q))/(2-q), q as measured', 'B = (q·C_e·T_e − 2·M·N_b·(1−q))/(2−q), q as measured'],
    ['B = max(B_rho, B_p, 0); C*T_e for B_rho when N_b < 5', 'B = max(B_ρ, B_p, 0); C·T_e for B_ρ when N_b < 5'],
    ['b = -ln(p)*rho/(2(1-rho))*E[X²]/E[X] packets', 'b = −ln(p)·ρ/(2(1−ρ))·E[X²]/E[X] packets'],
    ['B <= C*d', 'B ≤ C·d'],
    ['B = C*T_mean/sqrt(N)', 'B = C·T̄/√(N)'],
    // Words stay words.
    ['100-200 packets as a starting point', '100-200 packets as a starting point'],
    ['slow-start of a single flow', 'slow-start of a single flow'],
  ])('sets %s', (code, printed) => {
    expect(formula(code)).toBe(printed);
  });
});
