// SPDX-License-Identifier: Apache-2.0
// Describes the verdict on a link's buffer.

import type { Verdict } from './types';

const ANSWERS: Record<string, string> = { too_big: 'too big', fine: 'fine', too_small: 'too small' };

/** Returns the answer alone; an unknown one counts as 'cannot say'. */
export function answerWord(answer: string | null | undefined): string {
  return answer ? (ANSWERS[answer] ?? 'cannot say') : 'no verdict yet';
}

/** Returns one line; `size` formats a number of bytes in the unit of the page. */
export function verdictLine(v: Verdict | null, size: (bytes: number | null) => string): string {
  if (!v) return 'No verdict yet';
  if (!(v.answer in ANSWERS)) return 'Cannot say';
  const set = v.answer === 'fine' ? 'keep it' : `set ${size(v.setBytes)}`;
  return `Buffer ${answerWord(v.answer)}: ${size(v.inForceBytes)} in force, ${size(v.lowBytes)} to ${size(v.highBytes)} serve; ${set}`;
}

/** Formats a probability in whole per cent, never rounded to certainty. */
export function chanceText(chance: number): string {
  if (chance > 0.99) return '> 99 %';
  return chance < 0.01 ? '< 1 %' : `${Math.round(100 * chance)} %`;
}

/** Describes the evidence for the verdict. */
export function evidenceText({ evidence: e }: Verdict): string {
  const parts: string[] = [];
  if (e.seconds !== null) parts.push(e.seconds < 120 ? `${Math.round(e.seconds)} s` : `${Math.round(e.seconds / 60)} min`);
  if (e.lossEvents !== null && e.lossEvents > 0) parts.push(`${Math.round(e.lossEvents)} loss events`);
  if (parts.length === 0) return '';
  const others = e.limitsTried ?? 0;
  const tried = others === 0 ? '' : `, and on ${others} other ${others === 1 ? 'limit' : 'limits'} tried`;
  return `Rests on ${parts.join(' and ')} at this limit${tried}.`;
}
