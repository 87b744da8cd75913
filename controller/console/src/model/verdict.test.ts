// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { verdict } from '../api/verdict';
import { bytes } from '../format/units';
import { answerWord, chanceText, evidenceText, verdictLine } from './verdict';

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
    expect(answerWord('of a newer controller')).toBe('cannot say');
    expect(answerWord(null)).toBe('no verdict yet');
    expect(verdictLine(verdict(null), bytes)).toBe('No verdict yet');
    expect(verdict({ ...ANSWER, low_bytes: 'wrong' })).toMatchObject({ lowBytes: null, because: 'less serves', measured: [], curve: [] });
  });

  it('is never certain', () => {
    expect([0.004, 0.5, 0.904, 0.99, 0.9905, 1].map(chanceText)).toEqual(['< 1 %', '50 %', '90 %', '99 %', '> 99 %', '> 99 %']);
  });

  it('says what it rests on', () => {
    const said = (evidence: object) => {
      const v = verdict({ ...ANSWER, evidence });
      return v && evidenceText(v);
    };
    expect(said({ seconds: 60.2, loss_events: 84, limits_tried: 0 })).toBe('Rests on 60 s and 84 loss events at this limit.');
    expect(said({ seconds: 600, loss_events: 0, limits_tried: 1 })).toBe('Rests on 10 min at this limit, and on 1 other limit tried.');
    expect(said({ seconds: null, loss_events: 3, limits_tried: 2 })).toBe('Rests on 3 loss events at this limit, and on 2 other limits tried.');
    expect(said({ seconds: null })).toBe('');
  });
});
