// SPDX-License-Identifier: Apache-2.0
// The conclusion on a link's buffer in words.

import type { Verdict } from './types';

const ANSWERS: Record<string, string> = { too_big: 'too big', fine: 'fine', too_small: 'too small' };

/** The answer alone; another than is known says nothing. */
export function answerWord(answer: string | null | undefined): string {
  return answer ? (ANSWERS[answer] ?? 'cannot say') : 'no verdict yet';
}

/** One line; `size` says a number of bytes in the unit of the page. */
export function verdictLine(v: Verdict | null, size: (bytes: number | null) => string): string {
  if (!v) return 'No verdict yet';
  if (!(v.answer in ANSWERS)) return 'Cannot say';
  const set = v.answer === 'fine' ? 'keep it' : `set ${size(v.setBytes)}`;
  return `Buffer ${answerWord(v.answer)}: ${size(v.inForceBytes)} in force, ${size(v.lowBytes)} to ${size(v.highBytes)} serve; ${set}`;
}

/** A probability in whole per cent, never rounded to certainty. */
export function chanceText(chance: number): string {
  if (chance > 0.99) return '> 99 %';
  return chance < 0.01 ? '< 1 %' : `${Math.round(100 * chance)} %`;
}

/** The evidence that the verdict rests on. */
export function evidenceText({ evidence: e }: Verdict): string {
  const parts: string[] = [];
  if (e.seconds !== null) parts.push(e.seconds < 120 ? `${Math.round(e.seconds)} s` : `${Math.round(e.seconds / 60)} min`);
  if (e.lossEvents !== null && e.lossEvents > 0) parts.push(`${Math.round(e.lossEvents)} loss events`);
  if (parts.length === 0) return '';
  const others = e.limitsTried ?? 0;
  const tried = others === 0 ? '' : `, and on ${others} other ${others === 1 ? 'limit' : 'limits'} tried`;
  return `Rests on ${parts.join(' and ')} at this limit${tried}.`;
}
