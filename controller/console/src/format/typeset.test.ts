// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { pieces } from './typeset';

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
