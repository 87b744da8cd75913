// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { verdict } from '../api/verdict';
import { bytes } from '../format/units';
import { verdictLine } from './verdict';

const ANSWER = { answer: 'too_big', in_force_bytes: 312_000, low_bytes: 156_000, set_bytes: 224_000, high_bytes: 269_000, because: 'less serves' };
const line = (changed: object): string => verdictLine(verdict({ ...ANSWER, ...changed }), bytes);

describe('the verdict', () => {
  it('is one line with the limit in force, those that serve, and the one to set', () => {
    expect(line({})).toBe('Buffer too big: 312 kB in force, 156 kB to 269 kB serve; set 224 kB');
    expect(line({ answer: 'too_small', in_force_bytes: 99_000 })).toBe('Buffer too small: 99.0 kB in force, 156 kB to 269 kB serve; set 224 kB');
    expect(line({ answer: 'fine', set_bytes: 312_000, high_bytes: 320_000 })).toBe('Buffer fine: 312 kB in force, 156 kB to 320 kB serve; keep it');
  });

  it('says no size where nothing can be said', () => {
    expect(line({ answer: 'cannot_say' })).toBe('Cannot say');
    expect(line({ answer: 'of a newer controller' })).toBe('Cannot say');
    expect(verdictLine(verdict(null), bytes)).toBe('No verdict yet');
    expect(verdict({ ...ANSWER, low_bytes: 'wrong' })).toMatchObject({ lowBytes: null, because: 'less serves' });
  });
});
